// Softmax over each row of a matrix of `rows` rows and `cols` columns; one thread per row.
__global__ void softmax(const float* in, float* out, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < rows) {
        float largest = in[row * cols];
        for (int j = 1; j < cols; ++j) {
            largest = fmaxf(largest, in[row * cols + j]);
        }
        float sum = 0.0f;
        for (int j = 0; j < cols; ++j) {
            sum += expf(in[row * cols + j] - largest);
        }
        for (int j = 0; j < cols; ++j) {
            out[row * cols + j] = expf(in[row * cols + j] - largest) / sum;
        }
    }
}
