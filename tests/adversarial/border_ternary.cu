// The same with conditional expressions and short circuits that guard the loads.
__global__ void border_ternary(const float* in, const float* w, float* out, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        for (int dy = 0; dy < 3; ++dy)
            for (int dx = 0; dx < 3; ++dx) {
                int yy = y + dy - 1, xx = x + dx - 1;
                float v = (yy >= 0 && yy < M && xx >= 0 && xx < N) ? in[yy * N + xx] : 0.5f;
                if (xx < N && xx >= 0 && yy >= 0 && yy < M && in[yy * N + xx] > 0.0f)
                    s += 1.0f;
                s += v * w[dy * 3 + dx];
            }
        out[y * N + x] = s;
    }
}
