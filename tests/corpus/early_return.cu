// Guards as early returns, C declarations at the top.
extern "C" __global__ void early_return(const float* A, const float* B, float* C, int M, int N, int K) {
  int row, col, k;
  float acc;
  row = threadIdx.y + blockIdx.y * blockDim.y;
  col = threadIdx.x + blockDim.x * blockIdx.x;
  if (row >= M || col >= N) return;
  acc = 0;
  for (k = 0; k < K; k++) acc += A[row * K + k] * B[k * N + col];
  C[row * N + col] = acc;
}
