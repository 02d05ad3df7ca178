__global__ void atomics(const int* keys, int* histogram, unsigned int* largest, int n, int bins) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        int b = keys[i] % bins;
        atomicAdd(&histogram[b], 1);
        atomicMax(largest, (unsigned int)keys[i]);
        atomicOr((int*)histogram + bins, 1 << (b & 7));
    }
}
