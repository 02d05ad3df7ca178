"""Which scalars are equal for all threads of a block, and barriers that not all of them reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from genome.normal import alpha_rename
from genome.uniform import barriers_not_uniform, uniformity
from genome.unit import load_unit


def varying(tmp_path: Path, body: str) -> set[str]:
    path = tmp_path / "k.cu"
    path.write_text(f"__global__ void k(float* a, const float* b, int n) {{ {body} }}")
    return set(uniformity(alpha_rename(load_unit(path).kernel)).varying)


@pytest.mark.parametrize(("body", "names"), [
    ("int u = n * 2, v = threadIdx.x; a[u + v] = 0;", {"v"}),
    ("int u = blockIdx.x * blockDim.x; a[u] = 0;", set()),
    ("int i = blockIdx.x * blockDim.x + threadIdx.x; a[i] = 0;", {"i"}),
    ("int u = 0; for (int k = 0; k < n; ++k) u += k; a[u] = 0;", set()),
    ("int u = 0; for (int k = 0; k < (int)threadIdx.x; ++k) u += 1; a[u] = 0;", {"u", "k"}),
    ("int u = 0; if (threadIdx.x > 3) u = 1; a[u] = 0;", {"u"}),  # by control alone
    ("int u = 0; if (n > 3) u = 1; a[u] = 0;", set()),
    ("int u = 0; u = threadIdx.x; int w = u; a[w] = 0;", {"u", "w"}),
    ("int w = 0, u = 0; for (int k = 0; k < n; ++k) { w = u; u = threadIdx.x; } a[w] = 0;", {"u", "w"}),  # next round
    ("int u = (int)b[n]; a[u] = 0;", set()),  # only read, one place
    ("int u = (int)b[threadIdx.x]; a[u] = 0;", {"u"}),
    ("int u = (int)a[n]; a[0] = u;", {"u"}),  # written by other threads, perhaps
    ("int u = 0; while (u < n) { if (b[threadIdx.x] > u) break; u++; } a[u] = 0;", {"u"}),  # some leave earlier
    ("int u = 0; while (u < n) { if (b[0] > u) break; u++; } a[u] = 0;", set()),
    ("int u = min(n, 3), w = __shfl_sync(~0u, n, 0); a[u + w] = 0;", {"w"}),
    ("int u = n; int* p = &u; *p = threadIdx.x; a[u] = 0;", {"u", "p"}),
    ("int u = n++ + 1; n += threadIdx.x; a[u] = 0;", {"n", "u"}),
])
def test_varying_names(tmp_path: Path, body: str, names: set[str]) -> None:
    assert varying(tmp_path, body) == names


@pytest.mark.parametrize(("body", "count"), [
    ("if (n > 1) { __syncthreads(); } a[0] = 1;", 0), ("if (threadIdx.x > 1) { __syncthreads(); } a[0] = 1;", 1),
    ("for (int k = 0; k < n; ++k) __syncthreads();", 0), ("for (int k = threadIdx.x; k < n; ++k) __syncthreads();", 1),
    ("while (a[threadIdx.x] > 0) { __syncthreads(); a[threadIdx.x] -= 1; }", 1), ("__syncthreads();", 0),
])
def test_barriers_that_not_all_reach(tmp_path: Path, body: str, count: int) -> None:
    path = tmp_path / "k.cu"
    path.write_text(f"__global__ void k(float* a, int n) {{ {body} }}")
    kernel = load_unit(path).kernel
    assert len(barriers_not_uniform(kernel, uniformity(kernel))) == count
