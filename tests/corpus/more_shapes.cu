// Arrays of arrays, offsets of coordinates, block-stride loops, 3-D, reductions, wavefronts.
#define RADIUS 4
#define TILE_W 32
__device__ float field[64][64];
__global__ void padded(const float* in, float* out, int n) {
    int i = 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) out[i] = (in[i - 1] + in[i] + in[i + 1]) / 3.0f;
}
__global__ void offset(float* a, int n, int first) {
    int i = first + threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) a[i] = i;
}
__global__ void two_points(const float2* __restrict__ a, float2* __restrict__ b, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 2;
    if (i + 1 < n) { b[i] = make_float2(a[i].y, a[i].x); b[i + 1] = a[i + 1]; b[i + 1].x *= 2; }
}
__global__ void halo(const float* in, float* out, int n) {
    __shared__ float s[256 + 2 * RADIUS];
    int g = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x + RADIUS;
    s[l] = g < n ? in[g] : 0.f;
    if (threadIdx.x < RADIUS) {
        s[l - RADIUS] = g >= RADIUS ? in[g - RADIUS] : 0.f;
        s[l + blockDim.x] = g + blockDim.x < n ? in[g + blockDim.x] : 0.f;
    }
    __syncthreads();
    float r = 0.f;
    for (int o = -RADIUS; o <= RADIUS; o++) r += s[l + o];
    if (g < n) out[g] = r;
}
__global__ void global_matrix(float v) {
    int x = threadIdx.x, y = threadIdx.y;
    if (x < 64 && y < 64) field[y][x] = field[x][y] * v;
}
__global__ void volume(const float* const* in, float* out, int nz, int ny) {
    int z = blockIdx.z * blockDim.z + threadIdx.z, y = blockIdx.y * blockDim.y + threadIdx.y, x = threadIdx.x;
    if (z < nz && y < ny && x < 16) out[(z * ny + y) * 16 + x] = in[z * ny + y][x] + in[0][0];
}
__global__ void atomics_all(int* a, unsigned long long* b, float* f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int old = atomicCAS(&a[0], 0, i);
    atomicMin(a + 1, i); atomicXor(&a[2], i); atomicExch(&f[0], (float)old);
    atomicAdd(b, (unsigned long long)i);
}
__global__ void tail(float* a, int n) {
    const int per = (n + gridDim.x - 1) / gridDim.x;
    const int from = blockIdx.x * per, to = min(from + per, n);
    for (int i = from + threadIdx.x; i < to; i += blockDim.x) a[i] = sqrt(a[i]) + pow((double)a[i], 2.0) + sin((double)i);
}
__global__ void pairs(const float4* __restrict__ bodies, float4* __restrict__ force, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = i < n ? bodies[i] : make_float4(0, 0, 0, 0), f = {0, 0, 0, 0};
    __shared__ float4 tile[128];
    for (int t = 0; t < gridDim.x; t++) {
        tile[threadIdx.x] = bodies[t * 128 + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < 128; j++) {
            float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
            float d = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-9f);
            f.x += dx * d * d * d; f.y += dy * d * d * d; f.z += dz * d * d * d;
        }
        __syncthreads();
    }
    if (i < n) force[i] = f;
}
__global__ void in_place(float* a, const float* b, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < m) { a[j * n + i] += b[j * n + i] * (i == j); a[j * n + i] *= i > j ? 0.5f : 2.f; }
}
__global__ void lambda_inside(const float* a, float* b, int n) {
    auto sq = [](float v) { return v * v; };
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = sq(a[i]);
}
__global__ void initialisers(int* out) {
    int a = 1, b{2}, c(3), d[2][2] = {{1, 2}, {3, 4}};
    const bool odd = a % 2, big = b > 1 && c > 2;
    out[threadIdx.x] = a + b + c + d[threadIdx.x & 1][0] + odd + (big ? - -a : !odd) + sizeof(d) + 'x';
}
