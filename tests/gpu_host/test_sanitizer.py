"""Reading compute-sanitizer's reports (the tool itself needs a GPU)."""

from __future__ import annotations

from gpu import sanitizer

MEMCHECK = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at k(float *)+0x90
=========     by thread (0,0,0) in block (0,0,0)
=========     Access to 0x7f0000000400 is out of bounds
========= ERROR SUMMARY: 1 error
"""
RACES = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at k(float *)+0x110
=========     and Read access at k(float *)+0x1d0 [124 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
CLEAN = """========= COMPUTE-SANITIZER
========= ERROR SUMMARY: 0 errors
"""
CLEAN_RACES = """========= COMPUTE-SANITIZER
========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)
"""
REFUSED = """========= COMPUTE-SANITIZER
========= Error: Device not supported. Please refer to the "Supported Devices" section of the documentation
========= ERROR SUMMARY: 1 error
"""


def test_reports() -> None:
    assert sanitizer.parse("memcheck", MEMCHECK) == ["memcheck: Invalid __global__ write of size 4 bytes"]
    assert sanitizer.parse("racecheck", RACES) == [
        "racecheck: Error: Race reported between Write access at k(float *)+0x110"]
    assert sanitizer.parse("memcheck", CLEAN) == sanitizer.parse("racecheck", CLEAN_RACES) == []


def test_a_tool_that_the_machine_refuses_is_no_finding() -> None:
    assert sanitizer.parse("memcheck", REFUSED) == []


def test_an_error_count_alone_is_a_finding() -> None:
    assert sanitizer.parse("memcheck", "========= ERROR SUMMARY: 3 errors") == ["memcheck: ERROR SUMMARY: 3 errors"]
    assert sanitizer.parse("racecheck", "========= RACECHECK SUMMARY: 4 hazards displayed (0 errors, 4 warnings)") == []
