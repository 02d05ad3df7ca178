#!/bin/sh
# The main job on the best device of this machine.
set -eu
cd "$(dirname "$0")/.."

if command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
    sh scripts/setup.sh cuda
    echo "Running on $(nvidia-smi -L | head -n 1 | sed 's/ (UUID.*//'): a naive matrix product of 4096 x 4096, 5 minutes."
    exec .venv/bin/evo run examples/sgemm --backend cuda --budget 5m
fi
sh scripts/setup.sh
echo "No NVIDIA GPU here: this is a practice run on the CPU, through OpenCL, at small sizes (256 x 256 x 256), 110 seconds."
echo "What is fast here need not be fast on a GPU."
exec .venv/bin/evo run examples/sgemm --backend opencl --budget 110s
