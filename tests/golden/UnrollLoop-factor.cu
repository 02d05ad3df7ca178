// sgemm after:
//   UnrollLoop(k: factor=4, mode=factor)
// launch: grid (ceil_div(N, block_x), ceil_div(M, block_y), 1), block (16, 16, 1)

// C = A * B for row-major matrices: A is M x K, B is K x N, C is M x N.
// One thread computes one element of C.
extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float acc = 0.0f;
        const int k_end = K - K % 4;
        // UnrollLoop: 4 iterations at a time, then the rest
        for (int k = 0; k < k_end; k += 4) {
            acc += A[row * K + k] * B[k * N + col];
            acc += A[row * K + (k + 1)] * B[(k + 1) * N + col];
            acc += A[row * K + (k + 2)] * B[(k + 2) * N + col];
            acc += A[row * K + (k + 3)] * B[(k + 3) * N + col];
        }
        for (int k2 = k_end; k2 < K; ++k2) {
            acc += A[row * K + k2] * B[k2 * N + col];
        }
        C[row * N + col] = acc;
    }
}
