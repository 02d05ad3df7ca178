// C = A * B for row-major matrices, as a programmer writes it for a tuner: plain staging of both operands in shared
// memory, block, items per thread and depth of a tile as macros. M x K times K x N; any sizes.
#define TILE_M (block_size_y * tile_y)
#define TILE_N (block_size_x * tile_x)
#define THREADS (block_size_x * block_size_y)

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[tile_k][TILE_M];
    __shared__ float b[tile_k][TILE_N];
    const int x = threadIdx.x, y = threadIdx.y, thread = y * block_size_x + x;
    const int row0 = blockIdx.y * TILE_M, col0 = blockIdx.x * TILE_N;
    float sum[tile_y][tile_x];
#pragma unroll
    for (int i = 0; i < tile_y; ++i)
#pragma unroll
        for (int j = 0; j < tile_x; ++j) sum[i][j] = 0.0f;

    for (int k0 = 0; k0 < K; k0 += tile_k) {
        for (int n = thread; n < TILE_M * tile_k; n += THREADS) {
            const int row = n / tile_k, k = n % tile_k;
            a[k][row] = row0 + row < M && k0 + k < K ? A[(row0 + row) * K + k0 + k] : 0.0f;
        }
        for (int n = thread; n < TILE_N * tile_k; n += THREADS) {
            const int k = n / TILE_N, col = n % TILE_N;
            b[k][col] = k0 + k < K && col0 + col < N ? B[(k0 + k) * N + col0 + col] : 0.0f;
        }
        __syncthreads();
#pragma unroll unroll_k
        for (int k = 0; k < tile_k; ++k) {
            float left[tile_y], right[tile_x];
#pragma unroll
            for (int i = 0; i < tile_y; ++i) left[i] = a[k][y + i * block_size_y];
#pragma unroll
            for (int j = 0; j < tile_x; ++j) right[j] = b[k][x + j * block_size_x];
#pragma unroll
            for (int i = 0; i < tile_y; ++i)
#pragma unroll
                for (int j = 0; j < tile_x; ++j) sum[i][j] += left[i] * right[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < tile_y; ++i)
#pragma unroll
        for (int j = 0; j < tile_x; ++j) {
            const int row = row0 + y + i * block_size_y, col = col0 + x + j * block_size_x;
            if (row < M && col < N) C[row * N + col] = sum[i][j];
        }
}
