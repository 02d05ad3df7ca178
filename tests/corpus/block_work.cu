// A block for each row or tile: barriers in loops, dynamic shared memory, warp primitives.
#define FULL_MASK 0xffffffffu
__device__ __forceinline__ float warp_max(float v) {
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(FULL_MASK, v, o));
    return v;
}
__global__ void softmax_rows(const float* __restrict__ in, float* __restrict__ out, int cols) {
    extern __shared__ float scratch[];
    const int row = blockIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const float* x = in + (size_t)row * cols;
    float m = -INFINITY;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) m = fmaxf(m, x[c]);
    m = warp_max(m);
    if (lane == 0) scratch[warp] = m;
    __syncthreads();
    m = lane < (blockDim.x + 31) / 32 ? scratch[lane] : -INFINITY;
    m = warp_max(m);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) out[(size_t)row * cols + c] = __expf(x[c] - m);
}
__global__ void ballot_count(const int* flags, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned votes = __ballot_sync(0xffffffff, i < n && flags[i] != 0);
    if ((threadIdx.x % warpSize) == 0 && votes) atomicAdd(count, __popc(votes));
    if (__any_sync(0xffffffff, votes == 0)) __syncwarp();
}
__global__ void transpose_tile(float *odata, const float *idata, int width) {
    __shared__ float tile[32][32 + 1];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) odata[(y + j) * width + x] = tile[threadIdx.x][threadIdx.y + j];
}
__global__ void last_block(const float* in, volatile float* partial, float* out, unsigned int* done, int n) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        float s = 0;
        for (int i = blockIdx.x; i < n; i += gridDim.x) s += in[i];
        partial[blockIdx.x] = s;
        __threadfence();
        last = atomicInc(done, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) { float s = 0; for (int b = 0; b < gridDim.x; ++b) s += partial[b]; *out = s; *done = 0; }
}
__global__ void carve(float* a, int n) {
    extern __shared__ __align__(16) unsigned char pool[];
    float* xs = reinterpret_cast<float*>(pool);
    int* ks = (int*)(pool + n * sizeof(float));
    xs[threadIdx.x] = a[threadIdx.x];
    ks[threadIdx.x] = threadIdx.x;
    __syncthreads();
    a[threadIdx.x] = xs[(threadIdx.x + 1) % n] + ks[0];
}
