struct Particle { float x, y, z; float mass; };
typedef struct { int width; int height; } Shape;
typedef float real;

__global__ void structs(const Particle* in, Particle* out, const Shape shape, real dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= shape.width * shape.height) return;
    Particle p = in[i];
    Particle q;
    q.mass = p.mass;
    q.x = p.x + dt * in[i].y;
    q.y = p.y - (real)2 * dt;
    q.z = (&in[i])->z * real(0.5f);
    out[i] = q;
    out[i].mass += -dt;
}
