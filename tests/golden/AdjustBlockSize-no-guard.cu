// scale after:
//   AdjustBlockSize(block: x=96)
// launch: grid (ceil_div(N, 96), 1, 1), block (96, 1, 1)

extern "C" __global__ void __launch_bounds__(96) scale(const float* in, float* out, int N) {
    const int x_block = (int)blockIdx.x * 96;
    const int x_thread = (int)threadIdx.x;
    const int x = x_block + x_thread;
    if ((int)(unsigned int)(x_block + x_thread) < N) {
        out[x] = 2.0f * in[x];
    }
}
