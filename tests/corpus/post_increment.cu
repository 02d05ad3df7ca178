__global__ void post_increment(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const int* p = in + i * 4;
        int a = *p++;
        int b = *p++;
        int c = *p++;
        int d = *p;
        int count = 0;
        out[i] = a + b * 2 + c - -d;
        count++;
        ++count;
        out[i] += count--;
        out[i] -= --count;
    }
}
