// sgemm after:
//   CoarsenThreads(x: fragment=4, items=8, mode=fragments)
//   CoarsenThreads(y: fragment=4, items=8, mode=fragments)
//   TileLoops(k: size=16)
//   UseSharedMemory(A: order=01, pad=0, scope=k.o)
//   UseSharedMemory(B: order=01, pad=0, scope=k.o)
//   PipelineStages(k.o: depth=4)
//   SwizzleBlocks(grid: rows=8)
// launch: grid (ceil_div(N, 128), ceil_div(M, 128), 1), block (16, 16, 1)

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

extern "C" __global__ void __launch_bounds__(256) sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
    extern __shared__ __align__(16) char shared_pool[];
    // UseSharedMemory: the part of A that loop k reads
    float* A_s = (float*)(shared_pool + 0);
    // UseSharedMemory: the part of B that loop k reads
    float* B_s = (float*)(shared_pool + 32768);
    const int tid = (int)threadIdx.x + (int)threadIdx.y * 16;
    const int grid_width = (int)gridDim.x;
    const int linear_block = (int)blockIdx.y * grid_width + (int)blockIdx.x;
    const int group_first = linear_block / (grid_width * 8) * 8;
    const int group_rows = (int)gridDim.y - group_first < 8 ? (int)gridDim.y - group_first : 8;
    const int in_group = linear_block % (grid_width * 8);
    const int col_number = in_group / group_rows;
    const int row_number = group_first + in_group % group_rows;
    const int col_block = col_number * 128;
    const int col_thread = (int)threadIdx.x * 4;
    const int row_block = row_number * 128;
    const int row_thread = (int)threadIdx.y * 4;
    float acc[8][8];
    #pragma unroll
    for (int row_i = 0; row_i < 8; ++row_i) {
        #pragma unroll
        for (int col_i = 0; col_i < 8; ++col_i) {
            acc[row_i][col_i] = 0.0f;
        }
    }
    #pragma unroll
    for (int A_e = 0; A_e < 128; A_e += 16) {
        const int A_i0 = A_e + tid / 16;
        const int A_i1 = tid % 16;
        {
            const bool evo_in = row_block + A_i0 < M && A_i1 < K;
            evo_copy_async<4>(&A_s[A_i0 * 16 + A_i1], &A[evo_in ? (row_block + A_i0) * K + A_i1 : 0], evo_in);
        }
    }
    #pragma unroll
    for (int B_e = 0; B_e < 16; B_e += 2) {
        const int B_i0 = B_e + tid / 128;
        const int B_i1 = tid % 128;
        {
            const bool evo_in = B_i0 < K && col_block + B_i1 < N;
            evo_copy_async<4>(&B_s[B_i0 * 128 + B_i1], &B[evo_in ? B_i0 * N + (col_block + B_i1) : 0], evo_in);
        }
    }
    evo_commit_copies();
    #pragma unroll
    for (int A_e2 = 0; A_e2 < 128; A_e2 += 16) {
        const int A_i02 = A_e2 + tid / 16;
        const int A_i12 = tid % 16;
        {
            const bool evo_in = row_block + A_i02 < M && 16 + A_i12 < K;
            evo_copy_async<4>(&A_s[(128 + A_i02) * 16 + A_i12], &A[evo_in ? (row_block + A_i02) * K + (16 + A_i12) : 0], evo_in);
        }
    }
    #pragma unroll
    for (int B_e2 = 0; B_e2 < 16; B_e2 += 2) {
        const int B_i02 = B_e2 + tid / 128;
        const int B_i12 = tid % 128;
        {
            const bool evo_in = 16 + B_i02 < K && col_block + B_i12 < N;
            evo_copy_async<4>(&B_s[(16 + B_i02) * 128 + B_i12], &B[evo_in ? (16 + B_i02) * N + (col_block + B_i12) : 0], evo_in);
        }
    }
    evo_commit_copies();
    #pragma unroll
    for (int A_e3 = 0; A_e3 < 128; A_e3 += 16) {
        const int A_i03 = A_e3 + tid / 16;
        const int A_i13 = tid % 16;
        {
            const bool evo_in = row_block + A_i03 < M && 32 + A_i13 < K;
            evo_copy_async<4>(&A_s[(256 + A_i03) * 16 + A_i13], &A[evo_in ? (row_block + A_i03) * K + (32 + A_i13) : 0], evo_in);
        }
    }
    #pragma unroll
    for (int B_e3 = 0; B_e3 < 16; B_e3 += 2) {
        const int B_i03 = B_e3 + tid / 128;
        const int B_i13 = tid % 128;
        {
            const bool evo_in = 32 + B_i03 < K && col_block + B_i13 < N;
            evo_copy_async<4>(&B_s[(32 + B_i03) * 128 + B_i13], &B[evo_in ? (32 + B_i03) * N + (col_block + B_i13) : 0], evo_in);
        }
    }
    evo_commit_copies();
    int k_slot = 0;
    // PipelineStages: tiles of 16 in 4 buffers, copied ahead
    for (int k_o = 0; k_o < K; k_o += 16) {
        evo_wait_copies<2>();
        __syncthreads();
        const int k_fill = k_slot == 0 ? 3 : k_slot - 1;
        #pragma unroll
        for (int A_e4 = 0; A_e4 < 128; A_e4 += 16) {
            const int A_i04 = A_e4 + tid / 16;
            const int A_i14 = tid % 16;
            {
                const bool evo_in = row_block + A_i04 < M && k_o + 48 + A_i14 < K;
                evo_copy_async<4>(&A_s[(k_fill * 128 + A_i04) * 16 + A_i14], &A[evo_in ? (row_block + A_i04) * K + (k_o + 48 + A_i14) : 0], evo_in);
            }
        }
        #pragma unroll
        for (int B_e4 = 0; B_e4 < 16; B_e4 += 2) {
            const int B_i04 = B_e4 + tid / 128;
            const int B_i14 = tid % 128;
            {
                const bool evo_in = k_o + 48 + B_i04 < K && col_block + B_i14 < N;
                evo_copy_async<4>(&B_s[(k_fill * 16 + B_i04) * 128 + B_i14], &B[evo_in ? (k_o + 48 + B_i04) * N + (col_block + B_i14) : 0], evo_in);
            }
        }
        evo_commit_copies();
        for (int k_i = 0; k_i < 16; ++k_i) {
            float A_v[8];
            #pragma unroll
            for (int row_i = 0; row_i < 8; ++row_i) {
                A_v[row_i] = A_s[(k_slot * 128 + (row_thread + (row_i / 4 * 64 + row_i % 4))) * 16 + k_i];
            }
            float B_v[8];
            #pragma unroll
            for (int col_i = 0; col_i < 8; ++col_i) {
                B_v[col_i] = B_s[(k_slot * 16 + k_i) * 128 + (col_thread + (col_i / 4 * 64 + col_i % 4))];
            }
            #pragma unroll
            for (int row_i = 0; row_i < 8; ++row_i) {
                #pragma unroll
                for (int col_i = 0; col_i < 8; ++col_i) {
                    acc[row_i][col_i] += A_v[row_i] * B_v[col_i];
                }
            }
        }
        k_slot = k_slot == 3 ? 0 : k_slot + 1;
    }
    evo_wait_copies<0>();
    __syncthreads();
    #pragma unroll
    for (int row_i = 0; row_i < 8; ++row_i) {
        #pragma unroll
        for (int col_i = 0; col_i < 8; ++col_i) {
            if (row_block + row_thread + (row_i / 4 * 64 + row_i % 4) < M && col_block + col_thread + (col_i / 4 * 64 + col_i % 4) < N) {
                C[(row_block + row_thread + (row_i / 4 * 64 + row_i % 4)) * N + (col_block + col_thread + (col_i / 4
                        * 64 + col_i % 4))] = acc[row_i][col_i];
            }
        }
    }
}
