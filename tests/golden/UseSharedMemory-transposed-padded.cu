// sgemm after:
//   TileLoops(k: size=8)
//   UseSharedMemory(A: order=10, pad=4, scope=k.o)
// launch: grid (ceil_div(N, block_x), ceil_div(M, block_y), 1), block (16, 16, 1)

// C = A * B for row-major matrices: A is M x K, B is K x N, C is M x N.
// One thread computes one element of C.
extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
    // UseSharedMemory: the part of A that loop k reads
    __shared__ __align__(16) float A_s[8][20];
    const int tid = (int)threadIdx.x + (int)threadIdx.y * 16;
    const int col_block = (int)blockIdx.x * 16;
    const int col_thread = (int)threadIdx.x;
    const int row_block = (int)blockIdx.y * 16;
    const int row_thread = (int)threadIdx.y;
    const int row = row_block + row_thread;
    const int col = col_block + col_thread;
    float acc = 0.0f;
    // TileLoops: k in steps of 8
    for (int k_o = 0; k_o < K; k_o += 8) {
        #pragma unroll
        for (int A_e = 0; A_e < 16; A_e += 32) {
            if (A_e + tid / 8 < 16) {
                const int A_i0 = A_e + tid / 8;
                const int A_i1 = tid % 8;
                A_s[A_i1][A_i0] = row_block + A_i0 < M && k_o + A_i1 < K ? A[(row_block + A_i0) * K + (k_o + A_i1)] : 0;
            }
        }
        __syncthreads();
        for (int k_i = 0; k_i < (K - k_o < 8 ? K - k_o : 8); ++k_i) {
            acc += A_s[k_i][row_thread] * (col < N ? B[(k_o + k_i) * N + col] : 0);
        }
        __syncthreads();
    }
    if (row < M && col < N) {
        C[row * N + col] = acc;
    }
}
