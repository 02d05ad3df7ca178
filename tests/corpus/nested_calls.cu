#include <math.h>
__global__ void nested_calls(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    y[i] = fmaxf(fminf(powf(fabsf(v), 1.5f), 10.0f), -10.0f) + tanhf(v) * erff(v) + floorf(v) + ceilf(v)
         + logf(fabsf(v) + 1.0f) + sinf(v) * cosf(v) + max(v, 0.0f) + min(i, 3) + abs(v) + copysignf(1.0f, v)
         + fmodf(v, 3.0f) + (float)abs(i - 5) + roundf(v) + exp2f(v * 0.1f) + rintf(v);
}
