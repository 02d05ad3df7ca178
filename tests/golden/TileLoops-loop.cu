// sgemm after:
//   TileLoops(k: size=8)
// launch: grid (ceil_div(N, block_x), ceil_div(M, block_y), 1), block (16, 16, 1)

// C = A * B for row-major matrices: A is M x K, B is K x N, C is M x N.
// One thread computes one element of C.
extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float acc = 0.0f;
        // TileLoops: k in steps of 8
        for (int k_o = 0; k_o < K; k_o += 8) {
            for (int k_i = 0; k_i < (K - k_o < 8 ? K - k_o : 8); ++k_i) {
                acc += A[row * K + (k_o + k_i)] * B[(k_o + k_i) * N + col];
            }
        }
        C[row * N + col] = acc;
    }
}
