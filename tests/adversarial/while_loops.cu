// while and do loops whose trips depend on data of one axis.
__global__ void while_loops(const int* A, int* C, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        int n = A[y] & 15;
        int steps = 0;
        while (n > 1) {
            n = (n & 1) ? 3 * n + 1 : n / 2;
            steps++;
        }
        int m = y;
        do {
            m /= 2;
            steps += 100;
        } while (m > 0);
        C[y * N + x] = steps + x;
    }
}
