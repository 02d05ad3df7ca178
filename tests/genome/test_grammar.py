"""Kernels drawn from a grammar are read and printed back: the compiler makes the same PTX of both texts."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from genome.normal import normalise
from genome.unit import list_kernels, load_unit
from tests.corpus.tools import ptx
from tests.helpers.cuda_grammar import HEAD, kernels

SETTINGS = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}


def round_trip(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "g.cu")
        path.write_text(text)
        names = [k.name for k in list_kernels(path)]
        assert len(names) == text.count("__global__")
        units = [load_unit(path, name, coordinates=False) for name in names]
        for unit in units:
            again = Path(folder, "again.cu")
            again.write_text(unit.cuda())
            assert load_unit(again, unit.kernel.name, coordinates=False).kernel == unit.kernel
            normalise(unit.kernel)
    helpers = text[:text.index("__global__")]

    def joined(texts: list[str]) -> str:
        return helpers + "".join(t[t.index('extern "C"'):] for t in texts)

    assert ptx(joined([u.cuda() for u in units])) == ptx(joined([u.cuda_original() for u in units]))


@settings(max_examples=5, phases=[Phase.generate], **SETTINGS)  # type: ignore[arg-type]
@given(kernels())
def test_generated_kernels_round_trip(text: str) -> None:
    round_trip(text)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=400, phases=[Phase.generate, Phase.shrink], **SETTINGS)  # type: ignore[arg-type]
@given(kernels())
def test_many_generated_kernels_round_trip(text: str) -> None:
    round_trip(text)


TRAPS = [
    "a[0] = - -x;", "a[0] = - - -x + - -(-y);", "b[0] = i - -n - - -m;", "b[0] = - --m;", "b[0] = i - --m;",
    "b[1] = i-- - m;",
    "((float4*)a)[i] = v[0];", "a[0] = ((float4*)a)[i & 3].x + ((const float*)v)[i];",
    "*(float4*)(a + 4 * i) = make_float4(x, y, 1, 2);", "s[i] = x; __syncthreads(); a[i] = s[i ^ 1];",
    "int t[2][2] = {{1, 2}, {3}}; b[i] = t[i & 1][1];", "float4 f{1.f, 2.f, 3.f, 4.f}; a[0] = f.w;",
    "Pair q = {1, 2.f}, w[2] = {{3, 4.f}, {5, 6.f}}; a[q.at] = w[1].by;", "int e{}, g = {7}; b[e] = g;",
    'asm volatile("{ .reg .s32 t; add.s32 t, %1, 1; mov.s32 %0, t; }" : "=r"(m) : "r"(i)); b[0] = m;',
    'asm("mov.u32 %0, %%laneid;" : "=r"(m)); b[m] = 1;', "b[0] = sizeof(Pair) + sizeof b[0] + sizeof(int[3]);",
    "a[i] = x < y ? -x : - -y; b[i] = !!m + ~-i;", "b[i] = (n, m); b[1] = (i++, i);", "b[i & 1] = i++ + ++m;",
    "m = i = n; b[0] = (m += 3) * 2;", "b[0] = i & m == n | !i; b[1] = i << m + n;", "b[0] = '\\n' + '\\'' + L'x';",
    "a[0] = 1.f / 3 * .5e1F + 0x1p-3f;", "b[0] = 1'000 + 0b101 + 0777;", "int* h = b, **q = &h; (*q)[1] = **q;",
    "a[0] = (*&x) + *(&a[1]) + (&a[2])[-1];", "b[(i & 3)[b] & 3] = 1;", "if (int h = i & 3) b[h] = h; else b[0] = 9;",
    "switch (i) { case 0: b[0] = 1; break; default: b[1] = 2; }", "goto end; end: b[0] = 1;",
    "for (;;) { if (m++ > 3) break; }",
    "auto f = [=](int q) { return q + i; }; b[0] = f(2);", "if (i) ; else b[0] = 1;", "do b[m]++; while (--m > 0);",
]


def test_traps() -> None:
    """Spellings that are easily read wrong, each in a kernel of its own."""
    round_trip(HEAD + "".join(
        f"__global__ void k{n}(float* a, int *b, const float4* __restrict__ v, Pair p, int n, float x) {{\n"
        "extern __shared__ float s[];\nint i = blockIdx.x * blockDim.x + threadIdx.x, m = n;\nfloat y = x;\n"
        f"{body}\n}}\n" for n, body in enumerate(TRAPS)))
