"""Occupancy from registers, shared memory and block size.

The rules are those of NVIDIA's ``cuda_occupancy.h`` (CUDA toolkit): registers are allocated per warp in units of 256,
in each of the multiprocessor's four sub-partitions; shared memory in units of 128 bytes (256 before compute
capability 8), plus the kilobyte per block that the driver reserves from compute capability 8 on (CUDA C++ Programming
Guide, table of technical specifications).
"""

from __future__ import annotations

from gpu.records import DeviceInfo

REGISTER_UNIT = 256
PARTITIONS = 4


def capability(arch: str) -> int:
    """Major compute capability of "sm_90"; 0 when unknown."""
    digits = "".join(c for c in arch.removeprefix("sm_") if c.isdigit())
    return int(digits) // 10 if digits else 0


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def resident_blocks(device: DeviceInfo, threads: int, registers: int, shared_bytes: int) -> int:
    """Blocks of one kernel that fit on one multiprocessor at a time; 0 when not even one does. ``shared_bytes`` is
    static plus dynamic."""
    major = capability(device.arch)
    warps = -(-threads // device.warp)
    limits = [device.max_blocks_per_multiprocessor, device.max_threads_per_multiprocessor // device.warp // warps]
    if registers > 0:
        per_warp = _round_up(registers * device.warp, REGISTER_UNIT)
        if per_warp * _round_up(warps, PARTITIONS) > device.registers_per_block or registers > 255:
            return 0
        limits.append(device.registers_per_multiprocessor // PARTITIONS // per_warp * PARTITIONS // warps)
    if shared_bytes > device.max_shared_optin:
        return 0
    reserved, unit = (1024, 128) if major >= 8 else (0, 256)
    allocated = _round_up(shared_bytes + reserved, unit)
    if allocated:
        limits.append(device.shared_per_multiprocessor // allocated)
    return min(limits)


def occupancy(device: DeviceInfo, threads: int, registers: int, shared_bytes: int) -> float:
    """Resident warps over the multiprocessor's maximum, 0 to 1."""
    blocks = resident_blocks(device, threads, registers, shared_bytes)
    warps = -(-threads // device.warp)
    return blocks * warps / (device.max_threads_per_multiprocessor // device.warp)
