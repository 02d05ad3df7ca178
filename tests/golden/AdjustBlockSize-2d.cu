// sgemm after:
//   AdjustBlockSize(block: x=64, y=4)
// launch: grid (ceil_div(N, 64), ceil_div(M, 4), 1), block (64, 4, 1)

// C = A * B for row-major matrices: A is M x K, B is K x N, C is M x N.
// One thread computes one element of C.
extern "C" __global__ void __launch_bounds__(256) sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
    const int col_block = (int)blockIdx.x * 64;
    const int col_thread = (int)threadIdx.x;
    const int row_block = (int)blockIdx.y * 4;
    const int row_thread = (int)threadIdx.y;
    const int row = row_block + row_thread;
    const int col = col_block + col_thread;
    if (row < M && col < N) {
        float acc = 0.0f;
        for (int k = 0; k < K; ++k) {
            acc += A[row * K + k] * B[k * N + col];
        }
        C[row * N + col] = acc;
    }
}
