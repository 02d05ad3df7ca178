// Pointers that walk, row pointers, pointers to elements, *p++.
__global__ void copy_walk(const float* src, float* dst, int n, int chunk) {
    const float* s = src + (blockIdx.x * blockDim.x + threadIdx.x) * chunk;
    float* d = dst + (blockIdx.x * blockDim.x + threadIdx.x) * chunk;
    const float* const end = src + n;
    while (s < end && chunk-- > 0) *d++ = *s++;
}
__global__ void rows(const double* __restrict__ m, double* __restrict__ out, int rows_, int cols, size_t pitch) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows_) return;
    const double* row = (const double*)((const char*)m + r * pitch);
    double best = row[0];
    for (const double* p = row + 1; p != row + cols; ++p)
        if (*p > best) best = *p;
    *(out + r) = best;
}
__global__ void strided(float* a, int n, int stride) {
    float* p = &a[blockIdx.x * blockDim.x + threadIdx.x];
    for (int i = 0; i < n; ++i, p += stride) p[0] = p[stride] * 0.5f + p[-1];
}
__global__ void pointer_table(float** arrays, const int* lengths, int count) {
    int which = blockIdx.y;
    float* a = arrays[which];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (which < count && i < lengths[which]) a[i] = a[i] * 2 + arrays[which][0];
}
__global__ void shared_pointers(const int* in, int* out, int n) {
    __shared__ int ping[128], pong[128];
    int *from = ping, *to = pong;
    int t = threadIdx.x;
    ping[t] = t < n ? in[t] : 0;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d <<= 1) {
        to[t] = t >= d ? from[t] + from[t - d] : from[t];
        __syncthreads();
        int* tmp = from; from = to; to = tmp;
    }
    if (t < n) out[t] = from[t];
}
__global__ void reinterpret(const float* in, float* out, int n4) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        float4 v = reinterpret_cast<const float4*>(in)[i];
        const float4* w = (const float4*)in + n4 - 1 - i;
        v.x += w->w; v.y -= (*w).z;
        ((float4*)out)[i] = v;
        reinterpret_cast<int*>(out)[i] ^= 1;
    }
}
