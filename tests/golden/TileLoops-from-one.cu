// softmax after:
//   TileLoops(j: size=16)
// launch: grid (ceil_div(rows, block_x), 1, 1), block (256, 1, 1)

// Softmax over each row of a matrix of `rows` rows and `cols` columns; one thread per row.
extern "C" __global__ void softmax(const float* in, float* out, int rows, int cols) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float largest = in[row * cols];
        // TileLoops: j in steps of 16
        for (int j_o = 1; j_o < cols; j_o += 16) {
            for (int j_i = 0; j_i < (cols - j_o < 16 ? cols - j_o : 16); ++j_i) {
                largest = fmaxf(largest, in[row * cols + (j_o + j_i)]);
            }
        }
        float sum = 0.0f;
        for (int j_2 = 0; j_2 < cols; ++j_2) {
            sum += expf(in[row * cols + j_2] - largest);
        }
        for (int j_3 = 0; j_3 < cols; ++j_3) {
            out[row * cols + j_3] = expf(in[row * cols + j_3] - largest) / sum;
        }
    }
}
