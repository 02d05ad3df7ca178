// Compressed rows: bounds of the loop are loaded.
__global__ void loop_over_data(const int* start, const float* value, const float* B, float* C, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        for (int k = start[y]; k < start[y + 1]; ++k)
            s += value[k] * B[k * N + x];
        C[y * N + x] = s;
    }
}
