"""Small hand-made records and runs for the tests."""

from __future__ import annotations

import json
from pathlib import Path

from genome.gene import Gene
from gpu.interface import Confirmation
from gpu.records import Evaluation, Resources, Timing, Verdict
from results.records import Candidate
from results.store import Store

SOURCE = """extern "C" __global__ void scale(const float* A, float* B, int n, float alpha) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) B[i] = alpha * A[i];
}
"""
LAUNCHES = json.dumps([{"kernel": "scale", "grid": ["ceil_div(N, block_x)", "1", "1"], "block": [128, 1, 1],
                        "shared_bytes": 0}])
PROBLEM = {
    "kernel": {"name": "scale", "flags": ["-use_fast_math"]},
    "parameters": [{"type": "const float*", "name": "A", "shape": "N"}, {"type": "float*", "name": "B", "shape": "N"},
                   {"type": "int", "name": "n", "value": "N"}, {"type": "float", "name": "alpha"}],
    "objectives": ["latency", "registers"],
}
BLOCK = Gene.make("AdjustBlockSize", "x", threads=128)
UNROLL = Gene.make("UnrollLoop", "k", mode="full", factor=4)


def timing(median: float, size: str = "4096") -> Timing:
    return Timing(size, (median, median * 1.01, median * 0.99), median, median * 0.98, median * 1.02)


def evaluation(key: str, median: float, registers: int = 32, verdict: Verdict = Verdict.OK,
               reason: str = "") -> Evaluation:
    timings = (timing(median),) if verdict is Verdict.OK else ()
    return Evaluation(key, verdict, reason, Resources(registers, occupancy=0.5), timings, device_seconds=0.1)


def candidate(key: str, *genome: Gene, agent: str = "block-first") -> Candidate:
    return Candidate(key, agent, 0, (), genome, launches=LAUNCHES, source=SOURCE, seconds=1.0)


def confirmation(key: str, base: float, time: float, accepted: bool = True) -> Confirmation:
    speedups = (("4096", base / time, base / time * 0.97, base / time * 1.03), ("777", 0.8, 0.75, 0.85))
    final = Evaluation(key, Verdict.OK, timings=(timing(time),), check_timings=(timing(0.0005, "777"),))
    return Confirmation(final, accepted, (timing(base), timing(0.0004, "777")),
                        (timing(time), timing(0.0005, "777")), speedups, "" if accepted else "within noise")


def finished_run(folder: Path) -> Store:
    """Baseline 4 ms; c1 2 ms with more registers, confirmed; c2 wrong; c3 slower with fewer registers."""
    store = Store.create(folder, PROBLEM, {"seed": 1, "device": {"backend": "cuda", "name": "test device",
                                                                "bandwidth": 4e12, "flops": 6e13}})
    store.add_candidate(candidate("baseline", agent=""))
    store.set_evaluation(evaluation("baseline", 4e-3))
    store.add_candidate(candidate("c1", BLOCK, UNROLL))
    store.set_evaluation(evaluation("c1", 2e-3, 64))
    store.add_candidate(candidate("c2", UNROLL, agent="<tiles & co>"))
    store.set_evaluation(evaluation("c2", 0, verdict=Verdict.WRONG, reason="B[3] is 1, expected 2 </script><script>"))
    store.add_candidate(candidate("c3", BLOCK))
    store.set_evaluation(evaluation("c3", 5e-3, 16))
    for _ in range(3):
        store.add_refusal("block-first", "TileLoops(k: size=8)", "tile-carries-dependence", "the loop carries a sum", 7)
    store.add_confirmation("c1", confirmation("c1", 4e-3, 2e-3))
    store.event("champion", {"key": "c1"})
    store.set_status("finished")
    return store
