"""Which ``#include`` lines a kernel's translation unit keeps."""

from __future__ import annotations

import re

HOST_HEADERS = {
    "iostream", "cstdio", "stdio.h", "cstdlib", "stdlib.h", "vector", "string", "cstring", "string.h", "algorithm",
    "chrono", "random", "fstream", "sstream", "iomanip", "memory", "map", "set", "unordered_map", "unordered_set",
    "functional", "numeric", "thread", "mutex", "atomic", "cassert", "stdexcept", "exception", "time.h", "ctime",
    "sys/time.h", "unistd.h", "getopt.h", "math.h", "cmath", "cuda.h", "cuda_runtime.h", "cuda_runtime_api.h",
    "device_launch_parameters.h", "cublas_v2.h", "cusparse.h", "curand.h", "cuda_profiler_api.h", "nvToolsExt.h",
    "omp.h", "mpi.h", "array", "tuple", "utility", "cstddef", "stddef.h", "helper_cuda.h", "helper_functions.h",
    "helper_timer.h", "helper_string.h", "iterator", "complex", "deque", "list", "queue", "stack", "optional",
    "filesystem", "sys/types.h", "sys/stat.h", "sys/resource.h", "errno.h", "signal.h", "locale.h", "ctype.h",
    "cctype", "stdarg.h", "cstdarg", "device_functions.h", "math_functions.h", "assert.h", "malloc.h",
    "cuda_gl_interop.h",
    "cuda_texture_types.h", "builtin_types.h", "driver_types.h", "sys/mman.h", "fcntl.h", "pthread.h", "sched.h",
    "cublas.h", "cufft.h", "cusolverDn.h", "cudnn.h", "nccl.h", "nvml.h", "cublasLt.h", "cusparse_v2.h", "cufftXt.h",
    "initializer_list", "ostream", "istream", "ios", "iosfwd", "variant", "string_view", "span", "bitset",
    "future", "regex", "ratio", "typeinfo", "typeindex", "new", "strings.h", "windows.h", "winsock2.h", "bits/stdc++.h",
    "nvtx3/nvToolsExt.h", "nvrtc.h", "sm_60_atomic_functions.h", "device_atomic_functions.h", "host_defines.h",
    "common_functions.h", "any", "valarray", "cinttypes", "memory.h", "dirent.h", "condition_variable",
}
# what NVRTC has, finds in NVIDIA's folders, or gets from the evaluator's own prelude
DEVICE_HEADERS = re.compile(
    r"cuda_(?:fp16|bf16|fp8|fp6|fp4)\.(?:h|hpp)|mma\.h|cooperative_groups(?:\.h|/.*)|cuda_(?:pipeline|awbarrier).*\.h|"
    r"cuda/.*|nv/target|math_constants\.h|vector_(?:types|functions)\.(?:h|hpp)|sm_\d+_\w+\.h|crt/.*|"
    r"stdint\.h|cstdint|inttypes\.h|float\.h|cfloat|limits\.h|climits|limits|type_traits|texture_\w+\.h|surface_\w+\.h")
# kept where the kernel uses a name of theirs: they are slow to compile, and host code includes them too
NAMED = {
    "cub": {"cub"}, "thrust": {"thrust"},
    "curand": {"curand", "curand_init", "curandState", "curandState_t", "curandStatePhilox4_32_10_t", "curand_uniform",
               "curand_uniform4", "curand_normal", "curand_normal4", "curand4", "curandStateXORWOW_t",
               "curandStateMRG32k3a_t", "curandStateMRG32k3a", "curandStateXORWOW"},
    "cuComplex": {"cuComplex", "cuDoubleComplex", "cuFloatComplex", "make_cuComplex", "cuCmulf",
                  "make_cuDoubleComplex"},
}
INCLUDE = re.compile(r'#\s*include\s*([<"])([^>"]+)[>"]')


def verdict(text: str) -> tuple[str, set[str]]:
    """What becomes of an ``#include`` line: "host" and "unknown" are left out, "device" is kept, "named" is kept
    where one of the names that come with it is used."""
    m = INCLUDE.search(text)
    if m is None:
        return "device", set()
    name = m.group(2)
    if name in HOST_HEADERS:
        return "host", set()
    if DEVICE_HEADERS.fullmatch(name):
        return "device", set()
    for prefix, names in NAMED.items():
        if name.startswith(prefix):
            return "named", names
    return "unknown", set()
