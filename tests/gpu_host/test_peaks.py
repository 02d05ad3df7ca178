"""A device's peaks are kept between runs, the higher measurement of two, and nothing that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu import peaks
from gpu.records import DeviceInfo


def measured(bandwidth: float, flops: float, name: str = "card") -> DeviceInfo:
    return DeviceInfo("cuda", name, bandwidth=bandwidth, flops=flops)


def test_the_higher_measurement_holds(tmp_path: Path) -> None:
    first = peaks.keep(measured(4e12, 3e13), str(tmp_path))
    assert (first.bandwidth, first.flops) == (4e12, 3e13)
    busy = peaks.keep(measured(2e12, 6e13), str(tmp_path))
    assert (busy.bandwidth, busy.flops) == (4e12, 6e13)
    assert peaks.keep(measured(1e12, 1e13, "another"), str(tmp_path)).bandwidth == 1e12


@pytest.mark.parametrize("text", ["", "{", "[]", '{"bandwidth": "much", "flops": null}', '{"bandwidth": 9e13}'])
def test_a_damaged_or_implausible_file_is_passed_over(tmp_path: Path, text: str) -> None:
    peaks.keep(measured(4e12, 3e13), str(tmp_path))
    (file,) = (tmp_path / "devices").iterdir()
    file.write_text(text)
    again = peaks.keep(measured(3e12, 2e13), str(tmp_path))
    assert (again.bandwidth, again.flops) == (3e12, 2e13)
    assert peaks.keep(measured(2e12, 2e13), str(tmp_path)).bandwidth == 3e12, "and is written anew"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert peaks.keep(measured(4e12, 0.0), str(tmp_path / "file")).bandwidth == 4e12
