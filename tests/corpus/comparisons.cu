// Comparisons that read like template arguments.
__device__ float pick(bool c, bool d) { return c ? 1.0f : d ? 2.0f : 3.0f; }
struct Box { int lo, hi; };
__global__ void comparisons(const float* in, float* out, int n, int m, Box box) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = i - 3;
    if (i < n && j > (m - 1)) out[i] = in[i];
    if (i < n && j > -m || j < n && i > (m & 3)) out[i] += 1.0f;
    if (threadIdx.x < 32 && i > (n - 5) && i < n) out[i] -= pick(i < n, j > (m));
    if (box.lo < i && box.hi > (i) and not (i > n)) out[i] *= 2.0f;
    for (int k = 0; k < m && i > (k); ++k) out[i] += 0.5f;
}
