/* C style: declarations first, macros for constants, host code with launches around it. */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <sys/time.h>
#include "timing_utils.h"
#define NI 512
#define NJ 512
#define NK 512
#define ALPHA 32412.0f
#define BETA 2123.0f
#define DIM_THREAD_BLOCK_X 32
#define DIM_THREAD_BLOCK_Y 8
typedef float DATA_TYPE;

__global__ void gemm_kernel(DATA_TYPE *a, DATA_TYPE *b, DATA_TYPE *c)
{
	int j = blockIdx.x * blockDim.x + threadIdx.x;
	int i = blockIdx.y * blockDim.y + threadIdx.y;

	if ((i < NI) && (j < NJ))
	{
		c[i * NJ + j] *= BETA;
		int k;
		for(k=0; k < NK; k++)
		{
			c[i * NJ + j] += ALPHA * a[i * NK + k] * b[k * NJ +j];
		}
	}
}

__global__ void mean_kernel(DATA_TYPE *mean, DATA_TYPE *data)
{
	int j = blockIdx.x * blockDim.x + threadIdx.x + 1;
	if ((j >= 1) && (j < (NI + 1)))
	{
		mean[j] = 0.0;
		int i;
		for(i=1; i < (NJ + 1); i++) mean[j] += data[i * (NI + 1) + j];
		mean[j] /= (DATA_TYPE)3214212.01;
	}
}

__global__ void stencil_step(int step, DATA_TYPE *A, DATA_TYPE *B, int n)
{
	int i = blockIdx.y * blockDim.y + threadIdx.y;
	int j = blockIdx.x * blockDim.x + threadIdx.x;
	if ((i >= 1) && (i < (n-1)) && (j >= 1) && (j < (n-1)))
		B[i*n + j] = 0.2f * (A[i*n + j] + A[i*n + (j-1)] + A[i*n + (1 + j)] + A[(1 + i)*n + j] + A[(i-1)*n + j]);
	if (step == 0 && i == 0 && j == 0) B[0] = A[0];
}

__global__ void row_sums(DATA_TYPE *a, DATA_TYPE *x, DATA_TYPE *y)
{
	int row, k;
	DATA_TYPE tmp;
	row = blockIdx.x * blockDim.x + threadIdx.x;
	if (row >= NI) return;
	tmp = 0;
	for (k = 0; k < NJ; ++k) { tmp += a[row * NJ + k] * x[k]; }
	y[row] = tmp;
}

void init_array(DATA_TYPE *A) { int i, j; for (i = 0; i < NI; i++) for (j = 0; j < NJ; j++) A[i*NJ + j] = ((DATA_TYPE) i*j) / NI; }

int main(int argc, char *argv[])
{
	double t_start = rtclock();
	DATA_TYPE *A_gpu, *B_gpu, *C_gpu;
	cudaMalloc((void **)&A_gpu, sizeof(DATA_TYPE) * NI * NK);
	dim3 block(DIM_THREAD_BLOCK_X, DIM_THREAD_BLOCK_Y);
	dim3 grid((size_t)(ceil( ((float)NI)/ ((float)block.x) )),(size_t)(ceil( ((float)NJ)/ ((float)block.y) )));
	gemm_kernel<<< grid, block >>>(A_gpu, B_gpu, C_gpu);
	fprintf(stdout, "%0.6lfs\n", rtclock() - t_start);
	return 0;
}
__global__ void column_norms(DATA_TYPE *a, DATA_TYPE *norms, int rows, int cols)
{
    int r, c;
    DATA_TYPE s;
    c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= cols) return;
    s = 0;
    for (r = 0; r < rows; r++) s += a[r * cols + c] * a[r * cols + c];
    norms[c] = s;
}
__global__ void shift_rows(DATA_TYPE *a, DATA_TYPE *b, int rows, int cols)
{
    unsigned int c;
    int r;
    c = 2 + blockIdx.x * blockDim.x + threadIdx.x;
    r = blockIdx.y;
    if (c < cols && r < rows) b[r * cols + c] = a[r * cols + c - 2];
}
