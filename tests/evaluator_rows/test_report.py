"""What stands beside a speed-up (rows T21, T22, C23, C25, C9 of docs/evaluator-fixtures.md)."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from evo.search.blocks import best_block, blocks
from evo.space import KernelSpace
from evo.start import work
from genome.gene import Gene, to_json
from gpu.interface import Confirmation
from gpu.limits import device_memory
from gpu.records import DeviceInfo, Evaluation, Resources, Verdict
from mutators.catalogue import CATALOGUE
from results import beside, pareto, report, summary
from results.report import SizeLine
from results.store import Store
from tests.evaluator_rows.problems import LARGE
from tests.helpers.kernels import example
from tests.results import build

BLOCK = Gene.make("AdjustBlockSize", "block", x=128)


def line(size: str, speedup: float, kind: str = "tune") -> SizeLine:
    return SizeLine(size, kind, 1e-3, 1e-3 / speedup, speedup, speedup * 0.98, speedup * 1.02)


def test_T22_a_mean_does_not_hide_losses() -> None:
    found = beside.over_sizes([line("a", 4.0), line("b", 1.0), line("c", 0.25, "check"), line("d", 2.0, "check")])
    assert found == ["Over all 4 sizes: geometric mean 1.19x, median 1.50x, worst 0.25x at c, slower than the "
                     "baseline at 1."]
    assert beside.over_sizes([line("a", 4.0)]) == []


class FakeEvaluator:
    """Answers with a time for each block."""

    def __init__(self, seconds: dict[tuple[int, int, int], float]) -> None:
        self.seconds, self.waiting = seconds, []  # type: ignore[var-annotated]

    def submit(self, key: str, program: object) -> None:
        self.waiting.append((key, program.launches[0].block))  # type: ignore[attr-defined]

    def collect(self, timeout: float) -> list[Evaluation]:
        done, self.waiting = self.waiting, []
        return [Evaluation(k, Verdict.OK, "", Resources(binary=str(b)), (build.timing(self.seconds.get(b, 5e-3)),))
                for k, b in done]


def test_T21_the_baseline_is_timed_with_its_best_block_too(tmp_path: Path) -> None:
    """A baseline of 4 ms takes 2.5 ms in another block: of the champion's 2x only 1.25x is its own."""
    space = KernelSpace(example("sgemm", "cuda"), CATALOGUE, "cuda")
    with build.finished_run(tmp_path / "r") as store:
        fast = blocks(space.domain(space.express(()), "AdjustBlockSize", "block"))[0]
        shape = (int(fast["x"]), int(fast["y"]), 1)  # type: ignore[arg-type]
        assert best_block(space, FakeEvaluator({shape: 2.5e-3}), store, seconds=10.0)  # type: ignore[arg-type]
        champion = store.champion()
        assert champion is not None
        text, = beside.best_block(store, champion, report.size_lines(store, "c1"))
    assert text.startswith("Against the baseline with its best block (AdjustBlockSize(block: ")
    assert "1.60x by itself" in text and text.endswith("): 1.25x."), text


def test_T21_blocks_are_spread_over_the_domain() -> None:
    two = blocks({"x": (1, 2, 4, 8, 16, 32, 64, 128), "y": (1, 2, 4, 8, 16, 32, 64, 128)})
    assert len(two) == 8 and len({tuple(b.values()) for b in two}) == 8
    assert {int(b["x"]) * int(b["y"]) for b in two} <= {64, 128, 256, 512}  # type: ignore[arg-type]
    assert [b["x"] for b in blocks({"x": (32, 64, 96, 128, 256, 512, 1024)})] == [512, 256, 128, 64]


def test_C23_work_that_was_removed_is_told(tmp_path: Path) -> None:
    state = example("sgemm", "cuda")
    size = state.workload.tune[0].as_dict()
    assert work(state)["flops"] == 2.0 * size["M"] * size["N"] * size["K"]
    with build.finished_run(tmp_path / "r") as store:
        assert beside.work(store) == []
        store.event("work", {"size": "4096", "before": {"flops": 4e9, "bytes": 2**30},
                             "after": {"flops": 1e9, "bytes": 2**30}})
        assert beside.work(store) == [
            "Work of a launch at 4096: 4.00 billion floating-point operations, 1.00 billion after, 75 % removed; "
            "1.00 GiB of compulsory traffic, unchanged."]
        assert beside.work(store)[0] in report.final_lines(store)


def test_C25_memory_traded_for_time_is_shown_with_every_result(tmp_path: Path) -> None:
    with build.finished_run(tmp_path / "r") as store:
        store.set_evaluation(dataclasses.replace(build.evaluation("baseline", 4e-3, 40), memory_bytes=2**28))
        mine = dataclasses.replace(build.evaluation("c1", 2e-3, 96), memory_bytes=2**29)
        store.set_evaluation(dataclasses.replace(mine, resources=Resources(96, 8, 0, 32768)))
        lines = report.final_lines(store)
        expected, = (text for text in lines if text.startswith("Uses: "))
        assert expected.startswith("Uses: registers 40 -> 96, shared memory 0 B -> 32"), expected
        assert "spills 0 B -> 8 B, stack 0 B, device memory 256 MiB -> 512 MiB." in expected
        assert expected in summary.show(store)
        table = pareto.table(pareto.front(store), ("latency",))
        row = dict(zip(table[0], next(r for r in table if r[0] == "c1"), strict=True))
        assert (row["registers"], row["shared"], row["spills"], row["memory"]) == ("96", "32 KiB", "8 B", "512 MiB")


def test_C25_device_memory_counts_arrays_and_resident_stacks() -> None:
    gpu = DeviceInfo("cuda", "test", multiprocessors=2, max_threads_per_multiprocessor=1000)
    program = LARGE.program("cuda", LARGE.baseline)
    assert device_memory(LARGE.workload, program, 0, gpu) == 2 * 4 * 5000
    assert device_memory(LARGE.workload, program, 16, gpu) == 2 * 4 * 5000 + 16 * 2000


def test_the_confirmed_figure_stands_before_the_one_of_the_search(tmp_path: Path) -> None:
    """Chosen among many, the search's figure flatters: 2.0x there, 1.6x on fresh data."""
    with build.finished_run(tmp_path / "r") as store:
        store.add_confirmation("c1", build.confirmation("c1", 4e-3, 2.5e-3))
        row = next(r for r in store.rows() if r.key == "c1")
        assert row.speedup == (pytest.approx(1.6), "confirmation")
        other = next(r for r in store.rows() if r.key == "c3")
        assert other.speedup[1] == "search"
        record = next(r for r in pareto.records(pareto.front(store)) if r["candidate"] == "c1")
        assert record["speedup"] == pytest.approx(1.6) and record["search_speedup"] == pytest.approx(2.0)
        assert record["speedup_from"] == "confirmation"
        assert "speed-up 1.60x over the baseline, confirmed" in summary.show(store)[
            [i for i, text in enumerate(summary.show(store)) if text.startswith("Champion")][0]]


def test_C9_approximations_are_labelled(tmp_path: Path) -> None:
    final = Confirmation(Evaluation("c1", Verdict.OK), True, (), (), notes=("watched",), warm=(("4096", 3.0),))
    assert beside.remarks(final, "approximates")[0].startswith("APPROXIMATES")
    assert "With a warm cache: 3.00x at 4096" in beside.remarks(final, "exact")[0]
    assert beside.remarks(final, "reassociates")[-1] == "Note: watched"
    assert all(m.exactness.name != "APPROXIMATES" for m in CATALOGUE.values()), "none is in the catalogue yet"


def test_T21_is_left_out_where_the_block_is_part_of_the_meaning(tmp_path: Path) -> None:
    with build.finished_run(tmp_path / "r") as store:
        store.event("blocks", {"genome": "", "seconds": 4e-3, "baseline": 4e-3, "measured": 8})
        champion = store.champion()
        assert champion is not None
        assert beside.best_block(store, champion, report.size_lines(store, "c1")) == [
            "The baseline's own block is the best of the 9 that were timed."]
        store.event("blocks", {"genome": to_json((BLOCK,)), "seconds": 2e-3, "baseline": 4e-3, "measured": 8})
        assert "2.00x by itself" in beside.best_block(store, champion, report.size_lines(store, "c1"))[0]
    with Store.create(tmp_path / "empty", {}, {}) as store:
        assert beside.best_block(store, champion, []) == []
