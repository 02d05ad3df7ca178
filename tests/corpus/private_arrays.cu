__global__ void private_arrays(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float m[2][3] = {{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}};
    float acc[4], *p = acc;
    for (int u = 0; u < 4; ++u) acc[u] = 0.0f;
    if (i < n) {
        for (int r = 0; r < 2; ++r)
            for (int c = 0; c < 3; ++c) {
                m[r][c] += in[i];
                p[(r + c) & 3] += m[r][c];
            }
        out[i] = acc[0] + p[1] * *(p + 2) + p[3];
    }
}
