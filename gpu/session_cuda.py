"""The CUDA back end of :mod:`gpu.session`: PyCUDA on the primary context, so that other libraries can share it."""

from __future__ import annotations

import ctypes
import math
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pycuda.driver as drv

from genome.errors import InputError
from genome.program import Launch
from gpu import cubin, health, support_cuda
from gpu.build import Built
from gpu.data import Array
from gpu.health import State
from gpu.records import DeviceInfo
from gpu.session import GUARD, GUARD_BYTES, Buffer, Call, Comparison, DeviceFault, Runner

CURTAIN_NS = 40_000  # longer than the host needs to enqueue a few launches
PINNED_FROM = 1 << 20  # bytes; larger results are kept page-locked: they are uploaded again for each comparison
THREADS = 256


def facts(ordinal: int) -> DeviceInfo:
    device = drv.Device(ordinal)
    a = drv.device_attribute
    get = device.get_attribute
    major, minor = device.compute_capability()
    version = drv.get_driver_version()
    return DeviceInfo(
        backend="cuda", name=device.name(), arch=f"sm_{major}{minor}",
        multiprocessors=get(a.MULTIPROCESSOR_COUNT), max_threads_per_block=get(a.MAX_THREADS_PER_BLOCK),
        max_block=(get(a.MAX_BLOCK_DIM_X), get(a.MAX_BLOCK_DIM_Y), get(a.MAX_BLOCK_DIM_Z)),
        max_grid=(get(a.MAX_GRID_DIM_X), get(a.MAX_GRID_DIM_Y), get(a.MAX_GRID_DIM_Z)),
        max_shared_bytes=get(a.MAX_SHARED_MEMORY_PER_BLOCK), max_shared_optin=get(a.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        shared_per_multiprocessor=get(a.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        registers_per_block=get(a.MAX_REGISTERS_PER_BLOCK),
        registers_per_multiprocessor=get(a.MAX_REGISTERS_PER_MULTIPROCESSOR),
        max_threads_per_multiprocessor=get(a.MAX_THREADS_PER_MULTIPROCESSOR),
        max_blocks_per_multiprocessor=get(a.MAX_BLOCKS_PER_MULTIPROCESSOR), warp=get(a.WARP_SIZE),
        l2_bytes=get(a.L2_CACHE_SIZE), memory_bytes=device.total_memory(),
        driver=f"{version // 1000}.{version % 1000 // 10}")


def all_devices() -> list[DeviceInfo]:
    """No context is created. Empty when the driver has no device or cannot start."""
    try:
        drv.init()
        return [facts(i) for i in range(drv.Device.count())]
    except drv.Error:
        return []


class CudaRunner:
    def __init__(self, module: Any, steps: list[tuple[Any, tuple[int, int, int], Launch, tuple[Any, ...]]]) -> None:
        self.keeps: tuple[Buffer, ...] = ()
        self._module, self._steps = module, steps  # a function is only valid while its module is loaded

    def enqueue(self) -> None:
        for function, grid, launch, arguments in self._steps:
            function(*arguments, grid=grid, block=launch.block, shared=launch.shared_bytes)


class CudaSession:
    """``support`` is the build of :mod:`gpu.support_cuda`."""

    def __init__(self, ordinal: int, support: Built) -> None:
        try:
            drv.init()
            self._device = drv.Device(ordinal)
            self._health = health.reader(self._device.pci_bus_id())
            self.neighbours = self._health.neighbours() if self._health is not None else None  # before we are one
            self._context = self._device.retain_primary_context()
            self._context.push()
        except drv.Error as e:
            raise InputError(f"the CUDA device cannot be opened: {e}") from e
        self.info = facts(ordinal)
        module = drv.module_from_buffer(support.binary)
        self._own = {la.kernel: module.get_function(symbol)
                     for la, symbol in zip(support.program.launches, support.entries, strict=True)}
        self._module = module
        self._out = drv.mem_alloc(64)
        self._want: Any = None
        self._want_bytes = 0
        self._flush: Any = None
        self._loaded: OrderedDict[int, tuple[Built, Any]] = OrderedDict()
        self._start, self._stop = drv.Event(), drv.Event()
        self.host_seconds = 0.0
        self._persisting: Any = None

    def state(self) -> State | None:
        return self._health.state() if self._health is not None else None

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """An error leaves the context unusable unless it was only the launch that was refused: ask the driver."""
        try:
            yield
        except drv.Error as e:
            raise DeviceFault(str(e), poisoned=not self._healthy()) from e

    def _healthy(self) -> bool:
        try:
            drv.Context.synchronize()
            drv.memset_d8(int(self._out), 0, 8)
            drv.Context.synchronize()
        except drv.Error:
            return False
        return True

    # --- modules and launches

    def load(self, built: Built) -> tuple[Built, Any]:
        key = id(built)
        if key not in self._loaded:
            with self._faults():
                self._loaded[key] = built, drv.module_from_buffer(built.binary)
            while len(self._loaded) > 4:
                self._loaded.popitem(last=False)
        self._loaded.move_to_end(key)
        return self._loaded[key]

    def runner(self, loaded: tuple[Built, Any], calls: Sequence[Call]) -> CudaRunner:
        built, module = loaded
        steps = []
        for call in calls:
            values = tuple(_packable(a) for a in call.arguments)
            _match_parameters(built, call.symbol, call.launch.kernel, values)
            with self._faults():
                function = module.get_function(call.symbol)
                if call.launch.shared_bytes:
                    function.set_attribute(drv.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                           call.launch.shared_bytes)
            steps.append((function, call.grid, call.launch, values))
        return CudaRunner(module, steps)

    def time(self, runner: Runner, repeat: int = 1) -> float:
        with self._faults():
            drv.Context.synchronize()
            begin = time.monotonic()
            self._own["evo_curtain"](np.uint64(CURTAIN_NS), grid=(1, 1, 1), block=(1, 1, 1))
            self._start.record()
            for _ in range(repeat):
                runner.enqueue()
            self._stop.record()
            drv.Context.synchronize()  # the whole device, whatever stream the work is on
            self.host_seconds = time.monotonic() - begin - CURTAIN_NS * 1e-9
            return float(self._start.time_till(self._stop)) * 1e-3 / repeat

    def flush_cache(self) -> None:
        """Writes twice the second-level cache, after lines that a kernel has made persistent are ordinary again
        (evaluator.md T9)."""
        size = 2 * self.info.l2_bytes
        if size:
            with self._faults():
                self._reset_persisting()
                if self._flush is None:
                    self._flush = drv.mem_alloc(size)
                drv.memset_d32(int(self._flush), 0, size // 4)

    def _reset_persisting(self) -> None:
        """PyCUDA lacks this call; the driver library is loaded already. Older drivers lack it too, and the feature."""
        if self._persisting is None:
            driver = ctypes.CDLL("libcuda.so.1")
            self._persisting = getattr(driver, "cuCtxResetPersistingL2Cache", lambda: 0)
        self._persisting()

    # --- buffers

    def allocate(self, count: int, dtype: np.dtype[np.generic]) -> Buffer:
        nbytes = count * dtype.itemsize
        with self._faults():
            whole = drv.mem_alloc(nbytes + 2 * GUARD_BYTES)
        buffer = Buffer(whole, int(whole) + GUARD_BYTES, count, dtype)
        self.reset_guards(buffer, GUARD[0])
        return buffer

    def release(self, buffer: Buffer) -> None:
        if isinstance(buffer.kept, tuple) and buffer.kept[1] is not None:
            buffer.kept[1].free()
        buffer.whole.free()
        buffer.kept = buffer.whole = None

    def upload(self, buffer: Buffer, array: Array) -> None:
        with self._faults():
            drv.memcpy_htod(buffer.data, array)

    def keep(self, buffer: Buffer, copy: bool) -> None:
        with self._faults():
            duplicate = buffer.kept[1] if buffer.kept is not None else None
            if copy:
                duplicate = duplicate or drv.mem_alloc(max(buffer.nbytes, 4))
                drv.memcpy_dtod(duplicate, buffer.data, buffer.nbytes)
        buffer.kept = self._checksum(buffer), duplicate

    def restore(self, buffer: Buffer) -> None:
        with self._faults():
            drv.memcpy_dtod(buffer.data, buffer.kept[1], buffer.nbytes)

    def unchanged(self, buffer: Buffer) -> bool:
        return bool(self._checksum(buffer) == buffer.kept[0])

    def fill(self, buffer: Buffer, word: int) -> None:
        whole = buffer.nbytes // 4
        with self._faults():
            if whole:
                drv.memset_d32(buffer.data, word, whole)
            if buffer.nbytes % 4:
                drv.memset_d8(buffer.data + 4 * whole, word & 0xFF, buffer.nbytes % 4)

    def download(self, buffer: Buffer) -> Array:
        with self._faults():
            array: Array = (drv.pagelocked_empty(buffer.count, buffer.dtype) if buffer.nbytes >= PINNED_FROM
                            else np.empty(buffer.count, buffer.dtype))
            drv.memcpy_dtoh(array, buffer.data)
        return array

    def reset_guards(self, buffer: Buffer, byte: int) -> None:
        with self._faults():
            drv.memset_d8(int(buffer.whole), byte, GUARD_BYTES)
            drv.memset_d8(buffer.data + buffer.nbytes, byte, GUARD_BYTES)

    def guards_intact(self, buffer: Buffer, byte: int) -> bool:
        result = self._reduce("evo_guards", GUARD_BYTES, np.uintp(int(buffer.whole)),
                              np.uintp(buffer.data + buffer.nbytes), np.uint64(GUARD_BYTES), np.int32(byte))
        return int(result[0]) == 0

    def compare(self, buffer: Buffer, want: Array, rtol: float, atol: float) -> Comparison:
        """The reference reaches the device only now, after the run, in memory that no candidate is given."""
        with self._faults():
            if self._want_bytes < buffer.nbytes:
                if self._want is not None:
                    self._want.free()
                self._want, self._want_bytes = drv.mem_alloc(buffer.nbytes), buffer.nbytes
            drv.memcpy_htod(self._want, want)
        kind, itemsize, count = buffer.dtype.kind, buffer.dtype.itemsize, buffer.count
        if kind == "c":
            itemsize, count = itemsize // 2, count * 2
        pointers = np.uintp(buffer.data), np.uintp(int(self._want)), np.uint64(count)
        if kind in "fc":
            bad, first, worst = self._reduce(f"evo_compare_f{itemsize}", count, *pointers, np.float64(rtol),
                                             np.float64(atol))
            error = float(worst.view(np.float64))
        else:
            bad, first, _ = self._reduce(f"evo_equal_{itemsize}", count, *pointers)
            error = math.inf if bad else 0.0
        index = int(first) // 2 if kind == "c" else int(first)
        with self._faults():
            drv.memset_d8(int(self._want), 0, min(self._want_bytes, buffer.nbytes))  # and leaves it again
        return Comparison(int(bad), index if bad else -1, error)

    def _checksum(self, buffer: Buffer) -> int:
        return int(self._reduce("evo_checksum", buffer.nbytes // 4, np.uintp(buffer.data),
                                np.uint64(buffer.nbytes))[0])

    def _reduce(self, kernel: str, work: int, *arguments: np.generic) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """Runs one of the own kernels and returns its three 64-bit results."""
        start = np.array([0, 2**64 - 1, 0], np.uint64)
        blocks = max(1, min(-(-work // THREADS), 8 * self.info.multiprocessors))
        with self._faults():
            drv.memcpy_htod(self._out, start)
            self._own[kernel](*arguments, np.uintp(int(self._out)), grid=(blocks, 1, 1), block=(THREADS, 1, 1))
            drv.memcpy_dtoh(start, self._out)
        return start

    # --- the device itself

    def measure_device(self) -> tuple[float, float]:
        """The best of ten copies of up to 1 GiB, the best of five rounds of multiply-adds."""
        nbytes = min(1 << 30, self.info.memory_bytes // 16)
        with self._faults():
            source, target = drv.mem_alloc(nbytes), drv.mem_alloc(nbytes)
            drv.memset_d32(int(source), 0, nbytes // 4)
            copies = []
            for _ in range(10):
                self._start.record()
                drv.memcpy_dtod_async(target, source, nbytes)
                self._stop.record()
                self._stop.synchronize()
                copies.append(self._start.time_till(self._stop) * 1e-3)
            source.free()
            target.free()
            blocks = 64 * self.info.multiprocessors
            rounds = []
            for _ in range(5):
                self._start.record()
                self._own["evo_fma"](np.uintp(int(self._out)), np.float32(0.999), np.float32(0.001),
                                     grid=(blocks, 1, 1), block=(THREADS, 1, 1))
                self._stop.record()
                self._stop.synchronize()
                rounds.append(self._start.time_till(self._stop) * 1e-3)
        work = 2.0 * support_cuda.FMA_PER_THREAD * blocks * THREADS
        return 2.0 * nbytes / min(copies), work / min(rounds)

    def close(self) -> None:
        self._context.pop()


def _packable(argument: Buffer | np.generic) -> Any:
    """As PyCUDA packs it: pointers as integers, and types that it has no format for as integers of the same size."""
    if isinstance(argument, Buffer):
        return np.uintp(argument.data)
    if isinstance(argument, np.bool_):
        return np.uint8(argument)
    return argument.view(np.uint16) if isinstance(argument, np.float16) else argument


def _match_parameters(built: Built, symbol: str, kernel: str, values: tuple[Any, ...]) -> None:
    """Raises :class:`DeviceFault` when the kernel's parameters are not what the workload hands over: the driver would
    not notice."""
    sizes = cubin.parameter_sizes(built.binary, symbol)
    if sizes is None:
        return
    if len(sizes) != len(values):
        raise DeviceFault(f"kernel {kernel} has {len(sizes)} parameters, {len(values)} arguments were given",
                          poisoned=False)
    for index, (size, value) in enumerate(zip(sizes, values, strict=True)):
        if size != value.dtype.itemsize:
            raise DeviceFault(f"parameter {index + 1} of kernel {kernel} has {size} bytes, its argument "
                              f"({value.dtype}) {value.dtype.itemsize}", poisoned=False)
