// sgemm after:
//   TileLoops(k: size=8)
//   UseSharedMemory(B: order=01, pad=0, scope=k.o)
//   VectorizeLoads(B: width=4)
//   PipelineStages(k.o: depth=3)
// launch: grid (ceil_div(N, block_x), ceil_div(M, block_y), 1), block (16, 16, 1)

// C = A * B for row-major matrices: A is M x K, B is K x N, C is M x N.
// One thread computes one element of C.
template <int BYTES>
__device__ __forceinline__ void evo_copy_async(void* shared, const void* global, bool inside) {
    const unsigned int to = (unsigned int)__cvta_generic_to_shared(shared);
    const size_t from = __cvta_generic_to_global(global);
    if (BYTES == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::
            "r"(to), "l"(from), "r"(inside ? 16 : 0) : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;\n" ::
            "r"(to), "l"(from), "n"(BYTES), "r"(inside ? BYTES : 0) : "memory");
    }
}

__device__ __forceinline__ void evo_commit_copies() {
    asm volatile("cp.async.commit_group;\n" ::: "memory");
}

// Waits until at most PENDING of the thread's own groups of copies are under way.
template <int PENDING>
__device__ __forceinline__ void evo_wait_copies() {
    asm volatile("cp.async.wait_group %0;\n" :: "n"(PENDING) : "memory");
}

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
    // UseSharedMemory: the part of B that loop k reads
    __shared__ __align__(16) float B_s[3][8][16];
    const int tid = (int)threadIdx.x + (int)threadIdx.y * 16;
    const int col_block = (int)blockIdx.x * 16;
    const int col_thread = (int)threadIdx.x;
    const int row_block = (int)blockIdx.y * 16;
    const int row_thread = (int)threadIdx.y;
    const int row = row_block + row_thread;
    const int col = col_block + col_thread;
    const bool B_wide = N % 4 == 0 && (size_t)B % 16 == 0;
    float acc = 0.0f;
    #pragma unroll
    for (int B_e = 0; B_e < 8; B_e += 64) {
        if (B_e + tid / 4 < 8) {
            const int B_i0 = B_e + tid / 4;
            const int B_i1 = tid % 4 * 4;
            if (B_wide) {
                {
                    const bool evo_in = B_i0 < K && col_block + B_i1 < N;
                    evo_copy_async<16>(&B_s[0][B_i0][B_i1], &B[evo_in ? B_i0 * N + (col_block + B_i1) : 0], evo_in);
                }
            } else {
                {
                    const bool evo_in = B_i0 < K && col_block + B_i1 < N;
                    evo_copy_async<4>(&B_s[0][B_i0][B_i1], &B[evo_in ? B_i0 * N + (col_block + B_i1) : 0], evo_in);
                }
                {
                    const bool evo_in = B_i0 < K && col_block + (B_i1 + 1) < N;
                    evo_copy_async<4>(&B_s[0][B_i0][B_i1 + 1], &B[evo_in ? B_i0 * N + (col_block + (B_i1 + 1)) : 0], evo_in);
                }
                {
                    const bool evo_in = B_i0 < K && col_block + (B_i1 + 2) < N;
                    evo_copy_async<4>(&B_s[0][B_i0][B_i1 + 2], &B[evo_in ? B_i0 * N + (col_block + (B_i1 + 2)) : 0], evo_in);
                }
                {
                    const bool evo_in = B_i0 < K && col_block + (B_i1 + 3) < N;
                    evo_copy_async<4>(&B_s[0][B_i0][B_i1 + 3], &B[evo_in ? B_i0 * N + (col_block + (B_i1 + 3)) : 0], evo_in);
                }
            }
        }
    }
    evo_commit_copies();
    #pragma unroll
    for (int B_e2 = 0; B_e2 < 8; B_e2 += 64) {
        if (B_e2 + tid / 4 < 8) {
            const int B_i02 = B_e2 + tid / 4;
            const int B_i12 = tid % 4 * 4;
            if (B_wide) {
                {
                    const bool evo_in = 8 + B_i02 < K && col_block + B_i12 < N;
                    evo_copy_async<16>(&B_s[1][B_i02][B_i12], &B[evo_in ? (8 + B_i02) * N + (col_block + B_i12) : 0], evo_in);
                }
            } else {
                {
                    const bool evo_in = 8 + B_i02 < K && col_block + B_i12 < N;
                    evo_copy_async<4>(&B_s[1][B_i02][B_i12], &B[evo_in ? (8 + B_i02) * N + (col_block + B_i12) : 0], evo_in);
                }
                {
                    const bool evo_in = 8 + B_i02 < K && col_block + (B_i12 + 1) < N;
                    evo_copy_async<4>(&B_s[1][B_i02][B_i12 + 1], &B[evo_in ? (8 + B_i02) * N + (col_block + (B_i12 + 1)) : 0], evo_in);
                }
                {
                    const bool evo_in = 8 + B_i02 < K && col_block + (B_i12 + 2) < N;
                    evo_copy_async<4>(&B_s[1][B_i02][B_i12 + 2], &B[evo_in ? (8 + B_i02) * N + (col_block + (B_i12 + 2)) : 0], evo_in);
                }
                {
                    const bool evo_in = 8 + B_i02 < K && col_block + (B_i12 + 3) < N;
                    evo_copy_async<4>(&B_s[1][B_i02][B_i12 + 3], &B[evo_in ? (8 + B_i02) * N + (col_block + (B_i12 + 3)) : 0], evo_in);
                }
            }
        }
    }
    evo_commit_copies();
    int k_slot = 0;
    // PipelineStages: tiles of 8 in 3 buffers, copied ahead
    for (int k_o = 0; k_o < K; k_o += 8) {
        evo_wait_copies<1>();
        __syncthreads();
        const int k_fill = k_slot == 0 ? 2 : k_slot - 1;
        #pragma unroll
        for (int B_e3 = 0; B_e3 < 8; B_e3 += 64) {
            if (B_e3 + tid / 4 < 8) {
                const int B_i03 = B_e3 + tid / 4;
                const int B_i13 = tid % 4 * 4;
                if (B_wide) {
                    {
                        const bool evo_in = k_o + 16 + B_i03 < K && col_block + B_i13 < N;
                        evo_copy_async<16>(&B_s[k_fill][B_i03][B_i13], &B[evo_in ? (k_o + 16 + B_i03) * N + (col_block + B_i13) : 0], evo_in);
                    }
                } else {
                    {
                        const bool evo_in = k_o + 16 + B_i03 < K && col_block + B_i13 < N;
                        evo_copy_async<4>(&B_s[k_fill][B_i03][B_i13], &B[evo_in ? (k_o + 16 + B_i03) * N + (col_block + B_i13) : 0], evo_in);
                    }
                    {
                        const bool evo_in = k_o + 16 + B_i03 < K && col_block + (B_i13 + 1) < N;
                        evo_copy_async<4>(&B_s[k_fill][B_i03][B_i13 + 1], &B[evo_in ? (k_o + 16 + B_i03) * N + (col_block + (B_i13 + 1)) : 0], evo_in);
                    }
                    {
                        const bool evo_in = k_o + 16 + B_i03 < K && col_block + (B_i13 + 2) < N;
                        evo_copy_async<4>(&B_s[k_fill][B_i03][B_i13 + 2], &B[evo_in ? (k_o + 16 + B_i03) * N + (col_block + (B_i13 + 2)) : 0], evo_in);
                    }
                    {
                        const bool evo_in = k_o + 16 + B_i03 < K && col_block + (B_i13 + 3) < N;
                        evo_copy_async<4>(&B_s[k_fill][B_i03][B_i13 + 3], &B[evo_in ? (k_o + 16 + B_i03) * N + (col_block + (B_i13 + 3)) : 0], evo_in);
                    }
                }
            }
        }
        evo_commit_copies();
        for (int k_i = 0; k_i < (K - k_o < 8 ? K - k_o : 8); ++k_i) {
            acc += (row < M ? A[row * K + (k_o + k_i)] : 0) * B_s[k_slot][k_i][col_thread];
        }
        k_slot = k_slot == 2 ? 0 : k_slot + 1;
    }
    evo_wait_copies<0>();
    __syncthreads();
    if (row < M && col < N) {
        C[row * N + col] = acc;
    }
}
