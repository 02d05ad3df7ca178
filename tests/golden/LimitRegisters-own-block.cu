// sgemm after:
//   LimitRegisters(registers: blocks=4)
// launch: grid (ceil_div(N, block_x), ceil_div(M, block_y), 1), block (16, 16, 1)

// C = A * B for row-major matrices: A is M x K, B is K x N, C is M x N.
// One thread computes one element of C.
extern "C" __global__ void __launch_bounds__(256, 4) sgemm(const float* A, const float* B, float* C, int M, int N,
        int K) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float acc = 0.0f;
        for (int k = 0; k < K; ++k) {
            acc += A[row * K + k] * B[k * N + col];
        }
        C[row * N + col] = acc;
    }
}
