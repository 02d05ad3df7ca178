"""Kernel Tuner on the same kernel and configurations, in a process of its own: what is measured is one tuner at a time.

Its protocol as it comes: all of the given configurations in random order, seven timed iterations each, the output of
each compared with a reference before it is timed. Its start is not counted, nor is what it runs to warm up. As a script
this writes one JSON object.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import _tunable

# our name → Kernel Tuner's "lang"; OpenCL at the examples' smaller size
BACKENDS = {"cupy": "CUPY", "nvcuda": "NVCUDA", "pycuda": "CUDA", "opencl": "OPENCL"}
SIZE, SMALL = 4096, 256
ATOL = 1e-2  # the largest difference between two orders of summing 4096 products of normal numbers is some 1e-3


def measure(configurations: list[_tunable.Configuration], backend: str, seconds: float) -> dict[str, Any]:
    """{"per_minute", "count", "failed", "seconds", …}, or {"error": why}."""
    if importlib.util.find_spec("kernel_tuner") is None:
        return {"error": "Kernel Tuner is not installed: pip install kernel_tuner"}
    with tempfile.TemporaryDirectory(prefix="evo-rival-") as folder:
        given, out = Path(folder, "in.json"), Path(folder, "out.json")
        given.write_text(json.dumps(configurations))
        done = subprocess.run([sys.executable, "-m", "benchmarks._kernel_tuner", str(given), str(out), backend,
                               str(seconds)], capture_output=True, text=True, timeout=seconds + 120.0, check=False)
        if not out.exists():
            return {"error": (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]}
        found: dict[str, Any] = json.loads(out.read_text())
        return found


def line(name: str, r: dict[str, Any]) -> str:
    if "error" in r:
        return f"Kernel Tuner, {name}: {r['error']}"
    return (f"Kernel Tuner {r['version']}, {name}: {r['count']} configurations ({r['failed']} failed) in "
            f"{r['seconds']:.1f} s, {r['per_minute']:.0f} a minute; each {r['compile']:.3f} s compile, "
            f"{r['verification']:.3f} s verification, {r['benchmark']:.3f} s timing; best {r['best_ms']:.3f} ms")


def tune(configurations: list[_tunable.Configuration], lang: str, seconds: float) -> dict[str, Any]:
    import kernel_tuner

    chosen = set(configurations)
    rng = np.random.default_rng(0)
    size, source, platform = SIZE, _tunable.SOURCE.read_text(), 0
    if lang == "OPENCL":
        import pyopencl

        size, source = SMALL, _tunable.in_opencl(source)
        platform = ["Oclgrind" in p.name for p in pyopencl.get_platforms()].index(False)  # no interpreter
    a, b = (rng.standard_normal((size, size), dtype=np.float32) for _ in range(2))
    want = a @ b
    c = np.zeros_like(want)
    n = np.int32(size)

    def given(p: dict[str, int]) -> bool:  # no lambda: its text would be parsed
        return tuple(int(p[name]) for name in _tunable.PARAMETERS) in chosen

    begin = time.monotonic()
    found, _ = kernel_tuner.tune_kernel(
        "sgemm", source, (size, size), [a, b, c, n, n, n],
        {name: list(values) for name, values in _tunable.PARAMETERS.items()},
        grid_div_x=["block_size_x", "tile_x"], grid_div_y=["block_size_y", "tile_y"],
        restrictions=given,
        answer=[None, None, want, None, None, None], atol=ATOL, lang=lang, platform=platform, iterations=7, quiet=True,
        strategy="random_sample", strategy_options={"fraction": 1.0, "time_limit": seconds})
    wall = time.monotonic() - begin
    done = [r for r in found if r]
    good = [r for r in done if "__error__" not in r]

    def mean(name: str) -> float:
        return sum(float(r.get(name, 0.0)) for r in done) / max(len(done), 1) * 1e-3

    each = sum(map(mean, ("compile_time", "verification_time", "benchmark_time", "framework_time", "strategy_time")))
    return {"version": importlib.metadata.version("kernel_tuner"), "seconds": wall, "count": len(done),
            "failed": len(done) - len(good), "per_minute": 60.0 / each if each > 0 else 0.0,
            "compile": mean("compile_time"), "verification": mean("verification_time"),
            "benchmark": mean("benchmark_time"), "framework": mean("framework_time"),
            "best_ms": min((float(r["time"]) for r in good), default=float("nan"))}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("configurations", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("backend", choices=BACKENDS)
    parser.add_argument("seconds", type=float)
    args = parser.parse_args()
    configurations = [tuple(c) for c in json.loads(args.configurations.read_text())]
    args.out.write_text(json.dumps(tune(configurations, BACKENDS[args.backend], args.seconds)))


if __name__ == "__main__":
    main()
