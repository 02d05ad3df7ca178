// transpose after:
//   CoalesceMemoryAccess(threads: order=yx)
//   AdjustBlockSize(block: x=32, y=32)
//   UseSharedMemory(in: order=01, pad=1, scope=block)
// launch: grid (ceil_div(H, 32), ceil_div(W, 32), 1), block (32, 32, 1)

// out = in transposed: in has H rows of W elements, out has W rows of H elements.
extern "C" __global__ void __launch_bounds__(1024) transpose(const float* in, float* out, int H, int W) {
    // UseSharedMemory: the part of in that the block reads
    __shared__ __align__(16) float in_s[32][33];
    const int tid = (int)threadIdx.x + (int)threadIdx.y * 32;
    const int y_block = (int)blockIdx.x * 32;
    const int y_thread = (int)threadIdx.x;
    const int x_block = (int)blockIdx.y * 32;
    const int x_thread = (int)threadIdx.y;
    const int x = x_block + x_thread;
    const int y = y_block + y_thread;
    #pragma unroll
    for (int in_e = 0; in_e < 32; in_e += 32) {
        const int in_i0 = in_e + tid / 32;
        const int in_i1 = tid % 32;
        in_s[in_i0][in_i1] = y_block + in_i0 < H && x_block + in_i1 < W ? in[(y_block + in_i0) * W + (x_block
                + in_i1)] : 0;
    }
    __syncthreads();
    if (x < W && y < H) {
        out[x * H + y] = in_s[y_thread][x_thread];
    }
}
