// Shared memory with barriers: trees, scans, tiles, double buffers, planes, sorting networks.
#define BLOCK 64
#define T 8
__global__ void tree_sum(const float* __restrict__ in, float* __restrict__ out, int n) {
    __shared__ float s[BLOCK];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step >>= 1) {
        if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
__global__ void inclusive_scan(const int* in, int* out, int n) {
    __shared__ int s[2][BLOCK];
    int t = threadIdx.x, i = blockIdx.x * BLOCK + t, from = 0;
    s[0][t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 1; d < BLOCK; d *= 2) {
        s[1 - from][t] = t >= d ? s[from][t] + s[from][t - d] : s[from][t];
        from = 1 - from;
        __syncthreads();
    }
    if (i < n) out[i] = s[from][t];
}
__global__ void tiled_product(const float* A, const float* B, float* C, int n) {
    __shared__ float a[T][T], b[T][T + 1];
    int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < n; k += T) {
        a[threadIdx.y][threadIdx.x] = y < n && k + threadIdx.x < n ? A[y * n + k + threadIdx.x] : 0.0f;
        b[threadIdx.y][threadIdx.x] = x < n && k + threadIdx.y < n ? B[(k + threadIdx.y) * n + x] : 0.0f;
        __syncthreads();
        for (int j = 0; j < T; ++j) sum += a[threadIdx.y][j] * b[j][threadIdx.x];
        __syncthreads();
    }
    if (x < n && y < n) C[y * n + x] = sum;
}
__global__ void reverse_block(int* a) {
    __shared__ int s[BLOCK];
    int base = blockIdx.x * BLOCK;
    s[threadIdx.x] = a[base + threadIdx.x];
    __syncthreads();
    a[base + threadIdx.x] = s[BLOCK - 1 - threadIdx.x];
}
__global__ void shared_vector(const float* m, const float* v, float* out, int rows, int cols) {
    __shared__ float part[BLOCK];
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int c = 0; c < cols; c += BLOCK) {
        part[threadIdx.x] = c + threadIdx.x < cols ? v[c + threadIdx.x] : 0.0f;
        __syncthreads();
        for (int j = 0; j < BLOCK; j++)
            if (row < rows && c + j < cols) sum += m[row * cols + c + j] * part[j];
        __syncthreads();
    }
    if (row < rows) out[row] = sum;
}
__global__ void odd_even_sort(int* data, int n) {
    __shared__ int s[2 * BLOCK];
    int t = threadIdx.x;
    s[t] = t < n ? data[t] : 0x7fffffff;
    s[t + BLOCK] = t + BLOCK < n ? data[t + BLOCK] : 0x7fffffff;
    __syncthreads();
    for (int round = 0; round < 2 * BLOCK; ++round) {
        int i = 2 * t + (round & 1);
        if (i + 1 < 2 * BLOCK && s[i] > s[i + 1]) {
            int held = s[i];
            s[i] = s[i + 1];
            s[i + 1] = held;
        }
        __syncthreads();
    }
    if (t < n) data[t] = s[t];
    if (t + BLOCK < n) data[t + BLOCK] = s[t + BLOCK];
}
__global__ void planes(const float* in, float* out, int nx, int ny, int nz) {
    __shared__ float p[T + 2][T + 2];
    int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
    int lx = threadIdx.x + 1, ly = threadIdx.y + 1;
    bool inside = x > 0 && x < nx - 1 && y > 0 && y < ny - 1;
    for (int z = 0; z < nz; ++z) {
        float v = x < nx && y < ny ? in[(z * ny + y) * nx + x] : 0.0f;
        p[ly][lx] = v;
        if (threadIdx.x == 0) p[ly][0] = x > 0 && y < ny ? in[(z * ny + y) * nx + x - 1] : 0.0f;
        if (threadIdx.x == T - 1) p[ly][T + 1] = x + 1 < nx && y < ny ? in[(z * ny + y) * nx + x + 1] : 0.0f;
        if (threadIdx.y == 0) p[0][lx] = y > 0 && x < nx ? in[(z * ny + y - 1) * nx + x] : 0.0f;
        if (threadIdx.y == T - 1) p[T + 1][lx] = y + 1 < ny && x < nx ? in[(z * ny + y + 1) * nx + x] : 0.0f;
        __syncthreads();
        if (inside) out[(z * ny + y) * nx + x] = p[ly][lx - 1] + p[ly][lx + 1] + p[ly - 1][lx] + p[ly + 1][lx] - 4 * v;
        __syncthreads();
    }
}
__global__ void warp_sums(const float* in, float* out, int n) {
    __shared__ float s[BLOCK / 32];
    float v = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += in[i];
    for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffffu, v, o);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    if (gridDim.x > 1) {
        __syncthreads();
        if (threadIdx.x == 0) atomicAdd(out, s[0] + s[1]);
    } else {
        __syncthreads();
        if (threadIdx.x == 0) *out = s[0] + s[1];
    }
}
