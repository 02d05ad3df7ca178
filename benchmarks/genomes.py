"""Random legal genomes against the baseline: are the transforms ever wrong?

    python -m benchmarks.genomes --count N [--backend opencl|cuda] [--seed S] [--slice i/n] [--problem PATH ...]
                                 [--corpus FOLDER] [--oclgrind K] [--jobs J] [--json FILE]

Each genome is drawn from its own seed (S and its number), so that slices of one campaign merge. Baseline and
candidate run at small awkward sizes (one, primes, tails along every axis, several blocks) on signed data, small
integers, and data with infinities and NaN strewn in; equal values are asked for (contraction off) unless a gene
reorders sums. Outputs are poisoned with two patterns, buffers are framed by guard zones, inputs are compared
afterwards. ``--oclgrind K`` also runs K of the genomes through Oclgrind (races, bounds, uninitialised reads). Exit code
1 when anything was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks import _data, _device
from benchmarks._draw import draw
from benchmarks._judge import Reference, mismatch, reorders
from benchmarks._sizes import applicable, sizes
from evo.problem import load_problem
from genome.errors import Refusal
from genome.express import emit
from genome.gene import to_json
from genome.program import Launch
from genome.scheduled import Limits, Scheduled, schedule_kernel
from genome.workload import Size
from mutators.catalogue import CATALOGUE

ROOT = Path(__file__).resolve().parent.parent
OPT_IN = 98304  # bytes of shared memory a block on every GPU with cp.async, past what needs no opting in
CHUNK = 20
SECONDS = 240.0  # for a chunk of genomes in one process; alone, a genome gets a quarter


@cache
def base_of(path: str, backend: str) -> Scheduled:
    problem = load_problem(path, backend)
    limits = Limits(shared_bytes=OPT_IN) if backend == "cuda" else Limits()
    return schedule_kernel(problem.unit, problem.workload, problem.launch, limits)


def translatable(path: str) -> bool:
    """Whether OpenCL C can say what the kernel says; said where it cannot."""
    try:
        base_of(path, "opencl").unit.opencl()
    except Refusal as r:
        print(f"left out: {Path(path).name}: {r}")
        return False
    return True


def drawn(path: str, backend: str, seed: int, number: int) -> tuple[Scheduled, Any]:
    base = base_of(path, backend)
    return base, draw(base, Random(f"{seed}:{number}:{Path(path).name}"))


def plan(base: Scheduled, state: Scheduled) -> list[tuple[Size, str]]:
    """Sizes and kinds of data: all kinds at the first size, one or two at the others."""
    out: list[tuple[Size, str]] = []
    for i, size in enumerate(sizes(base, state)):
        if applicable(state, size):
            out += [(size, kind) for kind in (_data.KINDS if i == 0 else _data.KINDS[: 1 + i % 2])]
    return out


class Judge:
    """Runs and compares on one device; references are kept."""

    def __init__(self, device: Any, base: Scheduled, program: Any, seed: int) -> None:
        self.device, self.base, self.program, self.seed = device, base, program, seed
        self.known: dict[tuple[Size, str], tuple[dict[str, Any], Reference]] = {}
        self.ran = 0

    def run(self, program: Any, launches: Sequence[Launch], size: Size, arrays: dict[str, Any]) -> dict[str, Any]:
        w = self.base.workload
        values = w.scalars(size)
        arrays = {**arrays, **_device.workspaces(launches, values, _device.POISON[0])}
        for launch in launches:
            s = _device.step(w, launch, values, arrays, _data.scalars(w, size))
            arrays = {**arrays, **self.device.run(program, s)}
        return arrays

    def reference(self, size: Size, kind: str) -> tuple[dict[str, Any], Reference]:
        if (size, kind) not in self.known:
            w = self.base.workload
            arrays = _data.arrays(w, size, kind, self.seed)
            found = [self.run(self.program, (self.base.launch,), size, _device.poisoned(w, arrays, byte))
                     for byte in _device.POISON]
            left = {a.name: _untouched(found[0][a.name], _device.POISON[0]) & _untouched(
                found[1][a.name], _device.POISON[1]) for a in w.arguments if a.is_array and a.role == "out"}
            self.known[(size, kind)] = arrays, Reference(found[0], left)
        return self.known[(size, kind)]

    def compare(self, runs: list[tuple[Size, str]], loose: bool, program: Any, launches: Sequence[Launch]) -> str:
        """What was wrong first, with size and data, or ""."""
        w = self.base.workload
        for size, kind in runs:
            arrays, want = self.reference(size, kind)
            try:
                got = self.run(program, launches, size, _device.poisoned(w, arrays, _device.POISON[0]))
            except _device.Damaged as e:
                return f"{e} at {size}, {kind} data"
            self.ran += 1
            reason = mismatch(self.base, got, want.arrays, kind, loose, want.left)
            for name, left in want.left.items():
                if not reason and not _untouched(got[name], _device.POISON[0])[left].all():
                    reason = f"{name} is written where the baseline leaves it alone"
            if reason:
                return f"{reason} at {size}, {kind} data"
        return ""


def _untouched(a: Any, byte: int) -> Any:
    return np.all(a.view(np.uint8).reshape(a.size, -1) == byte, axis=1)


def record(path: str, number: int, d: Any, wrong: str, ran: int) -> dict[str, Any]:
    return {"problem": Path(path).name, "number": number, "genome": to_json(d.genome), "sketch": d.sketch,
            "refusals": dict(d.refusals), "wrong": wrong, "runs": ran}


# ----------------------------------------------------------------------------------------------------- OpenCL
def opencl_chunk(path: str, seed: int, numbers: list[int]) -> None:
    """In a process of its own: one JSON line per genome."""
    device = _device.OpenCl()
    base = base_of(path, "opencl")
    judge = Judge(device, base, device.build(base.unit.opencl(contract=False)), seed)
    for n in numbers:
        _, d = drawn(path, "opencl", seed, n)
        before = judge.ran
        p = emit(d.state, "opencl")
        source = "#pragma OPENCL FP_CONTRACT OFF\n" + p.source
        wrong = judge.compare(plan(base, d.state), reorders(d.genome), device.build(source), p.launches)
        sys.stdout.write(json.dumps(record(path, n, d, wrong, judge.ran - before)) + "\n")
        sys.stdout.flush()


def in_process(path: str, seed: int, numbers: list[int]) -> list[dict[str, Any]]:
    """A chunk in a child; what kills the child is found by running the rest one by one."""
    limit = SECONDS if len(numbers) > 1 else SECONDS / 4
    command = [sys.executable, "-m", "benchmarks.genomes", "--chunk", path, str(seed), ",".join(map(str, numbers))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False, cwd=ROOT)
        text, trouble = done.stdout, "" if done.returncode == 0 else (
            done.stderr.strip().splitlines() or [f"died with {done.returncode}"])[-1]
    except subprocess.TimeoutExpired as e:
        text = e.stdout.decode() if isinstance(e.stdout, bytes) else e.stdout or ""
        trouble = f"still running after {limit:.0f} s"
    found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    rest = [n for n in numbers if n not in {r["number"] for r in found}]
    if not rest or not trouble:
        return found
    if len(numbers) == 1:
        _, d = drawn(path, "opencl", seed, numbers[0])
        return [record(path, numbers[0], d, trouble, 0)]
    return found + [r for n in rest for r in in_process(path, seed, [n])]


def on_opencl(paths: list[str], seed: int, numbers: list[int], jobs: int) -> list[dict[str, Any]]:
    tasks = []
    for k, path in enumerate(paths):
        own = [n for n in numbers if n % len(paths) == k]
        tasks += [(path, own[i:i + CHUNK]) for i in range(0, len(own), CHUNK)]
    with ThreadPoolExecutor(jobs) as pool:
        return [r for found in pool.map(lambda t: in_process(t[0], seed, t[1]), tasks) for r in found]


# ------------------------------------------------------------------------------------------------------- CUDA
@dataclass(frozen=True)
class Prepared:
    """A genome drawn, emitted and compiled in a worker; ``binary`` is the compiler's message where it failed."""

    path: str
    record: dict[str, Any]
    runs: list[tuple[Size, str]]
    loose: bool
    launches: tuple[Launch, ...]
    binary: bytes | str


def prepare(task: tuple[str, int, int, str]) -> Prepared:
    path, seed, number, arch = task
    base, d = drawn(path, "cuda", seed, number)
    p = emit(d.state, "cuda")
    try:
        binary: bytes | str = _device.nvrtc(p.source, arch)
    except ValueError as e:
        binary = str(e)
    kept = record(path, number, d, "", 0)
    return Prepared(path, kept, plan(base, d.state), reorders(d.genome), p.launches, binary)


def on_cuda(paths: list[str], seed: int, numbers: list[int], jobs: int) -> list[dict[str, Any]]:
    device = _device.Cuda()
    judges: dict[str, Judge] = {}
    for path in paths:
        base = base_of(path, "cuda")
        text = base.unit.cuda_original()
        judges[path] = Judge(device, base, device.build(_device.nvrtc(text, device.arch)), seed)
    out: list[dict[str, Any]] = []
    tasks = [(paths[n % len(paths)], seed, n, device.arch) for n in numbers]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for p in pool.map(prepare, tasks, chunksize=2):
            judge, before = judges[p.path], judges[p.path].ran
            lost = False
            if isinstance(p.binary, str):
                wrong = p.binary
            else:
                try:
                    wrong = judge.compare(p.runs, p.loose, device.build(p.binary), p.launches)
                except device.drv.Error as e:  # the context is gone, and all that would run after it
                    wrong, lost = f"device error: {e}", True
            out.append({**p.record, "wrong": wrong, "runs": judge.ran - before})
            if lost:
                pool.shutdown(cancel_futures=True)
                break
    return out


# --------------------------------------------------------------------------------------------------- Oclgrind
def through_oclgrind(paths: list[str], seed: int, numbers: Iterable[int], jobs: int) -> list[str]:
    """Findings, each with its genome."""
    from gpu import oclgrind

    def one(n: int) -> list[str]:
        path = paths[n % len(paths)]
        base, d = drawn(path, "opencl", seed, n)
        if not d.genome:
            return []
        small = [s for s in sizes(base, d.state) if applicable(d.state, s)]
        size = min(small, key=lambda s: sum(base.workload.elements(a.name, s) for a in base.workload.arguments
                                            if a.is_array) if len(small) == 1 else _tiny(base, s), default=None)
        if size is None:
            return []
        found = oclgrind.check(emit(d.state, "opencl"), base.workload, size)
        return [f"{Path(path).name} {to_json(d.genome)} at {size}: {f}" for f in found]

    with ThreadPoolExecutor(jobs) as pool:
        return [f for found in pool.map(one, numbers) for f in found]


def _tiny(base: Scheduled, size: Size) -> float:
    """Prefers the smallest size of more than one element."""
    n = sum(base.workload.elements(a.name, size) for a in base.workload.arguments if a.is_array)
    return float(n) if n > 200 else 1e9 - n


# ----------------------------------------------------------------------------------------------------- report
def report(records: list[dict[str, Any]], findings: list[str], watched: int) -> list[str]:
    genomes = [json.loads(r["genome"]) for r in records]
    lengths = Counter(len(g) for g in genomes)
    mutators: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for g in genomes:
        names = sorted({m for m, _, _ in g})
        mutators.update(names)
        pairs.update(combinations(names, 2))
    refused: Counter[str] = Counter()
    for r in records:
        refused.update(r["refusals"])
    wrong = [r for r in records if r["wrong"]]
    long = sum(n for k, n in lengths.items() if k >= 6)
    lines = ["length: " + ", ".join(f"{k}: {lengths[k]}" for k in sorted(lengths)),
             f"six or more effective genes: {long} of {len(records)} ({100 * long / max(len(records), 1):.0f} %); "
             f"sketches: {sum(bool(r['sketch']) for r in records)}",
             "refused: " + ", ".join(f"{k} {n}" for k, n in refused.most_common(12)), "genomes per mutator, and pairs:"]
    names = sorted(CATALOGUE)
    for i, a in enumerate(names):
        row = " ".join(f"{pairs[(a, b)]:5d}" if b > a else "     ." for b in names)
        lines.append(f"  {i:2d} {a:<22} {mutators[a]:5d} | {row}")
    lines += [f"WRONG {r['problem']} #{r['number']} {r['genome']}: {r['wrong'][:600]}" for r in wrong]
    lines += [f"OCLGRIND {f[:600]}" for f in findings]
    lines.append(f"{len(records)} genomes, {sum(r['runs'] for r in records)} runs compared, {len(wrong)} wrong; "
                 f"{watched} through Oclgrind, {len(findings)} findings")
    return lines


def main() -> int:
    if sys.argv[1:2] == ["--chunk"]:
        opencl_chunk(sys.argv[2], int(sys.argv[3]), [int(n) for n in sys.argv[4].split(",")])
        return 0
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--backend", choices=("opencl", "cuda"), default="opencl")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slice", default="0/1", help="i/n: every n-th genome from the i-th on")
    parser.add_argument("--problem", nargs="+", default=[str(p.parent) for p in sorted(
        (ROOT / "examples").glob("*/evo.toml"))])
    parser.add_argument("--corpus", type=Path, metavar="FOLDER", help="all problem files in a folder instead")
    parser.add_argument("--oclgrind", type=int, default=0, metavar="K")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - (os.cpu_count() or 2) // 8))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    i, n = (int(part) for part in args.slice.split("/"))
    numbers = list(range(i, args.count, n))
    paths = [str(Path(p).resolve()) for p in args.problem]
    if args.corpus is not None:
        paths = [str(p) for p in sorted(args.corpus.resolve().glob("*.toml"))]
    if args.backend == "opencl":
        paths = [p for p in paths if translatable(p)]
    run = on_cuda if args.backend == "cuda" else on_opencl
    records = run(paths, args.seed, numbers, args.jobs)
    watched = numbers[:: max(1, len(numbers) // args.oclgrind)][: args.oclgrind] if args.oclgrind else []
    findings = through_oclgrind(paths, args.seed, watched, args.jobs)
    for line in report(records, findings, len(watched)):
        print(line)
    if args.json is not None:
        args.json.write_text(json.dumps({"records": records, "oclgrind": findings}))
    return 1 if findings or any(r["wrong"] for r in records) else 0


if __name__ == "__main__":
    sys.exit(main())
