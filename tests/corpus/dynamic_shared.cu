// Sum of each block, with dynamic shared memory.
__global__ void dynamic_shared(const float* in, float* out, int n) {
    extern __shared__ float buffer[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    buffer[tid] = (i < n) ? in[i] : 0;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) buffer[tid] += buffer[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = buffer[0];
}
