__global__ void shadowing(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0.0f;
    if (i < n) {
        for (int k = 0; k < 4; ++k) {
            float s = in[i] * k;
            for (int k = 0; k < 2; ++k) s += in[(i + k) % n];
            {
                int i = k + 1;
                s += i;
            }
            out[i] = s;
        }
        s += in[i];
        out[i] += s;
    }
}
