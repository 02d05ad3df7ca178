// Cooperative groups: declarations that a C grammar takes for comparisons.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void group_sum(const float* in, float* out, int n) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    float s = 0.0f;
    for (int i = block.group_index().x * block.size() + block.thread_rank(); i < n; i += gridDim.x * block.size()) s += in[i];
    for (int o = warp.size() / 2; o > 0; o /= 2) s += warp.shfl_down(s, o);
    if (warp.thread_rank() == 0) atomicAdd(out, s);
    block.sync();
}
__global__ void grid_phases(float* a, const float* b, int n) {
    cg::grid_group grid = cg::this_grid();
    auto block = cg::this_thread_block();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) a[i] = b[i];
    cg::sync(grid);
    cg::thread_block_tile<16> half = cg::tiled_partition<16>(block);
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (half.any(i < n)) a[i % n] += half.shfl(b[i % n], 0);
}
__global__ void tile_rows(const float* in, float* out, int rows, int cols) {
    namespace g = cooperative_groups;
    g::thread_block_tile<8> tile = g::tiled_partition<8>(g::this_thread_block());
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
    float s = 0.0f;
    if (row < rows)
        for (int c = tile.thread_rank(); c < cols; c += tile.size()) s += in[row * cols + c];
    for (int o = 4; o > 0; o >>= 1) s += tile.shfl_xor(s, o);
    if (row < rows && tile.thread_rank() == 0) out[row] = s;
}
__global__ void aggregated(const int* keys, int* kept, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && keys[i] > 0) {
        cg::coalesced_group active = cg::coalesced_threads();
        int base = 0;
        if (active.thread_rank() == 0) base = atomicAdd(count, (int)active.size());
        kept[active.shfl(base, 0) + active.thread_rank()] = keys[i];
    }
}
__global__ void block_rank(int* a, int n) {
    cg::thread_block b = cg::this_thread_block();
    __shared__ int s[128];
    s[b.thread_rank()] = b.group_index().x * 128 + b.thread_rank();
    cg::sync(b);
    if (s[b.thread_rank()] < n) a[s[b.thread_rank()]] = s[b.size() - 1 - b.thread_rank()];
}
