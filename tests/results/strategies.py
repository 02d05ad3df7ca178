"""Hypothesis strategies for the records of a run."""

from __future__ import annotations

from hypothesis import strategies as st

from genome.gene import Gene
from gpu.interface import Confirmation
from gpu.records import Evaluation, Resources, Timing, Verdict
from results.records import Candidate
from results.rows import Row

texts = st.text(max_size=30)
names = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)
floats = st.floats(allow_nan=False)  # NaN is unequal to itself: it has a test of its own
positive = st.floats(1e-9, 1e3)
counts = st.integers(-1, 2**31)

params = st.one_of(st.integers(-(2**40), 2**40), texts, st.booleans(),
                   st.lists(st.integers(0, 999), max_size=4).map(tuple))
genes = st.builds(lambda m, s, p: Gene.make(m, s, **p), names, texts, st.dictionaries(
    names.filter(lambda n: n[0].isalpha() and n not in ("mutator", "site")), params, max_size=3))
genomes = st.lists(genes, max_size=5).map(tuple)

resources = st.builds(Resources, registers=counts, spill_bytes=counts, stack_bytes=counts, shared_bytes=counts,
                      constant_bytes=counts, code_bytes=counts, compile_seconds=floats, occupancy=floats, binary=texts)
timings = st.builds(Timing, size=texts, samples=st.lists(floats, max_size=4).map(tuple), median=floats, low=floats,
                    high=floats, champion=st.lists(floats, max_size=3).map(tuple))
many_timings = st.lists(timings, max_size=3).map(tuple)
evaluations = st.builds(Evaluation, key=names, verdict=st.sampled_from(Verdict), reason=texts, resources=resources,
                        timings=many_timings, check_timings=many_timings, max_error=floats, device_seconds=floats,
                        log=texts)
confirmations = st.builds(
    Confirmation, evaluation=evaluations, accepted=st.booleans(), baseline=many_timings, candidate=many_timings,
    speedups=st.lists(st.tuples(texts, floats, floats, floats), max_size=3).map(tuple), reason=texts)
candidates = st.builds(
    Candidate, key=names, agent=texts, round=st.integers(0, 10**6), parents=st.lists(texts, max_size=3).map(tuple),
    genome=genomes, operation=texts, features=st.dictionaries(texts, floats, max_size=4),
    predicted=st.none() | floats, explored=st.booleans(), preconditions=st.lists(texts, max_size=3).map(tuple),
    source=texts, launches=texts, seconds=positive, source_opencl=texts)

# Few distinct figures, so that ties and equal rows happen.
rows = st.builds(
    Row, key=names, verdict=st.sampled_from([Verdict.OK, Verdict.OK, Verdict.OK, Verdict.WRONG]),
    latency=st.none() | st.sampled_from([1e-3, 2e-3, 3e-3, 4e-3]),
    resources=st.builds(Resources, registers=st.sampled_from([-1, 16, 32, 64]), shared_bytes=st.sampled_from([0, 1024]),
                        occupancy=st.sampled_from([-1.0, 0.25, 0.5, 1.0])))
