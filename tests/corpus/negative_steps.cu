// Loops that count down, steps of other sizes, reversed comparisons.
__global__ void negative_steps(const float* in, float* out, int n, int step) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) {
        float s = 0.0f;
        for (int k = n - 1; k >= 0; k--) s += in[k];
        for (int k = n; k > 0; k -= 2) s -= in[k - 1];
        for (int k = 0; n > k; k += step) s += in[k] * 0.5f;
        for (unsigned k = 1; k <= (unsigned)n; k = k + 3) s += in[k - 1];
        for (int k = 0, m = n; k < m; ++k, --m) s -= in[k] + in[m - 1];
        for (int k = 0; k < n; ++k) {
            if (in[k] > 100.0f) break;
            if (in[k] < 0.0f) continue;
            s += 1.0f;
        }
        out[i] = s;
    }
}
