__global__ void three_d(const double* in, double* out, int nx, int ny, int nz) {
    int x = blockDim.x * blockIdx.x + threadIdx.x;
    int y = threadIdx.y + blockDim.y * blockIdx.y;
    int z = (blockIdx.z * blockDim.z) + threadIdx.z;
    if (x < nx && y < ny && z < nz) {
        long long i = ((long long)z * ny + y) * nx + x;
        double c = in[i];
        double s = -6.0 * c;
        s += x > 0 ? in[i - 1] : c;
        s += x < nx - 1 ? in[i + 1] : c;
        s += y > 0 ? in[i - nx] : c;
        s += y + 1 < ny ? in[i + nx] : c;
        s += z > 0 ? in[i - (long long)nx * ny] : c;
        s += z + 1 < nz ? in[i + (long long)nx * ny] : c;
        out[i] = c + 0.1 * s;
    }
}
