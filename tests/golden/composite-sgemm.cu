// sgemm_wrong_axes after:
//   CoalesceMemoryAccess(threads: order=yx)
//   AdjustBlockSize(block: x=8, y=32)
//   CoarsenThreads(x: fragment=4, items=4, mode=blocked)
//   CoarsenThreads(y: fragment=4, items=4, mode=fragments)
//   TileLoops(k: size=8)
//   UseSharedMemory(A: order=10, pad=4, scope=k.o)
//   UseSharedMemory(B: order=01, pad=0, scope=k.o)
//   UnrollLoop(k: factor=8, mode=pragma)
//   UnrollLoop(k.o: factor=1, mode=pragma)
//   CoarsenThreads(x: fragment=4, items=8, mode=fragments)
// launch: grid (ceil_div(N, 128), ceil_div(M, 64), 1), block (32, 8, 1)

// C = A * B for row-major matrices: A is M x K, B is K x N, C is M x N.
// The row comes from x, so neighbouring threads read and write addresses a whole row apart.
extern "C" __global__ void __launch_bounds__(256) sgemm_wrong_axes(const float* A, const float* B, float* C, int M,
        int N, int K) {
    // UseSharedMemory: the part of A that loop k reads
    __shared__ __align__(16) float A_s[8][68];
    // UseSharedMemory: the part of B that loop k reads
    __shared__ __align__(16) float B_s[8][128];
    const int tid = (int)threadIdx.x + (int)threadIdx.y * 32;
    const int col_block = (int)blockIdx.x * 128;
    const int col_thread = (int)threadIdx.x * 4;
    const int row_block = (int)blockIdx.y * 64;
    const int row_thread = (int)threadIdx.y * 4;
    float acc[8][4];
    #pragma unroll
    for (int row_i = 0; row_i < 8; ++row_i) {
        #pragma unroll
        for (int col_i = 0; col_i < 4; ++col_i) {
            acc[row_i][col_i] = 0.0f;
        }
    }
    // TileLoops: k in steps of 8
    #pragma unroll 1
    for (int k_o = 0; k_o < K; k_o += 8) {
        #pragma unroll
        for (int A_e = 0; A_e < 64; A_e += 32) {
            const int A_i0 = A_e + tid / 8;
            const int A_i1 = tid % 8;
            A_s[A_i1][A_i0] = row_block + A_i0 < M && k_o + A_i1 < K ? A[(row_block + A_i0) * K + (k_o + A_i1)] : 0;
        }
        #pragma unroll
        for (int B_e = 0; B_e < 8; B_e += 2) {
            const int B_i0 = B_e + tid / 128;
            const int B_i1 = tid % 128;
            B_s[B_i0][B_i1] = k_o + B_i0 < K && col_block + B_i1 < N ? B[(k_o + B_i0) * N + (col_block + B_i1)] : 0;
        }
        __syncthreads();
        #pragma unroll 8
        for (int k_i = 0; k_i < 8; ++k_i) {
            float A_v[8];
            #pragma unroll
            for (int row_i = 0; row_i < 8; ++row_i) {
                A_v[row_i] = A_s[k_i][row_thread + (row_i / 4 * 32 + row_i % 4)];
            }
            float B_v[4];
            #pragma unroll
            for (int col_i = 0; col_i < 4; ++col_i) {
                B_v[col_i] = B_s[k_i][col_thread + (col_i / 4 * 128 + col_i % 4)];
            }
            #pragma unroll
            for (int row_i = 0; row_i < 8; ++row_i) {
                #pragma unroll
                for (int col_i = 0; col_i < 4; ++col_i) {
                    acc[row_i][col_i] += A_v[row_i] * B_v[col_i];
                }
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int row_i = 0; row_i < 8; ++row_i) {
        #pragma unroll
        for (int col_i = 0; col_i < 4; ++col_i) {
            if (row_block + row_thread + (row_i / 4 * 32 + row_i % 4) < M && col_block + col_thread + (col_i / 4 * 128 + col_i % 4) < N) {
                C[(row_block + row_thread + (row_i / 4 * 32 + row_i % 4)) * N + (col_block + col_thread + (col_i / 4
                        * 128 + col_i % 4))] = acc[row_i][col_i];
            }
        }
    }
}
