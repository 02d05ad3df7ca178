"""Races between barriers: may two threads of a block touch one element, one of them writing, with no barrier between?

Threads of a block are told apart by their linear index. Two accesses are *concurrent* when no barrier separates them:
in the same stretch of code and the same iteration of the loops that hold barriers, or from the end of one iteration
to the start of the next. For each pair of concurrent accesses isl is asked for two distinct threads that touch one
element; none means proved. A race is claimed only with a witness, and only where every condition on the way was
understood; all else is "not proved". Arrays that come in by different parameters are taken to be disjoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from genome import ir
from genome.build import PURE_FUNCTIONS
from genome.errors import Loc
from genome.poly import Poly, is_integer
from genome.prove import empty, sample
from genome.purity import SILENT
from genome.touches import ATOMIC, AXES, COUNT, Barrier, Choice, Cycle, Item, Touch, Touches, collect
from genome.uniform import uniformity

MAX_PAIRS = 600  # pairs of accesses that are looked at
Number = int | float
Threads = tuple[tuple[int, int, int], tuple[int, int, int]]


@dataclass(frozen=True)
class Race:
    """Two accesses of two threads of one block with no barrier in between. ``at``: values of what else it depends on,
    by its name in the source."""

    array: str
    first: Touch
    second: Touch
    threads: Threads
    at: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        verbs = {"read": "reads", "write": "writes", ATOMIC: "updates"}
        a, b = self.threads
        where = f" with {', '.join(f'{n} = {v}' for n, v in self.at)}" if self.at else ""
        lines = self.first.loc.line, self.second.loc.line
        return (f"thread {a} {verbs[self.first.kind]} an element of {self.array} (line {lines[0]}) that thread {b} "
                f"{verbs[self.second.kind]} (line {lines[1]}), with no barrier in between{where}")


@dataclass(frozen=True)
class Unproved:
    array: str
    reason: str
    loc: Loc


@dataclass(frozen=True)
class Races:
    """``proved``: arrays on which no two threads of a block meet between barriers; ``at_sizes``: those of them
    for which that is proved at the first size only."""

    races: tuple[Race, ...] = ()
    proved: tuple[str, ...] = ()
    unproved: tuple[Unproved, ...] = ()
    at_sizes: tuple[str, ...] = ()  # arrays whose proof holds at the given sizes only


@dataclass(frozen=True)
class _Open:
    """An access that some barrier-free way leads to, with what that way implies."""

    touch: Touch
    facts: tuple[Poly, ...] = ()
    exact: bool = True


@dataclass(frozen=True)
class _Pair:
    a: _Open
    b: _Open
    equal: frozenset[str] = frozenset()  # symbols with one value for both
    next: tuple[tuple[str, int | None], ...] = ()  # a is in the iteration before b's
    exact: bool = True


@dataclass(frozen=True)
class _Flow:
    first: tuple[_Open, ...]
    last: tuple[_Open, ...]
    through: bool  # the end may be reached from the start without a barrier
    sure: bool  # and is, whenever it is reached
    pairs: tuple[_Pair, ...]


def find_races(kernel: ir.Kernel, block: tuple[int, int, int], sizes: Sequence[Mapping[str, Number]] = (),
               pure: frozenset[str] = PURE_FUNCTIONS, silent: frozenset[str] = SILENT) -> Races:
    """``kernel``: in normal form. ``sizes``: values of its parameters; what is positive in all of them is taken to be
    so, and the first is tried where nothing is proved for all values. ``silent``: functions that touch no memory."""
    given = dict(sizes[0]) if sizes else {}
    known = uniformity(kernel, pure)
    params = tuple(Poly.sym(p.name) - Poly.const(1 if min(s[p.name] for s in sizes) >= 1 else 0) for p in kernel.params
                   if is_integer(p.type) and p.name in given and all(s.get(p.name, -1) >= 0 for s in sizes))
    touches = collect(kernel, block, known, params, silent)
    flow = _sequence(touches.items)
    every = all_touches(touches.items)
    arrays = sorted({t.array for t in every})
    races: list[Race] = []
    proved: list[str] = []
    unproved: list[Unproved] = []
    at_sizes: list[str] = []
    for array in arrays:
        problem = touches.problems.get(array) or touches.problems.get("")
        if problem is not None:
            unproved.append(Unproved(array, *problem))
            continue
        check = _Check(touches, block, {n: Poly.const(int(v)) for n, v in given.items() if isinstance(v, int)
                                        and n in touches.common})
        found = check.array([p for p in flow.pairs if p.a.touch.array == array])
        if found is None:
            proved.append(array)
            if check.fixed:
                at_sizes.append(array)
        elif isinstance(found, Race):
            races.append(found)
        else:
            unproved.append(found)
    return Races(tuple(races), tuple(proved), tuple(unproved), tuple(at_sizes))


def all_touches(items: tuple[Item, ...]) -> Iterator[Touch]:
    """The accesses in the order of the text."""
    for i in items:
        match i:
            case Touch():
                yield i
            case Choice(then=t, other=o):
                yield from all_touches(t)
                yield from all_touches(o)
            case Cycle(body=b):
                yield from all_touches(b)


# ------------------------------------------------------------------------------------------------ concurrency
def _sequence(items: tuple[Item, ...]) -> _Flow:
    first: tuple[_Open, ...] = ()
    last: tuple[_Open, ...] = ()
    pairs: list[_Pair] = []
    through = sure = True
    for item in items:
        f = _flow(item)
        pairs += f.pairs
        pairs += [_Pair(a, b) for a in last for b in f.first if _matter(a.touch, b.touch)]
        if through:
            first += f.first if sure else _doubtful(f.first)
        if not f.through:
            last = f.last
        else:
            last = (last if f.sure else _doubtful(last)) + f.last
        through, sure = through and f.through, sure and f.sure
    return _Flow(first, last, through, sure, tuple(pairs))


def _doubtful(opens: tuple[_Open, ...]) -> tuple[_Open, ...]:
    return tuple(replace(o, exact=False) for o in opens)


def _matter(a: Touch, b: Touch) -> bool:
    if a.array != b.array or (a.kind == ATOMIC and b.kind == ATOMIC):
        return False
    return "read" not in (a.kind, b.kind) or a.kind != b.kind


def _flow(item: Item) -> _Flow:
    match item:
        case Touch():
            o = _Open(item)
            own = (_Pair(o, o),) if item.kind == "write" and not item.same_value else ()
            return _Flow((o,), (o,), True, True, own)
        case Barrier():
            return _Flow((), (), False, False, ())
        case Choice(then=then, other=other):
            a, b = _sequence(then), _sequence(other)
            through = a.through or b.through
            return _Flow(a.first + b.first, a.last + b.last, through, through and a.sure and b.sure, a.pairs + b.pairs)
    return _cycle(item)


def _cycle(loop: Cycle) -> _Flow:
    f = _sequence(loop.body)
    pairs = [replace(p, equal=p.equal | loop.owned) for p in f.pairs]
    step = loop.step if not f.through else None
    others = {s for s in loop.owned - {loop.symbol} if not s.startswith(COUNT)}  # counts follow from the counter
    for a in f.last:
        for b in f.first:
            if _matter(a.touch, b.touch):
                known = loop.symbol is not None and step is not None
                order = ((loop.symbol, step),) if loop.symbol is not None else ()
                free = bool(others & (_symbols(a) | _symbols(b)))
                pairs.append(_Pair(a, b, frozenset(), order, known and not free))
    first, last = f.first, f.last
    if loop.symbol is not None and loop.start is not None and not f.through:
        v = Poly.sym(loop.symbol)
        first = tuple(replace(o, facts=o.facts + (v - loop.start, loop.start - v)) for o in first)
    else:
        first = _doubtful(first)
    if loop.last is not None and not f.through:
        last = tuple(replace(o, facts=(*o.facts, loop.last)) for o in last)
    else:
        last = _doubtful(last)
    return _Flow(first, last, f.through or loop.may_skip, False, tuple(pairs))


def _symbols(o: _Open) -> frozenset[str]:
    t = o.touch
    out = t.poly.symbols if t.poly is not None else frozenset()
    return out.union(*(f.symbols for f in t.facts + o.facts))


# ------------------------------------------------------------------------------------------------------ proof
class _Check:
    """Asks isl about the pairs of one array."""

    def __init__(self, touches: Touches, block: tuple[int, int, int], fixed: Mapping[str, Poly]) -> None:
        self.touches, self.block, self.values = touches, block, dict(fixed)
        self.fixed = False

    def array(self, pairs: list[_Pair]) -> Race | Unproved | None:
        """The first race with a witness, else why one pair is not proved, else None."""
        doubt: Unproved | None = None
        for n, p in enumerate(pairs):
            if n >= MAX_PAIRS:
                return doubt or Unproved(p.a.touch.array, f"more than {MAX_PAIRS} pairs of accesses", p.a.touch.loc)
            found = self.pair(p)
            if isinstance(found, Race):
                return found
            doubt = doubt or found
        return doubt

    def pair(self, p: _Pair) -> Race | Unproved | None:
        a, b = p.a.touch, p.b.touch
        if a.poly is None or b.poly is None:
            bad = a if a.poly is None else b
            return Unproved(a.array, "a subscript is no polynomial of thread indices and loop counters", bad.loc)
        if a.loc == b.loc and a.same_value and b.same_value:
            return None
        for order in ((1, -1) if p.a != p.b or p.next else (1,)):  # a pair with itself is symmetrical
            system, equal = self.system(p, order)
            if empty(system, equal):
                continue
            small = [f.substitute(self.values) for f in system]
            same = [f.substitute(self.values) for f in equal]
            if self.values and empty(small, same):
                self.fixed = True
                continue
            return self.witness(p, small, same)
        return None

    def witness(self, p: _Pair, system: list[Poly], equal: list[Poly]) -> Race | Unproved:
        a, b = p.a.touch, p.b.touch
        array = a.array
        exact = p.exact and p.a.exact and p.b.exact and a.exact and b.exact
        if self.touches.warp_level:
            return Unproved(array, "threads of a warp synchronise among themselves", a.loc)
        if not exact or not all(f.is_affine for f in (*system, *equal)):
            return Unproved(array, f"not proved that lines {a.loc.line} and {b.loc.line} touch different elements in "
                            "different threads", a.loc)
        point = sample(system, equal)
        if point is None:
            return Unproved(array, "the question is too large", a.loc)
        threads = tuple(tuple(point.get(f"threadIdx.{x}{s}", 0) for x in AXES) for s in ("'1", "'2"))
        mentioned = self._mentioned(p)
        values = {n: v for n, v in {**{n: v.constant for n, v in self.values.items()}, **point}.items()
                  if n in mentioned and "'" not in n and "#" not in n}
        return Race(array, a, b, threads, tuple(sorted(values.items())))  # type: ignore[arg-type]

    def _mentioned(self, p: _Pair) -> set[str]:
        """Symbols that the two accesses have to do with themselves, apart from standing facts."""
        base = set(self.touches.base)
        polys = [p.a.touch.poly, p.b.touch.poly, *p.a.facts, *p.b.facts]
        polys += [f for t in (p.a.touch, p.b.touch) for f in t.facts if f not in base]
        return {s for q in polys if q is not None for s in q.symbols}

    def system(self, p: _Pair, order: int) -> tuple[list[Poly], list[Poly]]:
        """(what is not negative, what is zero) when both happen in two threads, the first with the smaller index."""
        a, b = p.a.touch, p.b.touch
        assert a.poly is not None and b.poly is not None
        used = _symbols(p.a) | _symbols(p.b) | {f"threadIdx.{x}" for x in AXES} | p.equal
        used |= {s for s, _ in p.next}
        base = self._relevant(used)
        for f in base:
            used |= f.symbols
        private = frozenset(used - self.touches.common)
        system: list[Poly] = []
        for touch, extra, suffix in ((a, p.a.facts, "'1"), (b, p.b.facts, "'2")):
            names = {n: Poly.sym(n + suffix) for n in private}
            system += [f.substitute(names) for f in (*base, *touch.facts, *extra)]
        one, two = ({n: Poly.sym(n + s) for n in private} for s in ("'1", "'2"))
        equal = [a.poly.substitute(one) - b.poly.substitute(two)]
        equal += [one[n] - two[n] for n in sorted(p.equal & private)]
        for symbol, step in p.next:
            if step is not None:
                equal.append(two[symbol] - one[symbol] - Poly.const(step))
        linear, size = Poly(), 1
        for x, extent in zip(AXES, self.block, strict=True):
            if extent > 1:
                linear = linear + Poly.sym(f"threadIdx.{x}") * Poly.const(size)
            size *= extent
        gap = linear.substitute(two) - linear.substitute(one)
        system.append((gap if order > 0 else -gap) - Poly.const(1))
        return system, equal

    def _relevant(self, used: frozenset[str]) -> list[Poly]:
        """The standing facts that have to do with the symbols, also through others."""
        out: list[Poly] = []
        rest = [f for f in self.touches.base if not f.is_constant]
        reach = set(used)
        while True:
            more = [f for f in rest if f.symbols & reach]
            if not more:
                return out
            out += more
            for f in more:
                reach |= f.symbols
            rest = [f for f in rest if f not in more]
