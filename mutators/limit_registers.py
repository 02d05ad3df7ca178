"""LimitRegisters: room for more blocks on a multiprocessor, with fewer registers a thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from genome.errors import Refusal
from genome.gene import ParamValue
from genome.scheduled import Scheduled
from genome.workload import Exactness
from mutators.base import Direction, Parameter, Site
from mutators.checks import integer, only_site

BLOCKS = (1, 2, 3, 4, 6, 8)


class LimitRegisters:
    """``__launch_bounds__(256)`` → ``__launch_bounds__(256, 2)``: the compiler keeps to as many registers as let
    ``blocks`` blocks run on a multiprocessor at once, and spills what does not fit (CUDA C++ Programming Guide,
    "Launch Bounds"). 1 promises no more than one block, which lets the compiler use all registers that a thread can
    have."""

    name = "LimitRegisters"
    direction = Direction.OCCUPANCY
    exactness = Exactness.EXACT
    summary = "__launch_bounds__(threads) → __launch_bounds__(threads, 2): registers for two blocks at once"
    parameters: tuple[Parameter, ...] = (Parameter("blocks", "int", BLOCKS, "blocks on a multiprocessor at once"),)

    def sites(self, state: Scheduled) -> Sequence[Site]:
        return [Site("registers")] if state.limits.registers else []

    def domain(self, state: Scheduled, site: str) -> Mapping[str, Sequence[ParamValue]]:
        return {"blocks": BLOCKS}

    def check(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> tuple[str, ...]:
        only_site(site, "registers")
        blocks = integer(params, "blocks", 1, 32)
        if not state.limits.registers:
            raise Refusal("no-registers", "the device has no registers that could be limited")
        if state.schedule.min_blocks == blocks:
            raise Refusal("no-change", f"room is kept for {blocks} blocks already")
        return ()

    def apply(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> Scheduled:
        blocks = params["blocks"]
        assert isinstance(blocks, int)
        return state.with_schedule(replace(state.schedule, min_blocks=blocks))
