// Handles, objects and their methods; what only the compiler acts on.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
template <int N>
struct Window {
    float v[N];
    int count;
    __device__ explicit Window(float x) : count(0) { for (int j = 0; j < N; ++j) v[j] = x; }
    __device__ void push(float x) { v[count++ % N] = x; }
    __device__ float total() const { float s = 0.0f; for (int j = 0; j < N; ++j) s += v[j]; return s; }
};
struct Pair { float a, b; __device__ float mixed(float t) const { return a + t * (b - a); } };
__global__ void group_methods(const float* in, float* out, int n) {
    auto block = cg::this_thread_block();
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
    [[maybe_unused]] const unsigned int rank = block.thread_rank();
    for (unsigned int i = block.group_index().x * block.num_threads() + rank; i < n; i += gridDim.x * block.num_threads()) {
        float s = in[i];
        for (unsigned int o = tile.size() / 2; o > 0; o >>= 1) s += tile.shfl_down(s, o);
        if (tile.thread_rank() == 0) out[i / tile.num_threads()] = s;
    }
    block.sync();
    tile.sync();
    if (cg::this_thread_block().thread_rank() == 0) out[0] += tile.meta_group_rank() + tile.any(in[0] > 0.0f);
}
__global__ void object_methods(const float* in, float* out, const Pair* pairs, int n) {
    static_assert(sizeof(float) == 4, "floats of four bytes");
    using real = float;
    typedef int index_t;
    constexpr int width = 4;
    Window<width> window(0.5f);
    Window<2> other(in[0]);
    index_t i = blockIdx.x * blockDim.x + threadIdx.x;
    int steps(3);
    if (i < n) {
        for (int j = 0; j < steps; ++j) window.push(in[(i + j) % n]);
        const Pair* p = pairs + i;
        real t = p->mixed(0.25f) + pairs[i].mixed(0.75f);
        out[i] = window.total() + other.total() + t;
    }
}
