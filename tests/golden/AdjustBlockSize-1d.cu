// softmax after:
//   AdjustBlockSize(block: x=96)
// launch: grid (ceil_div(rows, 96), 1, 1), block (96, 1, 1)

// Softmax over each row of a matrix of `rows` rows and `cols` columns; one thread per row.
extern "C" __global__ void __launch_bounds__(96) softmax(const float* in, float* out, int rows, int cols) {
    const int row_block = (int)blockIdx.x * 96;
    const int row_thread = (int)threadIdx.x;
    const int row = row_block + row_thread;
    if (row < rows) {
        float largest = in[row * cols];
        for (int j = 1; j < cols; ++j) {
            largest = fmaxf(largest, in[row * cols + j]);
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
