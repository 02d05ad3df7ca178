// sgemm after:
//   TileLoops(k: size=16)
//   UseSharedMemory(A: order=01, pad=0, scope=k.o)
//   UseSharedMemory(B: order=01, pad=0, scope=k.o)
// launch: grid (ceil_div(N, block_x), ceil_div(M, block_y), 1), block (16, 16, 1)

// C = A * B for row-major matrices: A is M x K, B is K x N, C is M x N.
// One thread computes one element of C.
extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
    // UseSharedMemory: the part of A that loop k reads
    __shared__ __align__(16) float A_s[16][16];
    // UseSharedMemory: the part of B that loop k reads
    __shared__ __align__(16) float B_s[16][16];
    const int tid = (int)threadIdx.x + (int)threadIdx.y * 16;
    const int col_block = (int)blockIdx.x * 16;
    const int col_thread = (int)threadIdx.x;
    const int row_block = (int)blockIdx.y * 16;
    const int row_thread = (int)threadIdx.y;
    const int row = row_block + row_thread;
    const int col = col_block + col_thread;
    float acc = 0.0f;
    // TileLoops: k in steps of 16
    for (int k_o = 0; k_o < K; k_o += 16) {
        #pragma unroll
        for (int A_e = 0; A_e < 16; A_e += 16) {
            const int A_i0 = A_e + tid / 16;
            const int A_i1 = tid % 16;
            A_s[A_i0][A_i1] = row_block + A_i0 < M && k_o + A_i1 < K ? A[(row_block + A_i0) * K + (k_o + A_i1)] : 0;
        }
        #pragma unroll
        for (int B_e = 0; B_e < 16; B_e += 16) {
            const int B_i0 = B_e + tid / 16;
            const int B_i1 = tid % 16;
            B_s[B_i0][B_i1] = k_o + B_i0 < K && col_block + B_i1 < N ? B[(k_o + B_i0) * N + (col_block + B_i1)] : 0;
        }
        __syncthreads();
        for (int k_i = 0; k_i < 16; ++k_i) {
            acc += A_s[row_thread][k_i] * B_s[k_i][col_thread];
        }
        __syncthreads();
    }
    if (row < M && col < N) {
        C[row * N + col] = acc;
    }
}
