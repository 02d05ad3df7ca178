// Loops that are not canonical: the bound or the variable is written, or memory decides.
__global__ void loop_bounds(const int* start, const float* v, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0.0f;
    for (int k = start[i]; k < start[i + 1]; ++k) s += v[k];
    int m = 8;
    for (int k = 0; k < m; ++k) { s += k; if (s > 100.0f) --m; }
    for (int k = 0; k < 8; ++k) { s -= k; k += 1; }
    for (float t = 0.0f; t < 1.0f; t += 0.25f) s += t;
    for (int k = 1; k < 64; k *= 2) s += k;
    out[i] = s;
}
