"""A synthetic search problem: fake mutators over a fake state, a fake evaluator with noise, crashes and wrong results.

The time model imitates a matrix product on a GPU: staging is refused without a tile and is *worse* than nothing
until threads are coarsened, coarsening spills when overdone, tiles alone cost, two mutators are decoys. The best of
the space is about 20 times faster than its baseline and takes six coupled genes.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from evo.search.draws import Draws
from evo.search.space import Expression, Place
from genome.errors import Refusal
from genome.gene import Gene, Genome, ParamValue, genome_key
from genome.program import Launch, Program
from gpu.interface import Confirmation, GateReport
from gpu.records import DeviceInfo, Evaluation, Resources, Timing, Verdict
from mutators.base import Direction


@dataclass(frozen=True)
class State:
    order: str = "yx"  # the axis that varies fastest first: "yx" is uncoalesced
    bx: int = 16
    by: int = 16
    ix: int = 1
    iy: int = 1
    tile: int = 0
    stage_a: int = -1  # padding; -1: not staged
    stage_b: int = -1
    unroll: int = 1
    reorder: bool = False
    swizzle: int = 0
    hoist: bool = False

    @property
    def threads(self) -> int:
        return self.bx * self.by

    @property
    def shared(self) -> int:
        a = 4 * self.tile * (self.by * self.iy + max(self.stage_a, 0)) if self.stage_a >= 0 else 0
        b = 4 * self.tile * (self.bx * self.ix + max(self.stage_b, 0)) if self.stage_b >= 0 else 0
        return a + b

    @property
    def registers(self) -> int:
        return int(22 + 1.15 * self.ix * self.iy + self.ix + self.iy + 1.5 * self.unroll + 6 * self.reorder)

    @property
    def occupancy(self) -> float:
        blocks = min(65536 // (min(self.registers, 255) * self.threads), 2048 // self.threads, 32)
        if self.shared:
            blocks = min(blocks, 228 * 1024 // self.shared)
        return blocks * self.threads / 2048


def seconds(s: State) -> float:
    """Time of the noiseless model."""
    coalescing = 1.0 if s.order == "xy" and s.bx >= 8 else 0.25 if s.order == "xy" else 0.16
    if s.order == "yx" and s.stage_a >= 0 and s.stage_b >= 0:
        coalescing = 0.5
    a_cost = 1 / (s.bx * s.ix) if s.stage_a >= 0 else max(0.5 / s.ix, 0.2)
    b_cost = 1 / (s.by * s.iy) if s.stage_b >= 0 else max(0.5 / s.iy, 0.2)
    global_loads = (a_cost + b_cost) * 14 / coalescing
    conflict = 1.0 if s.stage_a > 0 else 1.5
    shared_loads = ((s.stage_a >= 0) / s.iy * conflict + (s.stage_b >= 0) / s.ix) * 3.0
    loop = 1.0 + (1.2 / min(s.unroll, 8)) / math.sqrt(s.ix * s.iy) + (0.25 if s.unroll > 16 else 0.0)
    if s.tile:
        loop *= 1.0 + 1.2 / s.tile
    if s.stage_a >= 0 or s.stage_b >= 0:
        loop *= 1.0 + 3.0 / s.tile
    parallel = s.occupancy * min(4.0, math.sqrt(s.ix * s.iy) * (1.25 if s.reorder else 1.0))
    hiding = min(1.0, 0.25 + parallel)
    waste = 1.0 + 0.35 * max(0.0, math.log2(s.bx * s.ix * s.by * s.iy / 16384))
    waste *= 1.0 + 0.25 * max(0.0, math.log2(s.bx * s.ix / (s.by * s.iy)) - 2) + (s.threads < 64)
    spill = 1.0 + max(0, s.registers - 200) / 40
    busy = max(global_loads, loop + shared_loads) + 0.3 * min(global_loads, loop + shared_loads)
    return 1e-3 * busy / hiding * waste * spill * (1.0 - 0.02 * (s.swizzle == 8)) * (1.01 if s.hoist else 1.0)


VALUES: dict[str, dict[str, tuple[ParamValue, ...]]] = {
    "AdjustBlockSize": {"x": (4, 8, 16, 32, 64, 128), "y": (1, 2, 4, 8, 16, 32)},
    "CoalesceMemoryAccess": {"order": ("xy", "yx")},
    "CoarsenThreads": {"items": (1, 2, 4, 6, 8, 12, 16)},
    "TileLoops": {"size": (4, 8, 16, 32, 64)},
    "UseSharedMemory": {"pad": (0, 1, 4)},
    "UnrollLoop": {"factor": (2, 4, 8, 16, 32)},
    "ReorderInstructions": {"on": (True,)},
    "Swizzle": {"width": (2, 4, 8, 16)},
    "Hoist": {"on": (True, False)},
}
DIRECTIONS = {
    "AdjustBlockSize": Direction.OCCUPANCY, "CoalesceMemoryAccess": Direction.MEMORY_TRAFFIC,
    "CoarsenThreads": Direction.COMPUTE, "TileLoops": Direction.MEMORY_TRAFFIC,
    "UseSharedMemory": Direction.MEMORY_TRAFFIC, "UnrollLoop": Direction.LATENCY,
    "ReorderInstructions": Direction.LATENCY, "Swizzle": Direction.MEMORY_TRAFFIC, "Hoist": Direction.CLEAN_UP,
}
SITES: dict[str, tuple[tuple[str, str], ...]] = {
    "AdjustBlockSize": (("block", "kernel"),), "CoalesceMemoryAccess": (("block", "kernel"),),
    "CoarsenThreads": (("x", "axis"), ("y", "axis")), "TileLoops": (("k", "loop"),),
    "UseSharedMemory": (("A", "array"), ("B", "array")), "UnrollLoop": (("k", "loop"),),
    "ReorderInstructions": (("k", "loop"),), "Swizzle": (("block", "kernel"),), "Hoist": (("k", "loop"),),
}


def edit(s: State, gene: Gene) -> State:
    """One gene; raises Refusal like a real mutator."""
    p = gene.as_dict()
    if gene.mutator == "AdjustBlockSize":
        s = replace(s, bx=int(p["x"]), by=int(p["y"]))  # type: ignore[arg-type]
    elif gene.mutator == "CoalesceMemoryAccess":
        s = replace(s, order=str(p["order"]))
    elif gene.mutator == "CoarsenThreads":
        s = replace(s, **{f"i{gene.site}": p["items"]})  # type: ignore[arg-type]
    elif gene.mutator == "TileLoops":
        if s.stage_a >= 0 or s.stage_b >= 0:
            raise Refusal("tile-under-stage", "the loop is staged already")
        s = replace(s, tile=int(p["size"]))  # type: ignore[arg-type]
    elif gene.mutator == "UseSharedMemory":
        if not s.tile:
            raise Refusal("stage-needs-tile", "the footprint does not fit without a tiled loop")
        s = replace(s, **{f"stage_{gene.site.lower()}": p["pad"]})  # type: ignore[arg-type]
    elif gene.mutator == "UnrollLoop":
        s = replace(s, unroll=int(p["factor"]))  # type: ignore[arg-type]
    elif gene.mutator == "ReorderInstructions":
        s = replace(s, reorder=True)
    elif gene.mutator == "Swizzle":
        s = replace(s, swizzle=int(p["width"]))  # type: ignore[arg-type]
    elif gene.mutator == "Hoist":
        s = replace(s, hoist=bool(p["on"]))
    if not 32 <= s.threads <= 1024:
        raise Refusal("block-size", f"{s.threads} threads")
    if s.shared > 49152:
        raise Refusal("shared-memory", f"{s.shared} bytes of shared memory")
    return s


class Landscape:
    """The :class:`evo.search.space.Space` of the fake problem."""

    def __init__(self, *, sketches: bool = False, vetoed: Sequence[str] = ()) -> None:
        self.directions = {m: d for m, d in DIRECTIONS.items() if m not in vetoed}
        self.sketches = ("contraction",) if sketches else ()
        self.cache: dict[Genome, Expression] = {}

    def express(self, genome: Genome) -> Expression:
        found = self.cache.get(genome)
        if found is None:
            found = self.cache[genome] = self._express(genome)
        return found

    def _express(self, genome: Genome) -> Expression:
        s, kept, refused = State(), [], []
        for gene in genome:
            try:
                s = edit(s, gene)
                kept.append(gene)
            except Refusal as r:
                refused.append((gene, r))
        effective = tuple(kept)
        return Expression(effective, genome_key(effective), tuple(refused), features(s), s)

    def places(self, at: Expression) -> Sequence[Place]:
        return [Place(m, site, kind, d) for m, d in self.directions.items() for site, kind in SITES[m]
                if m != "UseSharedMemory" or at.state.tile]

    def domain(self, at: Expression, mutator: str, site: str) -> Mapping[str, Sequence[ParamValue]]:
        return VALUES[mutator]

    def sketch(self, name: str, draws: Draws) -> Genome:
        def draw(mutator: str, site: str) -> Gene:
            return Gene.make(mutator, site, **{n: draws.choice(v) for n, v in VALUES[mutator].items()})
        return (draw("AdjustBlockSize", "block"), draw("CoarsenThreads", "x"), draw("CoarsenThreads", "y"),
                draw("TileLoops", "k"), draw("UseSharedMemory", "A"), draw("UseSharedMemory", "B"))

    def program(self, at: Expression) -> Program:
        s: State = at.state
        return Program(json.dumps(asdict(s)), (Launch("k", ("1", "1", "1"), (s.bx, s.by, 1), s.shared),))

    def cuda(self, at: Expression) -> str:
        return self.program(at).source


def features(s: State) -> dict[str, float]:
    a = 1 / (s.bx * s.ix) if s.stage_a >= 0 else 0.5 / s.ix
    b = 1 / (s.by * s.iy) if s.stage_b >= 0 else 0.5 / s.iy
    return {"threads": s.threads, "items": s.ix * s.iy, "shared_bytes": s.shared, "bytes": a + b,
            "intensity": 1 / (a + b), "coalescing": 1.0 if s.order == "xy" else 0.1,
            "barriers": float(s.stage_a >= 0 or s.stage_b >= 0), "loop_depth": 1 + (s.tile > 0)}


def chance(s: State, salt: str) -> float:
    return int(hashlib.sha256((salt + repr(s)).encode()).hexdigest()[:8], 16) / 2**32


class FakeEvaluator:
    """Deterministic in the order of submission. ``noise`` is the relative spread of one sample."""

    def __init__(self, seed: int = 0, *, noise: float = 0.02, crashes: float = 0.03, wrong: float = 0.03) -> None:
        self.random = random.Random(seed)
        self.noise, self.crashes, self.wrong = noise, crashes, wrong
        self.device = DeviceInfo("replay", "synthetic")
        self.queue: list[tuple[str, Program]] = []
        self.now = 0.0
        self.champions: list[str] = []
        self.confirmed: list[str] = []
        self.evaluated: list[str] = []

    def clock(self) -> float:
        return self.now

    def gate(self) -> GateReport:
        self.now += 1.0
        return GateReport(self._ok("baseline", State()), True, 0.0)

    def submit(self, key: str, program: Program) -> None:
        self.queue.append((key, program))

    def pending(self) -> int:
        return len(self.queue)

    def collect(self, timeout: float) -> list[Evaluation]:
        if not self.queue:
            self.now += timeout
            return []
        done, self.queue = self.queue[:2], self.queue[2:]
        return [self.evaluate(k, p) for k, p in done]

    def evaluate(self, key: str, program: Program) -> Evaluation:
        s = State(**json.loads(program.source))
        self.evaluated.append(key)
        self.now += 0.25
        if chance(s, "crash") < self.crashes:
            self.now += 1.0
            return Evaluation(key, Verdict.CRASHED, "illegal address", Resources(s.registers), device_seconds=1.0)
        if chance(s, "wrong") < self.wrong:
            return Evaluation(key, Verdict.WRONG, "element 7 differs", Resources(s.registers), device_seconds=0.1)
        return self._ok(key, s)

    def _ok(self, key: str, s: State) -> Evaluation:
        t = self._timing(seconds(s))
        spill = max(0, s.registers - 255) * 4
        r = Resources(min(s.registers, 255), spill, 0, s.shared, occupancy=s.occupancy, binary=repr(s))
        return Evaluation(key, Verdict.OK, "", r, (t,), device_seconds=0.1)

    def _timing(self, true: float) -> Timing:
        samples = sorted(true * math.exp(self.random.gauss(0.0, self.noise)) for _ in range(7))
        return Timing("n", tuple(samples), samples[3], samples[1], samples[5])

    def abandon(self) -> None:
        self.queue.clear()

    def set_champion(self, key: str, program: Program, median: float) -> None:
        self.champions.append(key)

    def confirm(self, key: str, program: Program, limit: float = math.inf) -> Confirmation:
        self.now += 3.0
        self.confirmed.append(key)
        s = State(**json.loads(program.source))
        base, own = self._timing(seconds(State())), self._timing(seconds(s))
        e = Evaluation(key, Verdict.OK, timings=(own,))
        ratio = base.median / own.median
        low = base.low / own.high
        return Confirmation(e, low > 1.0, (base,), (own,), (("n", ratio, low, base.high / own.low),),
                            "" if low > 1.0 else "not faster")

    def close(self) -> None:
        self.queue.clear()


class MemoryStore:
    """What the engine writes, in lists; can be read back for a resumed run."""

    def __init__(self) -> None:
        self.added: dict[str, object] = {}
        self.verdicts: list[Evaluation] = []
        self.refusals: list[tuple[str, str, str]] = []
        self.log: list[tuple[str, dict[str, object]]] = []
        self.confirmations: list[tuple[str, Confirmation]] = []
        self.states: dict[str, bytes | str] = {}
        self.status = "running"
        self.seconds = 0.0

    def add_candidate(self, c) -> None:  # type: ignore[no-untyped-def]
        if c.key in self.added:
            raise ValueError(c.key)
        self.added[c.key] = c

    def set_evaluation(self, e: Evaluation) -> None:
        assert e.key in self.added, "recorded before it is evaluated"
        self.verdicts.append(e)

    def add_confirmation(self, key: str, confirmation: Confirmation) -> None:
        self.confirmations.append((key, confirmation))

    def add_refusal(self, agent: str, gene: str, code: str, reason: str, line: int = 0) -> None:
        self.refusals.append((agent, gene, code))

    def event(self, kind: str, data: dict[str, object]) -> None:
        self.log.append((kind, json.loads(json.dumps(data))))

    def save_state(self, name: str, data: bytes | str) -> None:
        self.states[name] = data

    def load_state(self, name: str) -> bytes | str | None:
        return self.states.get(name)

    def set_status(self, status: str) -> None:
        self.status = status

    def elapsed(self) -> float:
        return self.seconds

    def candidates(self):  # type: ignore[no-untyped-def]
        return list(self.added.values())

    def evaluations(self) -> list[Evaluation]:
        return list(self.verdicts)


class Quiet:
    """A display that only remembers."""

    def __init__(self) -> None:
        self.snapshots: list[object] = []
        self.messages: list[str] = []

    def update(self, snapshot: object) -> None:
        self.snapshots.append(snapshot)

    def message(self, text: str) -> None:
        self.messages.append(text)
