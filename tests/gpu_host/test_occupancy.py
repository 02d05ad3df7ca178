"""Occupancy against values worked out by hand, and against NVIDIA's own header where a C compiler is there."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gpu.compile_nvrtc import include_folders
from gpu.occupancy import capability, occupancy, resident_blocks
from gpu.records import DeviceInfo

H100 = DeviceInfo("cuda", "H100", "sm_90", 132, max_shared_optin=232448, shared_per_multiprocessor=233472)
V100 = DeviceInfo("cuda", "V100", "sm_70", 80, max_shared_optin=98304, shared_per_multiprocessor=98304)


@pytest.mark.parametrize(("threads", "registers", "shared", "blocks"), [
    (256, 32, 0, 8),  # 64 warps / 8
    (256, 33, 0, 6),  # 33*32 = 1056 → 1280 a warp: 12 warps a partition, 48 in all / 8
    (256, 128, 0, 2),  # 4096 a warp: 4 a partition, 16 / 8
    (256, 255, 0, 1),  # 8160 → 8192: 2 a partition, 8 / 8
    (32, 16, 0, 32),  # the limit of 32 blocks
    (1024, 64, 0, 1),  # 2048 a warp: 8 a partition = 32 warps
    (1024, 65, 0, 0),  # 32 warps * 2304 > 65536: no launch
    (96, 32, 0, 21),  # 3 warps a block: 64 / 3
    (128, 32, 49152, 4),  # 233472 // (49152 + 1024)
    (128, 32, 116224, 1),  # 117248 twice is more than 233472
    (128, 32, 115712, 2),  # 116736 twice is exactly 233472
    (128, 32, 232449, 0),  # over the block's limit
    (256, 0, 0, 8),  # registers unknown
])
def test_by_hand(threads: int, registers: int, shared: int, blocks: int) -> None:
    assert resident_blocks(H100, threads, registers, shared) == blocks
    assert occupancy(H100, threads, registers, shared) == blocks * -(-threads // 32) / 64


def test_older_cards_reserve_nothing_and_round_to_256() -> None:
    assert resident_blocks(V100, 64, 32, 49152) == 2
    assert resident_blocks(V100, 64, 32, 49153) == 1
    assert capability("sm_120") == 12 and capability("sm_90a") == 9 and capability("") == 0


HARNESS = r"""
#include <stdio.h>
#include <limits.h>
#include "cuda_occupancy.h"
int main(void) {
  cudaOccDeviceProp p = {0};
  p.computeMajor = 9; p.computeMinor = 0; p.maxThreadsPerBlock = 1024; p.maxThreadsPerMultiprocessor = 2048;
  p.regsPerBlock = 65536; p.regsPerMultiprocessor = 65536; p.warpSize = 32; p.sharedMemPerBlock = 49152;
  p.sharedMemPerMultiprocessor = 233472; p.numSms = 132; p.sharedMemPerBlockOptin = 232448;
  p.reservedSharedMemPerBlock = 1024;
  for (int t = 32; t <= 1024; t += 96) for (int r = 16; r <= 255; r += 17) for (int s = 0; s <= 200000; s += 23456) {
    cudaOccFuncAttributes a = {0};
    a.maxThreadsPerBlock = 1024; a.numRegs = r; a.sharedSizeBytes = 0; a.maxDynamicSharedSizeBytes = 232448;
    a.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    cudaOccDeviceState d = {0};
    d.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    cudaOccResult result;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &p, &a, &d, t, s)) return 1;
    printf("%d %d %d %d\n", t, r, s, result.activeBlocksPerMultiprocessor);
  }
  return 0;
}
"""


def test_against_nvidias_header(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    folder = next((f for f in include_folders() if Path(f, "cuda_occupancy.h").is_file()), None)
    if compiler is None or folder is None:
        pytest.skip("needs a C compiler and cuda_occupancy.h")
    (tmp_path / "o.c").write_text(HARNESS)
    subprocess.run([compiler, "-I", folder, "-o", tmp_path / "o", tmp_path / "o.c"], check=True, capture_output=True)
    lines = subprocess.run([tmp_path / "o"], check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(lines) > 1000
    for line in lines:
        threads, registers, shared, blocks = map(int, line.split())
        assert resident_blocks(H100, threads, registers, shared) == blocks, line
    assert resident_blocks(replace(H100, max_blocks_per_multiprocessor=1), 32, 16, 0) == 1
