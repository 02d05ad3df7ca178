"""What people use instead, timed like a candidate: PyTorch (cuBLAS, cuDNN) in a child process, TF32 off.

Protocol: device events around one call, L2 flushed before each by overwriting a buffer of twice its size, warm-up by
wall time, median of the samples. Run as a script it prints one JSON object per line.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

SAMPLES = 25
WARM_UP = 0.3  # seconds


def times(kernel: str, sizes: list[Mapping[str, Any]], timeout: float = 240.0) -> list[dict[str, Any]]:
    """For each size {"size", "name", "seconds", "spread"}; empty when PyTorch or a GPU is missing. ``spread`` is
    (third quartile - first quartile) / median."""
    try:
        done = subprocess.run([sys.executable, "-m", "benchmarks._references", kernel, json.dumps(sizes)],
                              capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return []
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _calls(torch: Any, kernel: str, s: Mapping[str, int]) -> list[tuple[str, Callable[[], Any]]]:
    def random(*shape: int) -> Any:
        return torch.randn(*shape, device="cuda", dtype=torch.float32)

    if kernel.startswith("sgemm"):
        a, b = random(s["M"], s["K"]), random(s["K"], s["N"])
        out = torch.empty(s["M"], s["N"], device="cuda")
        return [("cuBLAS fp32", lambda: torch.mm(a, b, out=out))]
    if kernel == "transpose":
        x = random(s["H"], s["W"])
        out = torch.empty(s["W"], s["H"], device="cuda")
        same = torch.empty_like(x)
        return [("PyTorch copy of .t()", lambda: out.copy_(x.t())),
                ("device copy of the same bytes", lambda: same.copy_(x))]
    if kernel == "conv2d":
        x, w = random(1, 1, s["H"] + 4, s["W"] + 4), random(1, 1, 5, 5)
        return [("PyTorch conv2d", lambda: torch.nn.functional.conv2d(x, w))]
    if kernel == "softmax":
        x = random(s["rows"], s["cols"])
        return [("PyTorch softmax", lambda: torch.softmax(x, 1))]
    if kernel == "stencil7":
        x = random(s["NZ"], s["NY"], s["NX"])
        same = torch.empty_like(x)
        return [("device copy of the same bytes", lambda: same.copy_(x))]
    return []


def main() -> None:
    kernel, sizes = sys.argv[1], json.loads(sys.argv[2])
    import torch

    if not torch.cuda.is_available():
        return
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    flush = torch.empty(2 * torch.cuda.get_device_properties(0).L2_cache_size // 4, device="cuda")
    for size in sizes:
        for name, call in _calls(torch, kernel, size):
            end = time.monotonic() + WARM_UP
            while time.monotonic() < end:
                call()
                torch.cuda.synchronize()
            samples = []
            for _ in range(SAMPLES):
                flush.fill_(1.0)
                start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                start.record()
                call()
                stop.record()
                torch.cuda.synchronize()
                samples.append(start.elapsed_time(stop) * 1e-3)
            q = statistics.quantiles(samples, n=4)
            line = {"size": size, "name": name, "seconds": q[1], "spread": (q[2] - q[0]) / q[1]}
            sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
