"""What a device worker is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpu.build import Built


@dataclass(frozen=True)
class WorkerConfig:
    """``support``: builds of the worker's own kernels. ``proxies_here``: whether this process runs the
    small checks; on OpenCL the builder does."""

    backend: str
    ordinal: int = 0
    support: dict[str, Built] = field(default_factory=dict)
    proxies_here: bool = True
