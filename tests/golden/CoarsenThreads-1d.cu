// softmax after:
//   CoarsenThreads(x: fragment=4, items=2, mode=strided)
// launch: grid (ceil_div(rows, 512), 1, 1), block (256, 1, 1)

// Softmax over each row of a matrix of `rows` rows and `cols` columns; one thread per row.
extern "C" __global__ void __launch_bounds__(256) softmax(const float* in, float* out, int rows, int cols) {
    const int row_block = (int)blockIdx.x * 512;
    const int row_thread = (int)threadIdx.x;
    float largest[2];
    #pragma unroll
    for (int row_i = 0; row_i < 2; ++row_i) {
        largest[row_i] = row_block + row_thread + row_i * 256 < rows ? in[(row_block + row_thread + row_i * 256)
                * cols] : 0;
    }
    for (int j = 1; j < cols; ++j) {
        #pragma unroll
        for (int row_i = 0; row_i < 2; ++row_i) {
            largest[row_i] = fmaxf(largest[row_i], row_block + row_thread + row_i * 256 < rows ? in[(row_block
                    + row_thread + row_i * 256) * cols + j] : 0);
        }
    }
    float sum[2];
    #pragma unroll
    for (int row_i = 0; row_i < 2; ++row_i) {
        sum[row_i] = 0.0f;
    }
    for (int j_2 = 0; j_2 < cols; ++j_2) {
        #pragma unroll
        for (int row_i = 0; row_i < 2; ++row_i) {
            sum[row_i] += expf((row_block + row_thread + row_i * 256 < rows ? in[(row_block + row_thread + row_i
                    * 256) * cols + j_2] : 0) - largest[row_i]);
        }
    }
    for (int j_3 = 0; j_3 < cols; ++j_3) {
        #pragma unroll
        for (int row_i = 0; row_i < 2; ++row_i) {
            if (row_block + row_thread + row_i * 256 < rows) {
                out[(row_block + row_thread + row_i * 256) * cols + j_3] = expf(in[(row_block + row_thread + row_i
                        * 256) * cols + j_3] - largest[row_i]) / sum[row_i];
            }
        }
    }
}
