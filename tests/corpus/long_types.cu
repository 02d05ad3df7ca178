typedef unsigned long long int u64;
__global__ void long_types(const long long* a, u64* b, unsigned short* s, signed char* c, int n) {
    long int i = (long)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) {
        unsigned long long int x = (u64)a[i] ^ 0xdeadbeefcafef00dULL;
        x ^= x >> 33;
        x *= 0xff51afd7ed558ccdull;
        b[i] = x + 0x80000000 + 4000000000u + -1;
        s[i] = (unsigned short)x;
        c[i] = (signed char)(x >> 8);
    }
}
