// softmax after:
//   UnrollLoop(j_3: factor=4, mode=factor)
//   ReorderInstructions(j_3: order=loads-first)
// launch: grid (ceil_div(rows, block_x), 1, 1), block (256, 1, 1)

// Softmax over each row of a matrix of `rows` rows and `cols` columns; one thread per row.
extern "C" __global__ void softmax(const float* in, float* out, int rows, int cols) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float largest = in[row * cols];
        for (int j = 1; j < cols; ++j) {
            largest = fmaxf(largest, in[row * cols + j]);
        }
        float sum = 0.0f;
        for (int j_2 = 0; j_2 < cols; ++j_2) {
            sum += expf(in[row * cols + j_2] - largest);
        }
        const int j_3_end = cols - cols % 4;
        // UnrollLoop: 4 iterations at a time, then the rest
        for (int j_3 = 0; j_3 < j_3_end; j_3 += 4) {
            const float in_v = in[row * cols + j_3];
            const float in_v2 = in[row * cols + (j_3 + 1)];
            const float in_v3 = in[row * cols + (j_3 + 2)];
            const float in_v4 = in[row * cols + (j_3 + 3)];
            out[row * cols + j_3] = expf(in_v - largest) / sum;
            out[row * cols + (j_3 + 1)] = expf(in_v2 - largest) / sum;
            out[row * cols + (j_3 + 2)] = expf(in_v3 - largest) / sum;
            out[row * cols + (j_3 + 3)] = expf(in_v4 - largest) / sum;
        }
        for (int j_32 = j_3_end; j_32 < cols; ++j_32) {
            out[row * cols + j_32] = expf(in[row * cols + j_32] - largest) / sum;
        }
    }
}
