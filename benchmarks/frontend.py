"""How much of other people's CUDA the front-end reads: ``python -m benchmarks.frontend FOLDER... [--json FILE]``.

For every ``__global__`` function of every ``.cu`` and ``.cuh`` file: read or refused, round trip (PTX of the kernel as
it was written against PTX of what is printed from the typed fields alone), share of statements that are kept as text,
sites of each transform that some parameter choice makes legal, refusals, processor time. Templates without an
instance in the file get plausible arguments; sizes, shapes and launches are assumed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks._frontend_worker import Task, run_file

SUFFIXES = (".cu", ".cuh")
STRUCTURAL = {"TileLoops", "CoalesceMemoryAccess", "UseSharedMemory", "UnrollLoop", "CoarsenThreads", "VectorizeLoads",
              "SwizzleBlocks", "PipelineStages"}  # change loops, mapping or memory accesses


@dataclass
class FileReport:
    file: str
    kernels: list[dict[str, Any]] = field(default_factory=list)
    problem: str = ""


def find_files(folders: Sequence[str]) -> list[Path]:
    """CUDA sources below the folders (or the files themselves) that define a kernel."""
    found: list[Path] = []
    for name in folders:
        path = Path(name)
        files = [path] if path.is_file() else sorted(p for s in SUFFIXES for p in path.rglob(f"*{s}") if p.is_file())
        found += [f for f in files if b"__global__" in f.read_bytes()]
    return list(dict.fromkeys(found))


def summary(reports: Sequence[FileReport]) -> dict[str, Any]:
    """Shares are of kernels. ``round_trip_share``: of those that are read and whose own text compiles alone."""
    kernels = [k for r in reports for k in r.kernels]
    read = [k for k in kernels if k["read"]]
    compared = [k for k in read if k["round_trip"] in ("same", "differs", "printed does not compile")]
    same = sum(k["round_trip"] == "same" for k in compared)
    times = [k["milliseconds"] for k in read]
    sites: Counter[str] = Counter()
    for k in read:
        for name, n in k["sites"].items():
            sites[name] += n > 0
    structural = [k for k in read if any(k["sites"].get(n) for n in STRUCTURAL)]
    return {
        "files": len(reports), "kernels": len(kernels), "read": len(read), "read_share": _share(len(read), kernels),
        "compared": len(compared), "round_trip_share": _share(same, compared),
        "not_compilable_alone": sum(k["round_trip"] == "not compilable alone" for k in read),
        "printed_not_compilable": sum(k["round_trip"] == "printed does not compile" for k in read),
        "opaque_share_median": statistics.median(k["opaque_share"] for k in read) if read else None,
        "structural_site_share": _share(len(structural), read),
        "kernels_with_sites": dict(sites.most_common()),
        "refusals": dict(Counter(c for k in read for c in k["refusals"]).most_common()),
        "opaque_reasons": dict(Counter(o["reason"] for k in read for o in k["opaque"]).most_common()),
        "not_read": dict(Counter(k["reason"] for k in kernels if not k["read"]).most_common(20)),
        "milliseconds_median": statistics.median(times) if times else None,
        "milliseconds_max": max(times) if times else None,
        "analysis_milliseconds_median": statistics.median(k["analysis_milliseconds"] for k in read) if read else None,
    }


def _share(n: int, of: Sequence[Any]) -> float | None:
    return n / len(of) if of else None


def lines_of(report: FileReport) -> list[str]:
    """What is printed of a file."""
    read = sum(k["read"] for k in report.kernels)
    out = [f"{report.file}: {read} of {len(report.kernels)} kernels read" + (f"; {report.problem}" if report.problem
                                                                             else "")]
    for k in report.kernels:
        if not k["read"]:
            out.append(f"  line {k['line']} {k['name']}: not read: {k['reason']}")
            continue
        sites = ", ".join(f"{n} {c}" for n, c in k["sites"].items() if c) or "no legal site"
        out.append(f"  line {k['line']} {k['name']}: {k['round_trip']}, {k['opaque_share']:.0%} opaque, {sites}"
                   + (f"; {', '.join(k['refusals'])}" if k["refusals"] else "") + f"; {k['milliseconds']:.1f} ms")
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frontend", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("-I", dest="include", action="append", default=[], metavar="FOLDER")
    parser.add_argument("-D", dest="define", action="append", default=[], metavar="NAME[=VALUE]")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--no-compile", action="store_true", help="leave the round trip out")
    parser.add_argument("--no-sites", action="store_true", help="leave the transforms out")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS", help="per kernel")
    given = parser.parse_args(arguments)
    missing = [f for f in given.folders if not Path(f).exists()]
    if missing:
        parser.error(f"no such file or folder: {', '.join(missing)}")
    reports = []
    for file in find_files(given.folders):
        task = Task(str(file), tuple(given.include), tuple(given.define), not given.no_compile, not given.no_sites)
        kernels, problem = run_file(task, given.timeout)
        reports.append(FileReport(str(file), kernels, problem))
        sys.stdout.write("\n".join(lines_of(reports[-1])) + "\n")
        sys.stdout.flush()
    total = summary(reports)
    sys.stdout.write("\n" + "\n".join(f"{k}: {v:.3g}" if isinstance(v, float) else f"{k}: {v}"
                                      for k, v in total.items()) + "\n")
    if given.json:
        Path(given.json).write_text(json.dumps({"summary": total, "files": [asdict(r) for r in reports]}, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
