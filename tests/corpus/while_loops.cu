// Collatz steps and a do-while.
__global__ void while_loops(const unsigned int* start, int* steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned int v = start[i];
    int count = 0;
    while (v > 1u && count < 100) {
        if (v & 1) v = 3 * v + 1;
        else v >>= 1;
        ++count;
    }
    do {
        count += 2;
        if (count % 3 == 0) continue;
        if (count > 50) break;
    } while (count < 20);
    steps[i] = count;
}
