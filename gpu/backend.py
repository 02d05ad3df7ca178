"""How many children of which kind a back end gets, and on which cores."""

from __future__ import annotations

import os

from genome.program import Program
from gpu import support_opencl
from gpu.build import Built
from gpu.child import Child
from gpu.compile_common import BuilderConfig
from gpu.interface import EvaluatorOptions
from gpu.records import DeviceInfo
from gpu.worker_config import WorkerConfig

SUPPORT = "support"  # the name of the worker's own kernels


class Backend:
    """``support``: builds of the worker's own kernels, filled in by the evaluator before the first worker starts."""

    check_plain = False  # whether the baseline is also built without optimisation

    def __init__(self, device: DeviceInfo, options: EvaluatorOptions) -> None:
        self.device, self.options = device, options
        self.support: dict[str, Built] = {}
        self.cores = tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()
        self.builders = options.compile_workers or max(1, len(self.cores) - 1)

    def support_programs(self) -> dict[str, Program]:
        return {}

    def notes(self) -> tuple[str, ...]:
        return ()

    def config(self) -> BuilderConfig:
        o = self.options
        return BuilderConfig(o.flags, o.cache_dir, o.compile_timeout, self.device)

    def start_builder(self, index: int) -> Child:
        raise NotImplementedError

    def start_worker(self) -> Child:
        raise NotImplementedError


class OpenClBackend(Backend):
    """The device is the CPU itself: its cores are shared out between builders and the worker, each pinned, so that
    compiling does not disturb timing. Times are those of the worker's share of the cores."""

    check_plain = True

    def support_programs(self) -> dict[str, Program]:
        return {SUPPORT: support_opencl.program()}

    def __init__(self, device: DeviceInfo, options: EvaluatorOptions) -> None:
        super().__init__(device, options)
        self.builders = options.compile_workers or max(1, min(4, len(self.cores) // 2))
        self.worker_cores = self.cores[self.builders:] or self.cores

    def notes(self) -> tuple[str, ...]:
        return (f"OpenCL on the CPU: timed on {max(1, len(self.worker_cores))} of {max(1, len(self.cores))} cores, "
                "caches warm; registers and occupancy are not known",)

    def _environment(self, cores: tuple[int, ...]) -> dict[str, str]:
        from gpu.opencl import ENVIRONMENT
        return {**ENVIRONMENT, "POCL_MAX_PTHREAD_COUNT": str(max(1, len(cores)))}

    def start_builder(self, index: int) -> Child:
        cores = self.cores[index % max(1, len(self.cores)):][:1]
        return Child("builder-opencl", self.config(), self._environment(cores), cores)

    def start_worker(self) -> Child:
        config = WorkerConfig("opencl", support=dict(self.support), proxies_here=False)
        return Child("worker", config, self._environment(self.worker_cores), self.worker_cores)


def make_backend(device: DeviceInfo, options: EvaluatorOptions) -> Backend:
    if device.backend == "opencl":
        return OpenClBackend(device, options)
    from gpu.backend_cuda import CudaBackend
    return CudaBackend(device, options)
