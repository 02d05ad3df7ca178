__global__ void if_chain(const int* in, int* out, int n, bool flip) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int v = in[i];
        if (v < 0) v = -v;
        else if (v == 0) { v = 1; }
        else if (v > 100)
            if (flip) v = 100;
            else v = 99;
        else {
            v += flip ? 2 : 3;
        }
        ; ;
        out[i] = v;
    }
}
