#!/bin/sh
# Makes .venv with evo in it: scripts/setup.sh [test] [cuda]
# Downloads only what is missing; every failure ends with one line that says what to do.
set -eu
cd "$(dirname "$0")/.."

fail() { echo "error: $*" >&2; exit 1; }

# ---------------------------------------------------------------------------------------------------- system
case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) ;;
    *) fail "evo runs on Linux x86-64 (WSL2 included); on $(uname -s) $(uname -m) only 'pip install .' and reading finished runs (evo show, pareto, export) work" ;;
esac

usable() { # a Python in the supported range that can make environments; pyenv leaves shims that only fail
    "$1" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1
}

find_python() {
    for p in ${PYTHON:-} python3.12 python3.13 python3.11 python3 python; do
        if command -v "$p" >/dev/null 2>&1 && usable "$p"; then command -v "$p"; return; fi
    done
    for p in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[123].*/bin/python; do
        if [ -x "$p" ] && usable "$p"; then echo "$p"; return; fi
    done
}

if [ -x .venv/bin/python ] && usable .venv/bin/python; then :; else
    python=$(find_python)
    [ -n "$python" ] || fail "no Python 3.11, 3.12 or 3.13 with the venv module was found; install one (Debian, Ubuntu: sudo apt install python3 python3-venv) or name it: make PYTHON=/path/to/python3"
    rm -rf .venv
    "$python" -m venv .venv || fail "'$python -m venv .venv' failed; is this folder writable and the disk not full?"
fi
py=.venv/bin/python

# --------------------------------------------------------------------------------------------------- install
# What is installed is remembered in a stamp, so that a second call costs nothing.
installed() { [ -f ".venv/$1.stamp" ] && [ "$(cat ".venv/$1.stamp")" = "$(cksum < pyproject.toml)" ]; }
remember() { cksum < pyproject.toml > ".venv/$1.stamp"; }

pip_install() {
    "$py" -m pip install --quiet --disable-pip-version-check --no-compile "$@" ||
        fail "installing $* failed (see above); check the network, the proxy (HTTPS_PROXY) and the disk, then run make again"
}

want=core
size="about 200 MB"
case " $* " in *" test "*) want=test; size="about 290 MB" ;; esac

if [ "$want" = core ] && installed test; then want=test; fi
if ! installed "$want"; then
    echo "Installing evo's dependencies into .venv with $("$py" --version): $size to download the first time"
    echo "(NVIDIA's run-time compiler, the OpenCL device for the CPU, NumPy, SciPy, XGBoost)."
    if [ "$want" = test ]; then pip_install -e '.[test]'; else pip_install -e .; fi
    remember "$want"
fi

case " $* " in *" cuda "*) ;; *) exit 0 ;; esac

# ---------------------------------------------------------------------------------------------------- PyCUDA
# PyCUDA has no wheels. Its build takes the first nvcc on PATH for the toolkit's, which a wrapper script is not, and
# needs cuda.h, a C++ compiler, Python's headers, and a libcuda.so to link with.
"$py" -c 'import pycuda.driver' >/dev/null 2>&1 && exit 0
if "$py" -m pip install --quiet --disable-pip-version-check --only-binary=pycuda pycuda >/dev/null 2>&1 &&
        "$py" -c 'import pycuda.driver' >/dev/null 2>&1; then
    echo "Installed PyCUDA from a wheel."
    exit 0
fi
echo "Building PyCUDA from source (2 MB to download, some minutes)."
command -v g++ >/dev/null 2>&1 || fail "PyCUDA needs a C++ compiler; install one (Debian, Ubuntu: sudo apt install g++), then: make cuda"
include=$("$py" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
[ -f "$include/Python.h" ] || fail "PyCUDA needs Python's headers, and $include/Python.h is missing; install them (Debian, Ubuntu: sudo apt install python3-dev), then: make cuda"

headers=
toolkit=
for bin in $(echo "$PATH" | tr ':' ' ') ${CUDA_HOME:+"$CUDA_HOME/bin"} /usr/local/cuda/bin /usr/local/cuda-*/bin /opt/cuda/bin; do
    if [ -x "$bin/nvcc" ] && [ -f "$bin/../include/cuda.h" ]; then
        toolkit=$(cd "$bin" && pwd); headers=$(cd "$bin/../include" && pwd); break
    fi
done
if [ -z "$headers" ]; then
    pip_install 'nvidia-cuda-profiler-api>=13.0,<14'    # cudaProfiler.h, 21 kB
    headers=$("$py" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/nvidia/cu13/include
    [ -f "$headers/cuda.h" ] || fail "no CUDA headers were found; install the CUDA toolkit, or: .venv/bin/pip install nvidia-cuda-runtime nvidia-cuda-crt"
fi
[ -n "$toolkit" ] && PATH=$toolkit:$PATH && export PATH

work=$(pwd)/build/pycuda
rm -rf "$work"
mkdir -p "$work/lib" || fail "cannot make $work; is this folder writable?"
for lib in $(ldconfig -p 2>/dev/null | sed -n 's/.*=> \(.*libcuda\.so\.1\)$/\1/p') /usr/lib/wsl/lib/libcuda.so.1 \
        /usr/lib/x86_64-linux-gnu/libcuda.so.1 /usr/lib64/libcuda.so.1 /usr/local/nvidia/lib64/libcuda.so.1; do
    if [ -e "$lib" ]; then ln -s "$lib" "$work/lib/libcuda.so"; break; fi
done
[ -e "$work/lib/libcuda.so" ] || fail "NVIDIA's driver library libcuda.so.1 was not found; install the driver, then: make cuda"

"$py" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary=pycuda -d "$work" 'pycuda>=2024.1' ||
    fail "PyCUDA's source could not be fetched (see above); check the network and the proxy (HTTPS_PROXY), then: make cuda"
tar -xzf "$work"/pycuda-*.tar.gz -C "$work"
source=$(ls -d "$work"/pycuda-*/)
# CURAND would need a library that NVIDIA's wheels for compiling lack, and evo draws its inputs on the host.
cat > "${source}siteconf.py" <<CONF
CUDA_INC_DIR = ["$headers"]
CUDADRV_LIB_DIR = ["$work/lib"]
CUDA_ENABLE_CURAND = False
CONF
"$py" -m pip install --quiet --disable-pip-version-check "$source" > "$work/build.log" 2>&1 || {
    tail -n 15 "$work/build.log" >&2
    fail "PyCUDA did not build against $headers; the whole log is in $work/build.log; without it evo runs on the CPU: evo run --backend opencl"
}
"$py" -c 'import pycuda.driver' || fail "PyCUDA was built but cannot be imported (see above); see: .venv/bin/evo doctor"
echo "Built PyCUDA against $headers."
