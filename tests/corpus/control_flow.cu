// while, do, switch, break, continue, nested conditions, ternaries, labels.
__global__ void escape(unsigned char* image, int w, int h, float x0, float y0, float scale, int limit) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= w || py >= h) return;
    float cx = x0 + px * scale, cy = y0 + py * scale, zx = 0, zy = 0;
    int it = 0;
    while (zx * zx + zy * zy < 4.0f && it < limit) { float t = zx * zx - zy * zy + cx; zy = 2 * zx * zy + cy; zx = t; it++; }
    image[py * w + px] = it == limit ? 0 : (unsigned char)(255 - it % 256);
}
__global__ void search(const int* sorted, const int* keys, int* where, int n, int m) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < m) {
        int lo = 0, hi = n - 1, at = -1;
        do {
            int mid = lo + ((hi - lo) >> 1);
            if (sorted[mid] == keys[i]) { at = mid; break; }
            if (sorted[mid] < keys[i]) lo = mid + 1;
            else hi = mid - 1;
        } while (lo <= hi);
        where[i] = at;
    }
}
__global__ void dispatch(const int* op, const float* a, const float* b, float* c, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        switch (op[i]) {
        case 0: c[i] = a[i] + b[i]; break;
        case 1: c[i] = a[i] - b[i]; break;
        case 2:
        case 3: { float t = a[i]; c[i] = t * b[i]; } break;
        default: continue;
        }
        c[i] += 1.0f;
    }
}
__global__ void csr(const int* __restrict__ ptr, const int* __restrict__ col, const float* __restrict__ val,
                    const float* __restrict__ x, float* __restrict__ y, int rows) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float s = 0;
        for (int k = ptr[r], e = ptr[r + 1]; k < e; ++k) s += val[k] * x[col[k]];
        y[r] = s;
    }
}
__global__ void bfs(const int* edges, const int* start, int* level, int* changed, int n, int depth) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < n && level[v] == depth)
        for (int e = start[v]; e < start[v + 1]; e++) {
            int u = edges[e];
            if (level[u] != -1) continue;
            level[u] = depth + 1;
            *changed = 1;
        }
}
__global__ void retry(int* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, tries = 0;
    if (i >= n) return;
again:
    a[i] = a[i] * 3 + 1;
    if (++tries < 4 && a[i] % 2) goto again;
}
__global__ void backwards(float* a, const float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (!(i < n)) return;
    float v = b[i];
    for (int k = n; k-- > 0;) { if (k == i) continue; v = v > b[k] ? v : b[k]; }
    for (int s = 1; s < n; s *= 2) v += s;
    for (;;) { v -= 1.0f; if (v < 10.0f) break; }
    a[i] = i & 1 ? v : i % 3 == 0 ? -v : +v;
}
