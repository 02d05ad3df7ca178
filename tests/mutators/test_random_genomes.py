"""Two hundred random legal genomes over the examples, run on the OpenCL device against the baseline; some of them
through Oclgrind. ``make nightly`` runs two thousand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("part", range(4))
def test_none_is_wrong(part: int) -> None:
    """Four parts, so that the cores share them."""
    command = [sys.executable, "-m", "benchmarks.genomes", "--count", "200", "--slice", f"{part}/4", "--seed", "20",
               "--jobs", "1", "--oclgrind", "4"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1400, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    last = (done.stdout.splitlines() or [""])[-1]
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    found = re.fullmatch(r"(\d+) genomes, (\d+) runs compared, 0 wrong; 4 through Oclgrind, 0 findings", last)
    assert found and int(found[1]) == 50 and int(found[2]) > 200, last
