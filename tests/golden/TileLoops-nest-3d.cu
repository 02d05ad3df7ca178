// planes after:
//   TileLoops(a,b,c: size=4, size2=4, size3=4)
// launch: grid (ceil_div(N, block_x), 1, 1), block (256, 1, 1)

extern "C" __global__ void planes(const float* in, float* out, int N) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < N) {
        float sum = 0.0f;
        // TileLoops: a in steps of 4
        for (int a_o = 0; a_o < 6; a_o += 4) {
            // TileLoops: b in steps of 4
            for (int b_o = 0; b_o < 10; b_o += 4) {
                // TileLoops: c in steps of 4
                for (int c_o = 0; c_o < 12; c_o += 4) {
                    for (int a_i = 0; a_i < (6 - a_o < 4 ? 6 - a_o : 4); ++a_i) {
                        for (int b_i = 0; b_i < (10 - b_o < 4 ? 10 - b_o : 4); ++b_i) {
                            for (int c_i = 0; c_i < 4; ++c_i) {
                                sum += in[(((a_o + a_i) * 10 + (b_o + b_i)) * 12 + (c_o + c_i)) * N + x];
                            }
                        }
                    }
                }
            }
        }
        out[x] = sum;
    }
}
