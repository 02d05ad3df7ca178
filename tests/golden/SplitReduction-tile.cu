// sgemm_parts after:
//   CoarsenThreads(x: fragment=4, items=2, mode=blocked)
//   TileLoops(k: size=8)
//   UseSharedMemory(A: order=01, pad=0, scope=k.o)
//   SplitReduction(k: parts=4)
// launch sgemm_parts: grid (ceil_div(N, 32), ceil_div(M, 16), 4), block (16, 16, 1)
// launch sgemm_sums: grid (ceil_div(N, 32), ceil_div(M, 8), 1), block (32, 8, 1)
// workspace acc_parts: max(1, (N)*(M)*4) of float

// C = A * B for row-major matrices: A is M x K, B is K x N, C is M x N.
// One thread computes one element of C.
extern "C" __global__ void __launch_bounds__(256) sgemm_parts(const float* A, const float* B, float* C, int M, int N,
        int K, float* acc_parts) {
    // UseSharedMemory: the part of A that loop k reads
    __shared__ __align__(16) float A_s[16][8];
    const int tid = (int)threadIdx.x + (int)threadIdx.y * 16;
    const int col_block = (int)blockIdx.x * 32;
    const int col_thread = (int)threadIdx.x * 2;
    const int row_block = (int)blockIdx.y * 16;
    const int row_thread = (int)threadIdx.y;
    const int row = row_block + row_thread;
    // SplitReduction: this layer of blocks takes every 4th tile of k
    const int part = (int)blockIdx.z;
    float acc[2];
    #pragma unroll
    for (int col_i = 0; col_i < 2; ++col_i) {
        acc[col_i] = 0.0f;
        acc[col_i] = 0;
    }
    // TileLoops: k in steps of 8
    for (int k_o = part * 8; k_o < K; k_o += 32) {
        #pragma unroll
        for (int A_e = 0; A_e < 16; A_e += 32) {
            if (A_e + tid / 8 < 16) {
                const int A_i0 = A_e + tid / 8;
                const int A_i1 = tid % 8;
                A_s[A_i0][A_i1] = row_block + A_i0 < M && k_o + A_i1 < K ? A[(row_block + A_i0) * K + (k_o + A_i1)] : 0;
            }
        }
        __syncthreads();
        for (int k_i = 0; k_i < (K - k_o < 8 ? K - k_o : 8); ++k_i) {
            const float A_v = A_s[row_thread][k_i];
            #pragma unroll
            for (int col_i = 0; col_i < 2; ++col_i) {
                acc[col_i] += A_v * (col_block + col_thread + col_i < N ? B[(k_o + k_i) * N + (col_block + col_thread
                        + col_i)] : 0);
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int col_i = 0; col_i < 2; ++col_i) {
        if (row < M && col_block + col_thread + col_i < N) {
            acc_parts[part * (M * N) + (row * N + (col_block + col_thread + col_i))] = acc[col_i];
        }
    }
}

extern "C" __global__ void __launch_bounds__(256) sgemm_sums(const float* A, const float* B, float* C, int M, int N,
        int K, float* acc_parts) {
    const int col_block = (int)blockIdx.x * 32;
    const int col_thread = (int)threadIdx.x;
    const int row_block = (int)blockIdx.y * 8;
    const int row_thread = (int)threadIdx.y;
    const int row = row_block + row_thread;
    const int col = col_block + col_thread;
    if (row < M && col < N) {
        float acc = 0.0f;
        // SplitReduction: the sums of loop k
        #pragma unroll
        for (int part = 0; part < 4; ++part) {
            acc += acc_parts[part * (M * N) + (row * N + col)];
        }
        C[row * N + col] = acc;
    }
}
