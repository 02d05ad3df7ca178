// sgemm after:
//   CoarsenThreads(x: fragment=4, items=8, mode=blocked)
//   LimitRegisters(registers: blocks=2)
// launch: grid (ceil_div(N, 128), ceil_div(M, 16), 1), block (16, 16, 1)

// C = A * B for row-major matrices: A is M x K, B is K x N, C is M x N.
// One thread computes one element of C.
extern "C" __global__ void __launch_bounds__(256, 2) sgemm(const float* A, const float* B, float* C, int M, int N,
        int K) {
    const int col_block = (int)blockIdx.x * 128;
    const int col_thread = (int)threadIdx.x * 8;
    const int row_block = (int)blockIdx.y * 16;
    const int row_thread = (int)threadIdx.y;
    const int row = row_block + row_thread;
    float acc[8];
    #pragma unroll
    for (int col_i = 0; col_i < 8; ++col_i) {
        acc[col_i] = 0.0f;
    }
    for (int k = 0; k < K; ++k) {
        const float A_v = row < M ? A[row * K + k] : 0;
        #pragma unroll
        for (int col_i = 0; col_i < 8; ++col_i) {
            acc[col_i] += A_v * (col_block + col_thread + col_i < N ? B[k * N + (col_block + col_thread + col_i)] : 0);
        }
    }
    #pragma unroll
    for (int col_i = 0; col_i < 8; ++col_i) {
        if (row < M && col_block + col_thread + col_i < N) {
            C[row * N + (col_block + col_thread + col_i)] = acc[col_i];
        }
    }
}
