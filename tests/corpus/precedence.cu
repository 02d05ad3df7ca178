// What must never be regrouped.
__global__ void precedence(const float* f, const int* k, float* out, int* iout, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float a = f[i], b = f[i + n], c = f[i + 2 * n];
        out[i] = a - (b - c) + (a + (b + c)) * (a / (b * c)) - (a - b) - c + a * (b / c) / (a / b);
        out[i + n] = -(-a) - -b + +c;
        int p = k[i], q = k[i + n];
        iout[i] = (p + q) * (p - q) / (q | 1) % 7 + (p << 2 + 1) - ((p & 3) == 2) + (p & (3 == 2)) + ~(p ^ q | 5);
        iout[i + n] = !(p && q || !p) + (p < q) + !!p + (p > q ? p : q) + (-(p - q)) + (int)(a + b) * (int)c;
        iout[i] += (p, q) + sizeof(float) + 'a' + 0x1F + 010 + (p >> 1 & 1);
        iout[i + n] ^= p = q;
    }
}
