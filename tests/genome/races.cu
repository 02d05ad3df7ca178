// Pairs of kernels: a planted race, and the same without it. For blocks of 64 (8 x 8 where there are two axes).
#define SETUP int t = threadIdx.x, base = blockIdx.x * 64; (void)base;
__global__ void mirror_race(const int* in, int* out, int n) {
    SETUP
    __shared__ int s[64];
    s[t] = in[base + t];
    out[base + t] = s[63 - t];
}
__global__ void mirror_free(const int* in, int* out, int n) {
    SETUP
    __shared__ int s[64];
    s[t] = in[base + t];
    __syncthreads();
    out[base + t] = s[63 - t];
}
__global__ void tree_race(const int* in, int* out, int n) {
    SETUP
    __shared__ int s[64];
    s[t] = in[base + t];
    __syncthreads();
    for (int d = 1; d < 64; d = d + 1) {
        if (t + d < 64) s[t] += s[t + d];
    }
    __syncthreads();
    out[base + t] = s[t];
}
__global__ void tree_free(const int* in, int* out, int n) {
    SETUP
    __shared__ int s[64];
    s[t] = in[base + t];
    for (int d = 32; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) s[t] += s[t + d];
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void wrap_race(const int* in, int* out, int n) {
    SETUP
    __shared__ int s[64];
    int sum = 0;
    for (int k = 0; k < n; k += 64) {
        s[t] = in[k + t];
        __syncthreads();
        sum += s[63 - t];
    }
    out[base + t] = sum;
}
__global__ void wrap_free(const int* in, int* out, int n) {
    SETUP
    __shared__ int s[64];
    int sum = 0;
    for (int k = 0; k < n; k += 64) {
        s[t] = in[k + t];
        __syncthreads();
        sum += s[63 - t];
        __syncthreads();
    }
    out[base + t] = sum;
}
__global__ void halo_race(const int* in, int* out, int n) {
    SETUP
    __shared__ int s[66];
    s[t + 1] = in[base + t];
    if (t == 0) s[64] = 0;
    __syncthreads();
    out[base + t] = s[t] + s[t + 2];
}
__global__ void halo_free(const int* in, int* out, int n) {
    SETUP
    __shared__ int s[66];
    s[t + 1] = in[base + t];
    if (t == 0) s[0] = 0;
    if (t == 63) s[65] = 0;
    __syncthreads();
    out[base + t] = s[t] + s[t + 2];
}
__global__ void halves_race(const int* in, int* out, int n) {
    SETUP
    __shared__ int s[64];
    s[t / 2] = in[base + t];
    __syncthreads();
    out[base + t] = s[t / 2];
}
__global__ void halves_free(const int* in, int* out, int n) {
    SETUP
    __shared__ int s[64];
    s[t / 2 + 32 * (t % 2)] = in[base + t];
    __syncthreads();
    out[base + t] = s[t / 2];
}
__global__ void transpose_race(const int* in, int* out, int n) {
    __shared__ int s[8][9];
    int x = threadIdx.x, y = threadIdx.y, base = blockIdx.x * 64;
    s[y][x] = in[base + y * 8 + x];
    out[base + y * 8 + x] = s[x][y];
}
__global__ void transpose_free(const int* in, int* out, int n) {
    __shared__ int s[8][9];
    int x = threadIdx.x, y = threadIdx.y, base = blockIdx.x * 64;
    s[y][x] = in[base + y * 8 + x];
    __syncthreads();
    out[base + y * 8 + x] = s[x][y];
}
__global__ void scan_race(const int* in, int* out, int n) {
    SETUP
    __shared__ int s[64];
    s[t] = in[base + t];
    __syncthreads();
    for (int d = 1; d < 64; d = d + 1) {
        if (t >= d) s[t] += s[t - d];
        __syncthreads();
    }
    out[base + t] = s[t];
}
__global__ void scan_free(const int* in, int* out, int n) {
    SETUP
    __shared__ int s[2][64];
    int from = 0;
    s[0][t] = in[base + t];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        s[1 - from][t] = t >= d ? s[from][t] + s[from][t - d] : s[from][t];
        from = 1 - from;
        __syncthreads();
    }
    out[base + t] = s[from][t];
}
__global__ void global_race(const int* in, int* out, int n) {
    SETUP
    out[base + t] = in[base + t];
    if (t > 40) out[base + t - 41] = 7 + t;
}
__global__ void global_free(const int* in, int* out, int n) {
    SETUP
    out[base + t] = in[base + t];
    __syncthreads();
    if (t > 40) out[base + t - 41] = 7 + t;
}
__global__ void counter_race(const int* in, int* out, int n) {
    SETUP
    __shared__ int count;
    if (t == 0) count = 0;
    __syncthreads();
    atomicAdd(&count, in[base + t]);
    if (t == 9) out[blockIdx.x] = count;
}
__global__ void counter_free(const int* in, int* out, int n) {
    SETUP
    __shared__ int count;
    if (t == 0) count = 0;
    __syncthreads();
    atomicAdd(&count, in[base + t]);
    __syncthreads();
    if (t == 9) out[blockIdx.x] = count;
}
__global__ void after_race(const int* in, int* out, int n) {
    SETUP
    __shared__ int s[64];
    int sum = 0;
    for (int k = 0; k < 128; k += 64) {
        s[t] = in[k + t];
        __syncthreads();
        sum += s[(t + 1) % 64];
        if (k == 0) __syncthreads();
    }
    s[t] = sum;
    __syncthreads();
    out[base + t] = s[63 - t];
}
__global__ void after_free(const int* in, int* out, int n) {
    SETUP
    __shared__ int s[64];
    int sum = 0;
    for (int k = 0; k < 128; k += 64) {
        s[t] = in[k + t];
        __syncthreads();
        sum += s[(t + 1) % 64];
        __syncthreads();
    }
    s[t] = sum;
    __syncthreads();
    out[base + t] = s[63 - t];
}
