__global__ void inline_asm(unsigned int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    if (i < n) out[i] = lane;
}
