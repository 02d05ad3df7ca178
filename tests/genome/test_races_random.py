"""Races of random kernels against an interpreter that runs all threads and remembers who touched what since the last
barrier: what is proved never races, and a race that is claimed happens."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest

from benchmarks._interpret import Fault, Machine
from genome.normal import normalise
from genome.races import find_races
from genome.unit import load_unit

THREADS = 8
HEAD = """__global__ void k(int* out, int n) {
    __shared__ int s[96], q[96];
    int t = threadIdx.x, p = 0, v = t;
    for (int z = t; z < 96; z += 8) { s[z] = z; q[z] = 1; }
    __syncthreads();
"""
TAIL = "    out[blockIdx.x * 8 + t] = v;\n}\n"


def subscript(rng: Random, names: tuple[str, ...]) -> str:
    """Between 0 and 95."""
    e = rng.choice(("t", "t", "t", "2 * t", "3 * t", "7 - t", "t / 2", "t % 4", "0", "(t + 1) % 8", "t & 3", "t ^ 1"))
    if names and rng.random() < 0.6:
        e += " + " + rng.choice(("", "2 * ", "8 * ")) + rng.choice(names)
    if rng.random() < 0.3:
        e += " + 32 * p"
    return e + rng.choice(("", "", f" + {rng.randrange(9)}"))


def store(rng: Random, names: tuple[str, ...]) -> str:
    a, b = rng.choice("sq"), rng.choice("sq")
    if rng.random() < 0.4:
        return f"v += {b}[{subscript(rng, names)}];\n"
    return f"{a}[{subscript(rng, names)}] = t + {b}[{subscript(rng, names)}];\n"


def statements(rng: Random, depth: int, names: tuple[str, ...], barriers: bool) -> str:
    out = ""
    for _ in range(rng.randrange(1, 4)):
        kind = rng.randrange(10)
        if kind < 4 or depth == 0:
            out += store(rng, names)
        elif kind < 6:
            out += "__syncthreads();\n" if barriers else store(rng, names)
        elif kind == 6:
            guard = rng.choice(("t < 4", "t >= 2 && t < 7", "t == 3", "t % 2 == 0", "n > 1", "t > 7 || t < 1"))
            inside = statements(rng, depth - 1, names, barriers and guard == "n > 1")
            out += f"if ({guard}) {{\n{inside}}}\n"
        elif kind == 7:
            out += "p = 1 - p;\n" if barriers else store(rng, names)
        else:
            k = "kmw"[depth]
            head = rng.choice((f"int {k} = 0; {k} < 3; ++{k}", f"int {k} = 0; {k} < 4; {k} += 2",
                               f"int {k} = 4; {k} > 0; {k} >>= 1", f"int {k} = 1; {k} < 8; {k} *= 2",
                               f"int {k} = 2; {k} >= 0; --{k}", f"int {k} = 0; {k} < n; ++{k}"))
            out += f"for ({head}) {{\n{statements(rng, depth - 1, (*names, k), barriers)}}}\n"
    return out


def kernel(seed: int) -> str:
    rng = Random(seed)
    return HEAD + statements(rng, 2, (), True) + TAIL


def raced(path: Path) -> bool:
    """Whether two threads of the block meet when the kernel runs with n = 2."""
    unit = load_unit(path)
    machine = Machine(unit.kernel, (1, 1, 1), (THREADS, 1, 1), {"out": np.zeros(THREADS, np.int32)},
                      {"n": np.int32(2)}, frozenset(), False)
    try:
        machine.run()
    except Fault as e:
        assert e.kind == "race", e
        return True
    return False


def check(seeds: range, path: Path) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        path.write_text(kernel(seed))
        result = find_races(normalise(load_unit(path).kernel), (THREADS, 1, 1), [{"n": 2}])
        truth = raced(path)
        if {"s", "q"} <= set(result.proved):
            assert not truth, f"seed {seed}: proved, and it races\n{path.read_text()}"
            seen["proved"] += 1
        elif result.races:
            assert truth, f"seed {seed}: accused, and it does not race\n{result.races[0]}\n{path.read_text()}"
            seen["race"] += 1
        else:
            seen["not proved, races" if truth else "not proved, free"] += 1
    return seen


def test_random_kernels(tmp_path: Path) -> None:
    seen = check(range(60), tmp_path / "k.cu")
    assert min(seen["proved"], seen["race"]) > 5, seen


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_random_kernels(tmp_path: Path) -> None:
    seen = check(range(1000, 4000), tmp_path / "k.cu")
    assert min(seen["proved"], seen["race"]) > 300, seen
