// sgemm after:
//   TileLoops(k: size=8)
//   UseSharedMemory(B: order=01, pad=0, scope=k.o)
//   VectorizeLoads(B: width=4)
// launch: grid (ceil_div(N, block_x), ceil_div(M, block_y), 1), block (16, 16, 1)

// C = A * B for row-major matrices: A is M x K, B is K x N, C is M x N.
// One thread computes one element of C.
extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
    // UseSharedMemory: the part of B that loop k reads
    __shared__ __align__(16) float B_s[8][16];
    const int tid = (int)threadIdx.x + (int)threadIdx.y * 16;
    const int col_block = (int)blockIdx.x * 16;
    const int col_thread = (int)threadIdx.x;
    const int row_block = (int)blockIdx.y * 16;
    const int row_thread = (int)threadIdx.y;
    const int row = row_block + row_thread;
    const int col = col_block + col_thread;
    const bool B_wide = N % 4 == 0 && (size_t)B % 16 == 0;
    float acc = 0.0f;
    // TileLoops: k in steps of 8
    for (int k_o = 0; k_o < K; k_o += 8) {
        #pragma unroll
        for (int B_e = 0; B_e < 8; B_e += 64) {
            if (B_e + tid / 4 < 8) {
                const int B_i0 = B_e + tid / 4;
                const int B_i1 = tid % 4 * 4;
                if (B_wide) {
                    float4 v = make_float4(0, 0, 0, 0);
                    if (k_o + B_i0 < K && col_block + B_i1 < N) {
                        v = *(const float4*)&B[(k_o + B_i0) * N + (col_block + B_i1)];
                    }
                    *(float4*)&B_s[B_i0][B_i1] = v;
                } else {
                    B_s[B_i0][B_i1] = k_o + B_i0 < K && col_block + B_i1 < N ? B[(k_o + B_i0) * N + (col_block
                            + B_i1)] : 0;
                    B_s[B_i0][B_i1 + 1] = k_o + B_i0 < K && col_block + (B_i1 + 1) < N ? B[(k_o + B_i0) * N
                            + (col_block + (B_i1 + 1))] : 0;
                    B_s[B_i0][B_i1 + 2] = k_o + B_i0 < K && col_block + (B_i1 + 2) < N ? B[(k_o + B_i0) * N
                            + (col_block + (B_i1 + 2))] : 0;
                    B_s[B_i0][B_i1 + 3] = k_o + B_i0 < K && col_block + (B_i1 + 3) < N ? B[(k_o + B_i0) * N
                            + (col_block + (B_i1 + 3))] : 0;
                }
            }
        }
        __syncthreads();
        for (int k_i = 0; k_i < (K - k_o < 8 ? K - k_o : 8); ++k_i) {
            acc += (row < M ? A[row * K + (k_o + k_i)] : 0) * B_s[k_i][col_thread];
        }
        __syncthreads();
    }
    if (row < M && col < N) {
        C[row * N + col] = acc;
    }
}
