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
