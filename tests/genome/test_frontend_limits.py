"""Files at the edge of what is text: deep nesting, other encodings."""

from __future__ import annotations

from pathlib import Path

import pytest

from genome.errors import InputError
from genome.expressions import ExpressionError, evaluate
from genome.unit import list_kernels, load_unit
from tests.helpers.kernels import applied, block, scheduled

HEAD = """\
__global__ void k(const float* a, float* b, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
"""
DEEP = {
    "parentheses": lambda n: "b[i] = " + "(" * n + "a[i]" + ")" * n + ";",
    "sum": lambda n: "b[i] = a[i]" + " + a[i]" * n + ";",
    "subscript": lambda n: "b[i + 1" + " - 1" * n + "] = a[i];",
    "signs": lambda n: "b[i] = " + "- " * n + "a[i];",
    "branches": lambda n: "if (i > 1) {" * n + "b[i] = a[i];" + "}" * n,
    "chain": lambda n: "if (i == 0) b[i] = 0.0f;" + "else if (i == 1) b[i] = 1.0f;" * n,
    "conditional": lambda n: "b[i] = " + "i > 2 ? 1.0f : " * n + "0.0f;",
}


@pytest.mark.parametrize("kind", DEEP)
def test_deep_nesting_is_refused_with_the_line(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "k.cu"
    path.write_text(HEAD + DEEP[kind](3000) + "\n    }\n}\n")
    with pytest.raises(InputError, match=r"k\.cu:5: code is nested more than 200 levels deep"):
        load_unit(path)
    assert [e.name for e in list_kernels(path)] == ["k"]
    applied(scheduled(HEAD + DEEP[kind](60) + "\n    }\n}\n"), block(x=64))  # what people write passes every analysis


@pytest.mark.parametrize("text", ["1" + "+1" * 5000, "-" * 3000 + "1", "(" * 500 + "1" + ")" * 500, "a\0"])
def test_deep_arithmetic_is_an_error_of_the_problem_file(text: str) -> None:
    with pytest.raises(ExpressionError) as e:
        evaluate(text, {"a": 1})
    assert len(str(e.value)) < 200
    assert evaluate("1" + "+1" * 50, {}) == 51


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8", "utf-8-sig"])
def test_accents_in_comments(tmp_path: Path, encoding: str) -> None:
    """Old files are in Latin-1; what is printed of them is UTF-8, and their lines stay."""
    path = tmp_path / "k.cu"
    (tmp_path / "own.h").write_bytes("// größer\n#define SCALE 2.0f\n".encode(encoding))
    text = '#include "own.h"\n// Gerät: é\n' + HEAD + "// façade\nb[i] = SCALE * a[i]; /* naïve */\n    }\n}\n"
    path.write_bytes(text.encode(encoding))
    unit = load_unit(path)
    assert unit.kernel.loc.line == 3 and unit.kernel.name == "k"
    assert "façade" in unit.cuda_original() and "2.0f * a[i]" in unit.cuda()
    unit.cuda_original().encode("utf-8")
