"""What the evaluator promises, measured.

    python -m benchmarks.evaluator clones [--count 200] [--json FILE]
    python -m benchmarks.evaluator aa [--only NAME ...]
    python -m benchmarks.evaluator soak [--count 600] [--seed S]
    python -m benchmarks.evaluator kill [--count 50] [--seed S]
    python -m benchmarks.evaluator throughput [--seconds 100] [--count N] [--against cupy nvcuda] [--json FILE]

Every sub-command ends in nine minutes, prints a short table last, and takes --backend, --json and --help. Exit code 1
when a promise was not kept.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import _clones, _kill, _same, _soak, _throughput
from evo.backend import choose
from genome.errors import InputError

COMMANDS: dict[str, Any] = {"clones": _clones, "aa": _same, "soak": _soak, "kill": _kill, "throughput": _throughput}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evaluator",
                                     description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name, module in COMMANDS.items():
        sub = commands.add_parser(name, help=(module.__doc__ or "").splitlines()[0])
        module.add(sub)
        sub.add_argument("--backend", choices=("auto", "cuda", "opencl"), default="auto")
        sub.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    try:
        result = COMMANDS[args.command].run(args, choose(args.backend, lambda text: print(text, file=sys.stderr)))
    except InputError as e:
        print(e, file=sys.stderr)
        return 2
    if args.json is not None:
        args.json.write_text(json.dumps(result, indent=1))
    return 1 if result.get("broken") else 0


if __name__ == "__main__":
    sys.exit(main())
