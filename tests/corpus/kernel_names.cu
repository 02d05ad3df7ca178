// Names that are words of other languages.
__global__ void kernel_names(const float* global, const float* kernel, float* local, int half) {
    int private_index = blockIdx.x * blockDim.x + threadIdx.x;
    float constant = 0.0f;
    if (private_index < half) {
        for (int step = 0; step < 3; ++step) constant += global[private_index] * kernel[step];
        local[private_index] = constant;
    }
}
