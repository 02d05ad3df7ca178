// sgemm after:
//   TileLoops(k: size=16)
//   UseSharedMemory(A: order=01, pad=0, scope=k.o)
//   UseSharedMemory(B: order=01, pad=0, scope=k.o)
//   PipelineStages(k.o: depth=2)
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
    // UseSharedMemory: the part of A that loop k reads
    __shared__ __align__(16) float A_s[2][16][16];
    // UseSharedMemory: the part of B that loop k reads
    __shared__ __align__(16) float B_s[2][16][16];
    const int tid = (int)threadIdx.x + (int)threadIdx.y * 16;
    const int col_block = (int)blockIdx.x * 16;
    const int col_thread = (int)threadIdx.x;
    const int row_block = (int)blockIdx.y * 16;
    const int row_thread = (int)threadIdx.y;
    const int row = row_block + row_thread;
    const int col = col_block + col_thread;
    float acc = 0.0f;
    #pragma unroll
    for (int A_e = 0; A_e < 16; A_e += 16) {
        const int A_i0 = A_e + tid / 16;
        const int A_i1 = tid % 16;
        {
            const bool evo_in = row_block + A_i0 < M && A_i1 < K;
            evo_copy_async<4>(&A_s[0][A_i0][A_i1], &A[evo_in ? (row_block + A_i0) * K + A_i1 : 0], evo_in);
        }
    }
    #pragma unroll
    for (int B_e = 0; B_e < 16; B_e += 16) {
        const int B_i0 = B_e + tid / 16;
        const int B_i1 = tid % 16;
        {
            const bool evo_in = B_i0 < K && col_block + B_i1 < N;
            evo_copy_async<4>(&B_s[0][B_i0][B_i1], &B[evo_in ? B_i0 * N + (col_block + B_i1) : 0], evo_in);
        }
    }
    evo_commit_copies();
    int k_slot = 0;
    // PipelineStages: tiles of 16 in 2 buffers, copied ahead
    for (int k_o = 0; k_o < K; k_o += 16) {
        evo_wait_copies<0>();
        __syncthreads();
        const int k_fill = k_slot == 0 ? 1 : k_slot - 1;
        #pragma unroll
        for (int A_e2 = 0; A_e2 < 16; A_e2 += 16) {
            const int A_i02 = A_e2 + tid / 16;
            const int A_i12 = tid % 16;
            {
                const bool evo_in = row_block + A_i02 < M && k_o + 16 + A_i12 < K;
                evo_copy_async<4>(&A_s[k_fill][A_i02][A_i12], &A[evo_in ? (row_block + A_i02) * K + (k_o + 16 + A_i12) : 0], evo_in);
            }
        }
        #pragma unroll
        for (int B_e2 = 0; B_e2 < 16; B_e2 += 16) {
            const int B_i02 = B_e2 + tid / 16;
            const int B_i12 = tid % 16;
            {
                const bool evo_in = k_o + 16 + B_i02 < K && col_block + B_i12 < N;
                evo_copy_async<4>(&B_s[k_fill][B_i02][B_i12], &B[evo_in ? (k_o + 16 + B_i02) * N + (col_block + B_i12) : 0], evo_in);
            }
        }
        evo_commit_copies();
        for (int k_i = 0; k_i < 16; ++k_i) {
            acc += A_s[k_slot][row_thread][k_i] * B_s[k_slot][k_i][col_thread];
        }
        k_slot = k_slot == 1 ? 0 : k_slot + 1;
    }
    evo_wait_copies<0>();
    __syncthreads();
    if (row < M && col < N) {
        C[row * N + col] = acc;
    }
}
