"""The OpenCL back end of :mod:`gpu.session`: PyOpenCL, host-mapped buffers, comparison in NumPy.

``cold_cache`` has no effect here: a CPU's last-level cache is shared with everything else on the machine and often
larger than the data, so times are warm-cache times, and said to be.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyopencl as cl

from genome.errors import InputError
from gpu import opencl, support_opencl
from gpu.build import Built
from gpu.compare import compare_arrays
from gpu.data import Array
from gpu.health import Neighbours
from gpu.session import GUARD, GUARD_BYTES, Buffer, Call, Comparison, DeviceFault, Runner

Shape = tuple[int, ...]


class OpenClRunner:
    def __init__(self, queue: cl.CommandQueue, steps: list[tuple[cl.Kernel, Shape, Shape]]) -> None:
        self.keeps: tuple[Buffer, ...] = ()
        self._queue, self._steps = queue, steps

    def enqueue(self) -> None:
        self.events()

    def events(self) -> list[cl.Event]:
        return [cl.enqueue_nd_range_kernel(self._queue, kernel, size, block) for kernel, size, block in self._steps]


@contextmanager
def faults() -> Iterator[None]:
    try:
        yield
    except cl.Error as e:
        raise DeviceFault(str(e), poisoned=False) from e


class OpenClSession:
    """``support`` is the build of :mod:`gpu.support_opencl`, where the arithmetic rate is asked for."""

    def __init__(self, support: Built | None = None) -> None:
        self._support = support
        opencl.quiet()
        found = opencl.devices()
        if not found:
            raise InputError("no OpenCL device", remedy="pip install pocl-binary-distribution")
        self.device = found[0]
        self.context = cl.Context([self.device])
        self.queue = cl.CommandQueue(self.context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self.info = opencl.facts(self.device)
        self.host_seconds = 0.0  # host and device are one: a kernel cannot start other work, and waiting says nothing
        self._loaded: OrderedDict[int, tuple[bytes, cl.Program]] = OrderedDict()

    neighbours: Neighbours | None = None

    def state(self) -> None:
        """A CPU's clocks are not looked at."""

    def load(self, built: Built) -> cl.Program:
        key = hash(built.binary)
        if key not in self._loaded or self._loaded[key][0] != built.binary:
            with faults():
                self._loaded[key] = built.binary, cl.Program(self.context, [self.device], [built.binary]).build()
            while len(self._loaded) > 4:
                self._loaded.popitem(last=False)
        self._loaded.move_to_end(key)
        return self._loaded[key][1]

    def measure_device(self) -> tuple[float, float]:
        """Bandwidth of a copy of 64 MiB, the best of three; the best of three rounds of multiply-adds."""
        nbytes = 1 << 26
        source, target = self.allocate(nbytes // 4, np.dtype(np.float32)), self.allocate(nbytes // 4,
                                                                                          np.dtype(np.float32))
        best = math.inf
        with faults():
            for _ in range(4):  # the first one touches the pages
                event = cl.enqueue_copy(self.queue, target.data, source.data)
                event.wait()
                best = min(best, (event.profile.end - event.profile.start) * 1e-9)
        self.release(source)
        self.release(target)
        return 2 * nbytes / best if best > 0 else 0.0, self._arithmetic()

    def _arithmetic(self) -> float:
        if self._support is None:
            return 0.0
        out = self.allocate(support_opencl.ITEMS, np.dtype(np.float32))
        groups = (support_opencl.ITEMS // support_opencl.GROUP, 1, 1)
        call = Call(self._support.program.launches[0], "evo_fma", groups, (out, np.float32(0.999), np.float32(0.001)))
        runner = self.runner(self.load(self._support), (call,))
        best = min(self.time(runner) for _ in range(3))
        self.release(out)
        return 2.0 * support_opencl.FMA_PER_ITEM * support_opencl.ITEMS / best if best > 0 else 0.0

    def allocate(self, count: int, dtype: np.dtype[np.generic]) -> Buffer:
        nbytes = count * dtype.itemsize
        with faults():
            whole = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, nbytes + 2 * GUARD_BYTES)
            buffer = Buffer(whole, whole.get_sub_region(GUARD_BYTES, nbytes), count, dtype)
        self.reset_guards(buffer, GUARD[0])
        return buffer

    def release(self, buffer: Buffer) -> None:
        buffer.data.release()
        buffer.whole.release()
        buffer.kept = None

    @contextmanager
    def _mapped(self, buffer: Buffer, offset: int, nbytes: int, write: bool) -> Iterator[Array]:
        flags = cl.map_flags.WRITE if write else cl.map_flags.READ  # PoCL maps in place: the rest stays
        with faults():
            view, _ = cl.enqueue_map_buffer(
                self.queue, buffer.whole, flags, offset, (nbytes,), np.dtype(np.uint8))
            try:
                yield view
            finally:
                view.base.release(self.queue)
                self.queue.finish()

    def upload(self, buffer: Buffer, array: Array) -> None:
        with self._mapped(buffer, GUARD_BYTES, buffer.nbytes, True) as view:
            view[:] = array.view(np.uint8)

    def keep(self, buffer: Buffer, copy: bool) -> None:
        buffer.kept = self.download(buffer)

    def restore(self, buffer: Buffer) -> None:
        assert buffer.kept is not None
        self.upload(buffer, buffer.kept)

    def unchanged(self, buffer: Buffer) -> bool:
        assert buffer.kept is not None
        with self._mapped(buffer, GUARD_BYTES, buffer.nbytes, False) as view:
            return bool(np.array_equal(view, buffer.kept.view(np.uint8)))

    def fill(self, buffer: Buffer, word: int) -> None:
        self._fill(buffer, GUARD_BYTES, buffer.nbytes, word)

    def _fill(self, buffer: Buffer, offset: int, nbytes: int, word: int) -> None:
        with self._mapped(buffer, offset, nbytes, True) as view:
            pattern = np.frombuffer(np.uint32(word).tobytes(), np.uint8)
            whole = nbytes // 4 * 4
            view[:whole].view(np.uint32)[:] = word
            view[whole:] = pattern[:nbytes - whole]

    def download(self, buffer: Buffer) -> Array:
        with self._mapped(buffer, GUARD_BYTES, buffer.nbytes, False) as view:
            return np.array(view).view(buffer.dtype)

    def guards_intact(self, buffer: Buffer, byte: int) -> bool:
        for offset in (0, GUARD_BYTES + buffer.nbytes):
            with self._mapped(buffer, offset, GUARD_BYTES, False) as view:
                if not np.all(view == byte):
                    return False
        return True

    def reset_guards(self, buffer: Buffer, byte: int) -> None:
        for offset in (0, GUARD_BYTES + buffer.nbytes):
            with self._mapped(buffer, offset, GUARD_BYTES, True) as view:
                view[:] = byte

    def compare(self, buffer: Buffer, want: Array, rtol: float, atol: float) -> Comparison:
        with self._mapped(buffer, GUARD_BYTES, buffer.nbytes, False) as view:
            return compare_arrays(np.array(view).view(buffer.dtype), want, rtol, atol)

    def runner(self, loaded: cl.Program, calls: Sequence[Call]) -> OpenClRunner:
        steps: list[tuple[cl.Kernel, Shape, Shape]] = []
        with faults():
            for call in calls:
                launch = call.launch
                kernel = cl.Kernel(loaded, launch.kernel)
                values: list[Any] = [a.data if isinstance(a, Buffer) else a for a in call.arguments]
                if launch.shared_bytes:
                    values.append(cl.LocalMemory(launch.shared_bytes))
                if kernel.num_args != len(values):
                    raise DeviceFault(f"kernel {launch.kernel} has {kernel.num_args} parameters, "
                                      f"{len(values)} arguments were given", poisoned=False)
                kernel.set_args(*values)
                steps.append((kernel, tuple(g * b for g, b in zip(call.grid, launch.block, strict=True)), launch.block))
        return OpenClRunner(self.queue, steps)

    def time(self, runner: Runner, repeat: int = 1) -> float:
        assert isinstance(runner, OpenClRunner)
        with faults():
            self.queue.finish()
            events = []
            for _ in range(repeat):
                events += runner.events()
            self.queue.finish()
            start = min(e.profile.start for e in events)
            return float(max(e.profile.end for e in events) - start) * 1e-9 / repeat

    def flush_cache(self) -> None:
        """Nothing: see the module's first lines."""

    def close(self) -> None:
        self.queue.finish()
