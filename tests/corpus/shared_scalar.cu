__global__ void shared_scalar(const float* in, float* out, int n) {
    __shared__ float total;
    __shared__ int flags[32], count;
    if (threadIdx.x == 0) { total = 0.0f; count = 0; }
    if (threadIdx.x < 32) flags[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > 0.5f) atomicAdd(&count, 1);
    __syncthreads();
    if (threadIdx.x == 0) { total = count * 0.5f; flags[0] = count; }
    __syncthreads();
    if (i < n) out[i] = total + flags[0];
}
