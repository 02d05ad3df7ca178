__device__ float clampf(float v, float lo, float hi) { return fminf(fmaxf(v, lo), hi); }
__device__ __forceinline__ float load(const float* p, int i, int n) { return i >= 0 && i < n ? p[i] : 0.0f; }
__device__ void store(float* p, int i, float v) {
    if (v < 0.0f) {
        p[i] = 0.0f;
        return;
    }
    p[i] = v;
}
static __device__ int dot(int a, int b) { return a * b; }
void host_only(int x);

__global__ void helpers(const float* in, float* out, int n) {
    __shared__ float cache[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cache[threadIdx.x % 64] = load(in, i, n);
    __syncthreads();
    float left = load(in, i - 1, n), right = load(in, i + 1, n);
    float own = load(cache, (int)threadIdx.x, 64);
    if (i < n) store(out, i, clampf(0.5f * own + 0.25f * (left + right), -1.0f, 1.0f) + dot(2, i) * 0.0f);
}
