// sgemm after:
//   CoarsenThreads(x: fragment=2, items=4, mode=fragments)
//   CoarsenThreads(y: fragment=4, items=2, mode=blocked)
// launch: grid (ceil_div(N, 64), ceil_div(M, 32), 1), block (16, 16, 1)

// C = A * B for row-major matrices: A is M x K, B is K x N, C is M x N.
// One thread computes one element of C.
extern "C" __global__ void __launch_bounds__(256) sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
    const int col_block = (int)blockIdx.x * 64;
    const int col_thread = (int)threadIdx.x * 2;
    const int row_block = (int)blockIdx.y * 32;
    const int row_thread = (int)threadIdx.y * 2;
    float acc[2][4];
    #pragma unroll
    for (int row_i = 0; row_i < 2; ++row_i) {
        #pragma unroll
        for (int col_i = 0; col_i < 4; ++col_i) {
            acc[row_i][col_i] = 0.0f;
        }
    }
    for (int k = 0; k < K; ++k) {
        float A_v[2];
        #pragma unroll
        for (int row_i = 0; row_i < 2; ++row_i) {
            A_v[row_i] = row_block + row_thread + row_i < M ? A[(row_block + row_thread + row_i) * K + k] : 0;
        }
        float B_v[4];
        #pragma unroll
        for (int col_i = 0; col_i < 4; ++col_i) {
            B_v[col_i] = col_block + col_thread + (col_i / 2 * 32 + col_i % 2) < N ? B[k * N + (col_block
                    + col_thread + (col_i / 2 * 32 + col_i % 2))] : 0;
        }
        #pragma unroll
        for (int row_i = 0; row_i < 2; ++row_i) {
            #pragma unroll
            for (int col_i = 0; col_i < 4; ++col_i) {
                acc[row_i][col_i] += A_v[row_i] * B_v[col_i];
            }
        }
    }
    #pragma unroll
    for (int row_i = 0; row_i < 2; ++row_i) {
        #pragma unroll
        for (int col_i = 0; col_i < 4; ++col_i) {
            if (row_block + row_thread + row_i < M && col_block + col_thread + (col_i / 2 * 32 + col_i % 2) < N) {
                C[(row_block + row_thread + row_i) * N + (col_block + col_thread + (col_i / 2 * 32 + col_i
                        % 2))] = acc[row_i][col_i];
            }
        }
    }
}
