"""Input data, small sizes, limits and constraints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from genome.errors import InputError
from genome.program import Launch, Program
from genome.workload import Argument, Size, Workload
from gpu import data, limits, sizes
from gpu.records import DeviceInfo, Resources
from tests.conformance.sgemm_text import program, size, workload

N100 = Size((("n", 100),))


def vector(init: str, dtype: str = "float32", folder: str = ".") -> Workload:
    return Workload((Argument("x", dtype, "n", init=init), Argument("y", "float32", "n", "out")), (N100,),
                    folder=folder)


def test_same_seed_same_bytes_and_arguments_differ() -> None:
    problem = workload((size(8, 8, 8),))
    one, two = (data.host_arrays(problem, size(8, 8, 8), 3) for _ in range(2))
    assert all(np.array_equal(one[n], two[n]) for n in "AB") and set(one) == {"A", "B"}
    assert not np.array_equal(one["A"], one["B"])
    assert not np.array_equal(one["A"], data.host_arrays(problem, size(8, 8, 8), 4)["A"])


@pytest.mark.parametrize(("init", "dtype", "check"), [
    ("normal", "float32", lambda x: abs(x.mean()) < 0.5 and (x < 0).any()),
    ("uniform", "float64", lambda x: 0 <= x.min() and x.max() < 1),
    ("zeros", "int32", lambda x: not x.any()),
    ("constant:2.5", "float16", lambda x: (x == 2.5).all()),
    ("integers:3:6", "uint8", lambda x: set(x) == {3, 4, 5}),
    ("permutation", "int64", lambda x: sorted(x) == list(range(100))),
])
def test_kinds_of_data(init: str, dtype: str, check: object) -> None:
    x = data.host_arrays(vector(init, dtype), N100, 0)["x"]
    assert x.dtype == dtype and x.size == 100 and check(x)  # type: ignore[operator]


def test_data_from_files(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(100, dtype=np.float32))
    (tmp_path / "make.py").write_text("def ramp(count, dtype, scalars, rng):\n"
                                      "    import numpy as np\n    return np.full(count, scalars['n'], dtype)\n")
    assert data.host_arrays(vector("x.npy", folder=str(tmp_path)), N100, 0)["x"][99] == 99
    assert (data.host_arrays(vector("make.py:ramp", folder=str(tmp_path)), N100, 0)["x"] == 100).all()
    for init, words in [("gone.npy", "gone.npy"), ("make.py:slope", "slope"), ("gone.py:f", "no such file"),
                        ("gauss", "is not known"), ("integers:a:b", "invalid literal")]:
        with pytest.raises(InputError, match=words):
            data.host_arrays(vector(init, folder=str(tmp_path)), N100, 0)
    with pytest.raises(InputError, match="needed are 100 of float64"):
        data.host_arrays(vector("x.npy", "float64", str(tmp_path)), N100, 0)


def test_variations() -> None:
    given = data.host_arrays(vector("normal"), N100, 0)["x"]
    for kind, factor in [("x3", 3), ("x0.01", 0.01), ("negated", -1), ("zeros", 0), ("x1000", 1000)]:
        assert data.host_arrays(vector("normal"), N100, 0, kind)["x"] == pytest.approx(given * factor)
    integers = data.host_arrays(vector("normal"), N100, 0, "integers")["x"]
    assert set(integers) == {-2, -1, 0, 1, 2}
    fixed = vector("permutation", "int32")  # an index: never varied
    assert data.distributions(fixed) == ("given",)
    assert sorted(data.host_arrays(fixed, N100, 0, "x3")["x"]) == list(range(100))


def test_scalars_must_fit() -> None:
    with pytest.raises(InputError, match="4294967296 does not fit int32"):
        data.scalar(Argument("n", "int32", value="n"), 2**32)
    assert data.scalar(Argument("n", "int64", value="n"), 2**32).dtype == np.int64
    with pytest.raises(InputError, match="unknown type 'float'"):
        data.dtype_of(Argument("a", "float", "n"))


def test_small_sizes_are_odd_and_admissible() -> None:
    problem = workload((size(4096, 4096, 4096),), (size(1000, 1500, 777), size(65, 96, 50)))
    found = sizes.proxy_sizes(problem, program("opencl"), 2.0**20)
    assert found[0] == size(65, 96, 50)  # the declared one that is small enough
    assert size(1, 1, 1) in found and size(67, 130, 37) in found and len(found) == 5


def test_small_sizes_meet_assumptions() -> None:
    problem = Workload(workload(()).arguments, (size(512, 512, 512),), assume=("N % 4 == 0", "M == N", "K >= 16"))
    found = sizes.proxy_sizes(problem, program("opencl"), 2.0**20)
    assert found
    for small in found:
        values = small.as_dict()
        assert values["N"] % 4 == 0 and values["M"] == values["N"] and values["K"] >= 16


def test_computed_scalars_count_as_extents() -> None:
    problem = Workload((Argument("x", "float32", "n"), Argument("n", "int32", value="2 * m")),
                       (Size((("m", 1000), ("steps", 3))),))
    assert sizes.shape_scalars(problem) == ["m"]


DEVICE = DeviceInfo("cuda", "test", max_shared_optin=232448)


def test_launch_limits() -> None:
    assert "2048 threads" in limits.over_block_limits(program("cuda", block=(64, 32, 1)), DEVICE)
    assert "exceeds" in limits.over_block_limits(program("cuda", block=(1, 1, 65)), DEVICE)
    assert limits.over_block_limits(program("cuda"), DEVICE) == ""
    tall = program("cuda", grid=("1", "M", "1"))
    assert limits.over_grid_limits(tall, {"M": 65535}, DEVICE) == ""
    assert "grid.y of sgemm is 65536" in limits.over_grid_limits(tall, {"M": 65536}, DEVICE)
    fat = Program("", (Launch("k", ("1", "1", "1"), (32, 1, 1), 300000),))
    assert "300000 bytes" in limits.over_block_limits(fat, DEVICE)


def test_constraints() -> None:
    use = Resources(registers=80, spill_bytes=8, shared_bytes=1024, occupancy=0.5)
    assert limits.over_constraints(("registers <= 80", "threads == 256"), program("cuda"), use) == ""
    assert limits.over_constraints(("spill_bytes == 0",), program("cuda"), use) == "spill_bytes == 0: spill_bytes is 8"
    # unknown on this back end: cannot be judged
    assert limits.over_constraints(("occupancy > 0.5",), program("opencl"), Resources()) == ""
    too_many = Resources(registers=128, shared_bytes=1024, occupancy=0.0)
    assert limits.over_resources(program("cuda"), too_many).startswith("a block of 256 threads with 128 registers each")
    assert limits.over_resources(program("cuda"), use) == limits.over_resources(program("opencl"), Resources()) == ""


def test_preconditions() -> None:
    guarded = program("cuda", preconditions=("N % 4 == 0", "disjoint(A, C)"))
    assert limits.applies(guarded, {"N": 8}) and not limits.applies(guarded, {"N": 6})
    assert not limits.applies(program("cuda", preconditions=("aligned(A, 16)",)), {"N": 8})
