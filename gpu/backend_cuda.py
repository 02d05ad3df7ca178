"""Children of the CUDA back end: compilers on all cores but one, the device worker free to use any."""

from __future__ import annotations

from genome.program import Program
from gpu import support_cuda
from gpu.backend import SUPPORT, Backend
from gpu.child import Child
from gpu.worker_config import WorkerConfig


class CudaBackend(Backend):
    def support_programs(self) -> dict[str, Program]:
        return {SUPPORT: support_cuda.program()}

    def start_builder(self, index: int) -> Child:
        return Child("builder-cuda", self.config())

    def start_worker(self) -> Child:
        return Child("worker", WorkerConfig("cuda", support=dict(self.support)))
