__global__ void vector_types(const float* a, const float4* b, float4* c, float2* d, int n4) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        float4 u = reinterpret_cast<const float4*>(a)[i];
        const float4 v = b[i];
        float4 w;
        w.x = u.x + v.x;
        w.y = fmaf(u.y, v.y, 1.0f);
        w.z = u.z > v.z ? u.z : v.z;
        w.w = fmaxf(u.w, 0);
        c[i] = w;
        d[i] = make_float2(w.x + w.y, w.z * w.w);
        ((float4*)c)[i].x += (float)i;
    }
}
