#!/bin/sh
# Linter, types, tests: scripts/test.sh [lint | nightly]. Expects the environment of scripts/setup.sh test.
set -eu
cd "$(dirname "$0")/.."
bin=.venv/bin

"$bin/ruff" check .
"$bin/mypy"
case "${1:-}" in
    lint) ;;
    nightly)
        "$bin/python" -m pytest -n 2 --timeout 3600
        "$bin/python" -m benchmarks.genomes --count 2000 --backend opencl --seed "$(date +%j)"
        "$bin/python" -m benchmarks.genomes --count 1000 --backend opencl --corpus tests/adversarial --oclgrind 50 \
            --seed "$(date +%j)"
        "$bin/python" -m benchmarks.evaluator soak --backend opencl --seed "$(date +%j)"
        "$bin/python" -m benchmarks.evaluator kill --backend opencl --seed "$(date +%j)"
        "$bin/python" -m benchmarks.evaluator clones --backend opencl
        ;;
    *) "$bin/python" -m pytest -n 2 -m 'not slow' ;;
esac
