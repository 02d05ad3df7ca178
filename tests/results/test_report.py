from __future__ import annotations

import dataclasses
import html.parser
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genome.errors import InputError
from gpu.records import Evaluation, Verdict
from results import html as report_html
from results import plot, report, summary
from results.explain import Ladder, Step
from results.report import Roofline
from results.store import Store
from tests.results import build

LADDER = Ladder((Step((), 4e-3, 1.0), Step((build.BLOCK,), 2.5e-3, 1.6), Step((build.UNROLL,), 2e-3, 1.25)), (), 7)


def test_last_lines_of_a_run_with_a_champion(tmp_path: Path) -> None:
    with build.finished_run(tmp_path / "r") as s:
        s.event("ladder", LADDER.as_dict())
        lines = report.final_lines(s, files=["runs/r/best.cu"], next_command="evo show")
    assert lines[0] == "Champion c1 (block-first): speed-up 2.00x over the baseline, confirmed on fresh data."
    text = "\n".join(lines)
    assert re.search(r"  baseline +4\.00 ms\n  AdjustBlockSize\(x: threads=128\) +2\.50 ms +1\.60x\n", text)
    assert "  tune   4096   4.00 ms ->  2.00 ms  2.00x (1.94 to 2.06)\n" in text
    assert "  check  777     400 us ->   500 us  0.80x (0.75 to 0.85)  LOSES\n" in text
    assert "It loses on 777: keep the baseline there." in text
    assert re.search(r"The search took \d+ s; [\d,]+ launches at 4096 pay for it\.", text)
    assert lines[-3:] == ["Written:", "  runs/r/best.cu", "Next: evo show"]


def test_payback_counts_launches() -> None:
    sizes = [report.SizeLine("a", "tune", 4e-3, 2e-3, 2.0, 1.9, 2.1),
             report.SizeLine("b", "tune", 1.0, 2.0, 0.5, .4, .6),
             report.SizeLine("c", "check", 4e-3, 2e-3, 2.0, 1.9, 2.1)]
    assert report.payback(600.0, sizes) == ["The search took 10m 00s; 300,000 launches at a pay for it."]
    assert [s.loses for s in sizes] == [False, True, False]


def test_noise_is_no_loss() -> None:
    assert not report.SizeLine("a", "check", 1.0, 1.01, 0.99, 0.95, 1.03).loses


def test_a_provisional_champion_says_so(tmp_path: Path) -> None:
    with Store.create(tmp_path / "r", {}, {}) as s:
        for key, t in (("baseline", 4e-3), ("a", 1e-3)):
            s.add_candidate(build.candidate(key, build.BLOCK))
            s.set_evaluation(build.evaluation(key, t))
        s.event("champion", {"key": "a"})
        lines = report.final_lines(s)
    assert "speed-up 4.00x over the baseline, provisional: not confirmed" in lines[0]
    assert "  AdjustBlockSize(x: threads=128)" in lines  # its genes, without factors


def test_a_ladder_of_another_champion_is_not_shown(tmp_path: Path) -> None:
    with build.finished_run(tmp_path / "r") as s:
        s.event("ladder", dataclasses.replace(LADDER, steps=LADDER.steps[:2]).as_dict())
        assert "Its genes, in order:" in report.final_lines(s)


def no_gain_run(folder: Path) -> Store:
    s = Store.create(folder, {"kernel": "k"}, {})
    for key, t in (("baseline", 4e-3), ("a", 5e-3)):
        s.add_candidate(build.candidate(key))
        s.set_evaluation(build.evaluation(key, t))
    s.add_candidate(build.candidate("bad"))
    s.set_evaluation(Evaluation("bad", Verdict.WRONG, "differs"))
    for n, code in ((1, "rare"), (3, "often")):
        for _ in range(n):
            s.add_refusal("x", "TileLoops(k)", code, f"because {code}", 12)
    return s


def test_a_candidate_that_looked_faster_is_called_unconfirmed(tmp_path: Path) -> None:
    with no_gain_run(tmp_path / "r") as s:
        s.add_candidate(build.candidate("b"))
        s.set_evaluation(build.evaluation("b", 3.2e-3))
        assert report.final_lines(s)[1] == ("Nearest: b at 1.25x of the baseline's speed in the search, which was not "
                                            "confirmed.")


def test_without_gain_the_roofline_and_the_refusals_speak(tmp_path: Path) -> None:
    with no_gain_run(tmp_path / "r") as s:
        lines = report.final_lines(s, roofline=Roofline(bytes=3.6e9, flops=1e9, bandwidth=1e12, rate=1e13))
    assert lines[0] == "No improvement over the baseline: 2 candidates evaluated, 1 of them correct and timed."
    assert lines[1] == "Nearest: a at 0.80x of the baseline's speed."
    assert "memory bandwidth of this device allows 3.60 ms: it runs at 90 % of the roofline (little is left" in lines[2]
    assert lines[3:] == ["What blocked most:", "  3x TileLoops: because often (line 12) [often]",
                         "  1x TileLoops: because rare (line 12) [rare]"]


def test_roofline() -> None:
    assert Roofline().floor is None
    assert Roofline(bytes=1e9, bandwidth=1e12, flops=1e12, rate=1e14).floor == (0.01, "arithmetic")
    line, = report.roofline_lines([build.timing(0.1)], Roofline(flops=1e12, rate=1e14))
    assert "10 % of the roofline (room for up to 10.0x)" in line
    line, = report.roofline_lines([build.timing(0.005)], Roofline(flops=1e12, rate=1e14))
    assert "faster than these figures allow" in line


def test_empty_runs_are_told_about(tmp_path: Path) -> None:
    with Store.create(tmp_path / "r", {}, {}) as s:
        assert report.final_lines(s) == ["No improvement over the baseline: 0 candidates evaluated, 0 of them correct "
                                         "and timed."]
        assert "No champion yet." in summary.show(s)
        assert "nothing was measured" in report_html.page(s)


def test_show(tmp_path: Path) -> None:
    with build.finished_run(tmp_path / "r") as s:
        lines = summary.show(s)
    text = "\n".join(lines)
    assert "scale, finished" in lines[0] and lines[1] == "device: test device (cuda)"
    assert "candidates: 3 (2 ok, 1 wrong result)" in lines
    assert "baseline: 4.00 ms at 4096" in lines
    assert re.search(r"\n  block-first +2 +2 +2\.00x\n  <tiles & co> +1 +0 +–\n", text)
    assert re.search(r"\n  c1 +2\.00 ms +64 +0 B +0 B +– +2\.00x +confirmation +block-first +2\n", text)
    assert "  3x TileLoops: the loop carries a sum (line 7) [tile-carries-dependence]" in lines


class Reader(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in ("meta", "rect", "line", "path"):
            self.open.append(tag)
        self.links += [v or "" for k, v in attrs if k in ("src", "href", "xlink:href")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_well_formed_self_contained_and_escaped(tmp_path: Path) -> None:
    with build.finished_run(tmp_path / "r") as s:
        s.problem["note"] = "</pre><script>alert(1)</script>"
        s.add_refusal("<b>", "<i>(x)", "c", "<script>alert(2)</script>", 3)
        s.event("ladder", LADDER.as_dict())
        path = report_html.write(s, tmp_path / "report.html")
        with pytest.raises(InputError, match="cannot write"):
            report_html.write(s, tmp_path / "none" / "report.html")
    text = path.read_text()
    reader = Reader()
    reader.feed(text)
    assert reader.open == [] and reader.links == []
    assert "script" not in reader.tags and "b" not in reader.tags and "i" not in reader.tags
    assert reader.tags.count("svg") == 2 and "http" not in text and "url(" not in text and "@import" not in text
    assert "&lt;script&gt;alert(2)" in text and "AdjustBlockSize(x: threads=128)" in text
    assert "__global__ void scale(const float* A" in text


finite = st.floats(-1e6, 1e6)


@given(st.lists(st.tuples(finite, st.floats(1e-9, 1e3)), min_size=1, max_size=12))
def test_plot_keeps_every_point_inside_the_frame(points: list[tuple[float, float]]) -> None:
    text = plot.svg("t", plot.Axis("x", str), plot.Axis("y", str, log=True), [(p, "") for p in points], points, True)
    places = re.findall(r'cx="([-\d.]+)" cy="([-\d.]+)"', text)
    assert len(places) == len(points)
    assert all(80 <= float(a) <= 624 and 16 <= float(b) <= 272 for a, b in places)


def test_plot_leaves_out_what_has_no_place() -> None:
    dots = [((1.0, math.nan), ""), ((1.0, -1.0), ""), ((1.0, 2.0), "<kept>")]
    text = plot.svg("t", plot.Axis("x", str), plot.Axis("y", str, log=True), dots)
    assert text.count("<circle") == 1 and "&lt;kept&gt;" in text


@given(st.floats(1e-9, 1e9), st.floats(1e-9, 1e9), st.booleans())
def test_ticks_lie_within(a: float, b: float, log: bool) -> None:
    low, high = min(a, b), max(a, b)
    found = plot.ticks(low, high, log)
    assert 1 <= len(found) <= 8 and found == sorted(found)
    assert all(low <= v <= high for v in found)
