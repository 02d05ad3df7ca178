// sgemm_wrong_axes_parts after:
//   CoalesceMemoryAccess(threads: order=yx)
//   TileLoops(k: size=8)
//   UseSharedMemory(A: order=10, pad=1, scope=k.o)
//   UseSharedMemory(B: order=01, pad=0, scope=k.o)
//   PipelineStages(k.o: depth=3)
//   SplitReduction(k: parts=6)
// launch sgemm_wrong_axes_parts: grid (ceil_div(N, 16), ceil_div(M, 16), 6), block (16, 16, 1)
// launch sgemm_wrong_axes_sums: grid (ceil_div(N, 32), ceil_div(M, 8), 1), block (32, 8, 1)
// workspace acc_parts: max(1, (N)*(M)*6) of float

// C = A * B for row-major matrices: A is M x K, B is K x N, C is M x N.
// The row comes from x, so neighbouring threads read and write addresses a whole row apart.
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

extern "C" __global__ void __launch_bounds__(256) sgemm_wrong_axes_parts(const float* A, const float* B, float* C,
        int M, int N, int K, float* acc_parts) {
    // UseSharedMemory: the part of A that loop k reads
    __shared__ __align__(16) float A_s[3][8][17];
    // UseSharedMemory: the part of B that loop k reads
    __shared__ __align__(16) float B_s[3][8][16];
    const int tid = (int)threadIdx.x + (int)threadIdx.y * 16;
    const int col_block = (int)blockIdx.x * 16;
    const int col_thread = (int)threadIdx.x;
    const int row_block = (int)blockIdx.y * 16;
    const int row_thread = (int)threadIdx.y;
    const int row = row_block + row_thread;
    const int col = col_block + col_thread;
    // SplitReduction: this layer of blocks takes every 6th tile of k
    const int part = (int)blockIdx.z;
    float acc = 0.0f;
    acc = 0;
    #pragma unroll
    for (int A_e = 0; A_e < 16; A_e += 32) {
        if (A_e + tid / 8 < 16) {
            const int A_i0 = A_e + tid / 8;
            const int A_i1 = tid % 8;
            {
                const bool evo_in = row_block + A_i0 < M && part * 8 + A_i1 < K;
                evo_copy_async<4>(&A_s[0][A_i1][A_i0], &A[evo_in ? (row_block + A_i0) * K + (part * 8 + A_i1) : 0], evo_in);
            }
        }
    }
    #pragma unroll
    for (int B_e = 0; B_e < 8; B_e += 16) {
        if (B_e + tid / 16 < 8) {
            const int B_i0 = B_e + tid / 16;
            const int B_i1 = tid % 16;
            {
                const bool evo_in = part * 8 + B_i0 < K && col_block + B_i1 < N;
                evo_copy_async<4>(&B_s[0][B_i0][B_i1], &B[evo_in ? (part * 8 + B_i0) * N + (col_block + B_i1) : 0], evo_in);
            }
        }
    }
    evo_commit_copies();
    #pragma unroll
    for (int A_e2 = 0; A_e2 < 16; A_e2 += 32) {
        if (A_e2 + tid / 8 < 16) {
            const int A_i02 = A_e2 + tid / 8;
            const int A_i12 = tid % 8;
            {
                const bool evo_in = row_block + A_i02 < M && part * 8 + 48 + A_i12 < K;
                evo_copy_async<4>(&A_s[1][A_i12][A_i02], &A[evo_in ? (row_block + A_i02) * K + (part * 8 + 48 + A_i12) : 0], evo_in);
            }
        }
    }
    #pragma unroll
    for (int B_e2 = 0; B_e2 < 8; B_e2 += 16) {
        if (B_e2 + tid / 16 < 8) {
            const int B_i02 = B_e2 + tid / 16;
            const int B_i12 = tid % 16;
            {
                const bool evo_in = part * 8 + 48 + B_i02 < K && col_block + B_i12 < N;
                evo_copy_async<4>(&B_s[1][B_i02][B_i12], &B[evo_in ? (part * 8 + 48 + B_i02) * N + (col_block + B_i12) : 0], evo_in);
            }
        }
    }
    evo_commit_copies();
    int k_slot = 0;
    // PipelineStages: tiles of 8 in 3 buffers, copied ahead
    for (int k_o = part * 8; k_o < K; k_o += 48) {
        evo_wait_copies<1>();
        __syncthreads();
        const int k_fill = k_slot == 0 ? 2 : k_slot - 1;
        #pragma unroll
        for (int A_e3 = 0; A_e3 < 16; A_e3 += 32) {
            if (A_e3 + tid / 8 < 16) {
                const int A_i03 = A_e3 + tid / 8;
                const int A_i13 = tid % 8;
                {
                    const bool evo_in = row_block + A_i03 < M && k_o + 96 + A_i13 < K;
                    evo_copy_async<4>(&A_s[k_fill][A_i13][A_i03], &A[evo_in ? (row_block + A_i03) * K + (k_o + 96 + A_i13) : 0], evo_in);
                }
            }
        }
        #pragma unroll
        for (int B_e3 = 0; B_e3 < 8; B_e3 += 16) {
            if (B_e3 + tid / 16 < 8) {
                const int B_i03 = B_e3 + tid / 16;
                const int B_i13 = tid % 16;
                {
                    const bool evo_in = k_o + 96 + B_i03 < K && col_block + B_i13 < N;
                    evo_copy_async<4>(&B_s[k_fill][B_i03][B_i13], &B[evo_in ? (k_o + 96 + B_i03) * N + (col_block + B_i13) : 0], evo_in);
                }
            }
        }
        evo_commit_copies();
        for (int k_i = 0; k_i < 8; ++k_i) {
            acc += A_s[k_slot][k_i][row_thread] * B_s[k_slot][k_i][col_thread];
        }
        k_slot = k_slot == 2 ? 0 : k_slot + 1;
    }
    evo_wait_copies<0>();
    __syncthreads();
    if (row < M && col < N) {
        acc_parts[part * (M * N) + (row * N + col)] = acc;
    }
}

extern "C" __global__ void __launch_bounds__(256) sgemm_wrong_axes_sums(const float* A, const float* B, float* C, int M,
        int N, int K, float* acc_parts) {
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
        for (int part = 0; part < 6; ++part) {
            acc += acc_parts[part * (M * N) + (row * N + col)];
        }
        C[row * N + col] = acc;
    }
}
