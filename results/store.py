"""The run store: one SQLite file that is the run. Every fact is a transaction of its own, written before it is acted
on, so a killed run loses at most the fact in flight.

Keys of the ``problem`` dictionary that this package reads (all optional; the rest is kept as it is):
``kernel`` (name, or a table with ``name`` and ``flags``), ``weights`` ({size text: weight}, default 1),
``objectives`` and ``constraints`` (lists of text), ``parameters`` ([{type, name, shape, value}], see
:mod:`results.export`), ``flags``; of ``environment``: ``device`` (fields of :class:`gpu.records.DeviceInfo`).
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from genome.errors import InputError
from genome.gene import from_json, to_json
from gpu.interface import Confirmation
from gpu.records import Evaluation, Resources, Verdict
from results import codec, owner, rows, schema
from results.folders import Location, latest_run, run_folder
from results.records import Candidate
from results.rows import Row

__all__ = ["BASELINE", "Event", "RefusalCount", "Store", "latest_run", "run_folder"]

BASELINE = "baseline"
STATUSES = ("running", "finished", "interrupted")


@dataclass(frozen=True)
class Event:
    kind: str
    data: dict[str, Any]
    seconds: float  # since the run began


@dataclass(frozen=True)
class RefusalCount:
    """How often one cause refused one mutator; ``gene``, ``agent`` and ``line`` are those of the first time."""

    code: str
    mutator: str
    reason: str
    count: int
    line: int = 0
    gene: str = ""
    agent: str = ""


class Store:
    """An open run. A context manager; may be shared between threads, not across a fork."""

    def __init__(self, location: Location, db: sqlite3.Connection) -> None:
        self._location, self._db = location, db
        self._lock = threading.RLock()
        self._closed = False
        self._baseline: Evaluation | None = None
        self._owner = False
        self._clock: float | None = None  # monotonic time at which the run's own clock read zero
        self.folder = location.folder
        self.problem: dict[str, Any] = json.loads(self._meta("problem") or "{}")
        self.environment: dict[str, Any] = json.loads(self._meta("environment") or "{}")
        given = self.problem.get("weights") or {}
        self.weights: dict[str, float] = {str(k): float(v) for k, v in given.items()}

    # ------------------------------------------------------------------------------------------ open and close
    @staticmethod
    def create(folder: Path | str, problem: dict[str, Any], environment: dict[str, Any]) -> Store:
        """A new run in ``folder`` (made if missing), with status "running" and its clock at zero. Raises InputError
        when the folder holds a run already or cannot be written."""
        folder = Path(folder)
        try:
            location = Location.new(folder)
            db = _connect(location.database)
            _journal(db)
            db.execute(f"PRAGMA application_id={schema.APPLICATION_ID}")
            db.executescript(f"BEGIN IMMEDIATE;{schema.TABLES}PRAGMA user_version={schema.VERSION};")
            db.executemany("INSERT INTO meta VALUES (?, ?)", (
                ("problem", codec.dumps(problem)), ("environment", codec.dumps(environment)),
                ("created", repr(time.time())), ("status", "running"), ("owner", owner.me())))
            db.execute("COMMIT")
        except (OSError, sqlite3.Error) as e:
            raise InputError(f"run folder {folder} cannot be written: {getattr(e, 'strerror', None) or e}",
                             remedy="choose a writable folder with --out") from e
        store = Store(location, db)
        store._owner, store._clock = True, time.monotonic()
        return store

    @staticmethod
    def open(folder: Path | str) -> Store:
        """An existing run, also one that another process is writing. Raises InputError when there is none."""
        folder = Path(folder)
        try:
            location = Location.existing(folder)
            db = _connect(location.database)
            (version,), (application,) = db.execute("PRAGMA user_version").fetchone(), db.execute(
                "PRAGMA application_id").fetchone()
        except (OSError, sqlite3.Error, ValueError, KeyError) as e:
            raise InputError(f"the run in {folder} cannot be read: {getattr(e, 'strerror', None) or e}",
                             remedy="give the folder of a run") from e
        if application != schema.APPLICATION_ID or version < 1:
            db.close()
            raise InputError(f"{location.database} is no run database", remedy="give the folder of a run")
        if version > schema.VERSION:
            db.close()
            raise InputError(f"{folder} was written by a newer evo: schema {version}, this one reads up to "
                             f"{schema.VERSION}", remedy="update evo")
        try:
            _journal(db)  # not before it is known to be a run: this writes
            return Store(location, db)
        except (sqlite3.Error, ValueError) as e:
            db.close()
            raise InputError(f"the run in {folder} is damaged: {e}", remedy=_DAMAGED) from e

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends this use of the run; a run that is still "running" here becomes "interrupted". Raises InputError when a
        database on a local disk cannot be copied back (it stays where it is, and the message says where)."""
        with self._lock:
            if self._closed:
                return
            if self._owner and self._meta("status") == "running":
                self.set_status("interrupted")
            where = self._location
            in_use = not self._owner and owner.alive(self._meta("owner") or "")
            changed = not where.owned or self._db.total_changes > 0
            try:
                if where.local is not None and where.database.exists() and changed and not in_use:
                    where.copy_back(self._db)
            except (OSError, sqlite3.Error) as e:
                raise InputError(f"the run could not be copied to {where.folder}: {e}; it is in {where.database}",
                                 remedy="make room there and open the run once more") from e
            finally:
                self._closed = True
                self._db.close()
            if not in_use or where.owned:
                where.remove_local()

    # ------------------------------------------------------------------------------------------------- writing
    @contextmanager
    def _fact(self) -> Iterator[sqlite3.Connection]:
        """One transaction. Raises InputError when the disk is full or the file cannot be written."""
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    yield self._db
                    self._db.execute("COMMIT")
                except BaseException:
                    if self._db.in_transaction:
                        self._db.execute("ROLLBACK")
                    raise
            except sqlite3.OperationalError as e:
                raise InputError(f"the run in {self.folder} can no longer be written: {e}",
                                 remedy="free disk space, then continue with: evo resume") from e

    def add_candidate(self, c: Candidate) -> None:
        """Raises ValueError when the key is taken."""
        data = codec.plain(replace(c, genome=(), source="", source_opencl=""))
        for name in ("genome", "source", "source_opencl"):
            del data[name]
        record = json.dumps(data, separators=(",", ":"), allow_nan=False)
        texts = [_pack(c.source), _pack(c.source_opencl)]
        try:
            with self._fact() as db:
                db.executemany("INSERT OR IGNORE INTO sources VALUES (?, ?)", texts)
                db.execute("INSERT INTO candidates (key, record, genome, source, source_opencl, seconds) "
                           "VALUES (?, ?, ?, ?, ?, ?)",
                           (c.key, record, to_json(c.genome), texts[0][0], texts[1][0], float(c.seconds)))
        except sqlite3.IntegrityError as e:
            raise ValueError(f"candidate {c.key} is in the run already") from e

    def set_evaluation(self, e: Evaluation) -> None:
        """The verdict on a candidate; a later one replaces it. The baseline's sets the gain of all others anew. Raises
        KeyError when the candidate is not in the run."""
        latency = rows.latency(e.timings, self.weights)
        base = e if e.key == BASELINE else self.baseline()
        gain = rows.gain(base.timings, e.timings, self.weights) if base is not None else None
        try:
            with self._fact() as db:
                db.execute("INSERT OR REPLACE INTO evaluations (key, record, seconds, latency, gain) "
                           "VALUES (?, ?, ?, ?, ?)", (e.key, codec.encode(e), self.elapsed(), latency, gain))
                if e.key == BASELINE:
                    self._baseline = e
                    others = db.execute("SELECT key, record FROM evaluations WHERE key != ?", (BASELINE,)).fetchall()
                    for key, record in others:
                        timings = codec.decode(Evaluation, record).timings
                        db.execute("UPDATE evaluations SET gain = ? WHERE key = ?",
                                   (rows.gain(e.timings, timings, self.weights), key))
        except sqlite3.IntegrityError as error:
            raise KeyError(e.key) from error

    def add_confirmation(self, key: str, confirmation: Confirmation) -> None:
        """Raises KeyError when the candidate is not in the run."""
        try:
            with self._fact() as db:
                db.execute("INSERT INTO confirmations (key, record, seconds) VALUES (?, ?, ?)",
                           (key, codec.encode(confirmation), self.elapsed()))
        except sqlite3.IntegrityError as e:
            raise KeyError(key) from e

    def add_refusal(self, agent: str, gene: str, code: str, reason: str, line: int = 0) -> None:
        """Counts a refusal; ``gene`` is the gene's text, of which the mutator is what stands before the bracket."""
        values = tuple(_text(t) for t in (code, gene.split("(", 1)[0], reason, gene, agent))
        with self._fact() as db:
            db.execute("INSERT INTO refusals VALUES (?, ?, ?, ?, ?, ?, 1) "
                       "ON CONFLICT (code, mutator, reason) DO UPDATE SET count = count + 1", (*values, int(line)))

    def event(self, kind: str, data: dict[str, Any]) -> None:
        """Anything else worth keeping: elimination, round, champion ({"key": ...}), calibration, reward, ladder."""
        with self._fact() as db:
            db.execute("INSERT INTO events (seconds, kind, data) VALUES (?, ?, ?)",
                       (self.elapsed(), _text(kind), codec.dumps(data)))

    def save_state(self, name: str, data: bytes | str) -> None:
        """Replaces what was kept under ``name`` (policy, population, random generators)."""
        value = data if isinstance(data, str) else memoryview(data)
        with self._fact() as db:
            db.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (name, value))

    def set_status(self, status: str) -> None:
        """"running" starts the run's clock where it stopped; raises InputError when another process runs it."""
        if status not in STATUSES:
            raise ValueError(f"status {status!r} is none of {', '.join(STATUSES)}")
        if status == "running" and self._location.read_only:
            raise InputError(f"run folder {self.folder} cannot be written", remedy="copy the run elsewhere")
        at = self.elapsed()
        with self._fact() as db:
            if status == "running" and not self._owner:
                holder = self._meta("owner") or ""
                if self._meta("status") == "running" and holder != owner.me() and owner.alive(holder):
                    raise InputError(f"the run in {self.folder} is in progress in process {holder.split(' ')[1]}",
                                     remedy="wait for it or stop it first")
            db.execute("UPDATE meta SET value = ? WHERE name = 'status'", (status,))
            db.execute("UPDATE meta SET value = ? WHERE name = 'owner'", (owner.me() if status == "running" else "",))
            db.execute("INSERT INTO events (seconds, kind, data) VALUES (?, 'status', ?)",
                       (at, codec.dumps({"status": status})))
        self._owner = status == "running"
        self._clock = time.monotonic() - at if self._owner else None
        if self._owner:
            self._location.publish()

    # ------------------------------------------------------------------------------------------------- reading
    def status(self) -> str:
        """"running", "finished" or "interrupted"; a run whose process is gone is interrupted."""
        with self._lock:
            status = self._meta("status") or "interrupted"
            return status if status != "running" or owner.alive(self._meta("owner") or "") else "interrupted"

    def created(self) -> float:
        """When the run began, seconds since the epoch."""
        return float(self._meta("created") or 0.0)

    def elapsed(self) -> float:
        """Seconds that the run has run, over all its resumptions; what was recorded last when it isn't running here."""
        with self._lock:
            if self._clock is not None:
                return time.monotonic() - self._clock
            last = self._all("SELECT max(seconds) FROM ("
                             + " UNION ALL ".join(f"SELECT * FROM (SELECT seconds FROM {t} ORDER BY id DESC LIMIT 1)"
                                                  for t in ("events", "evaluations", "candidates")) + ")")
            return float(last[0][0] or 0.0)

    def candidates(self, sources: bool = True) -> list[Candidate]:
        """In the order in which they were added; ``sources=False`` leaves the texts out (they are most of the size)."""
        return [self._candidate(r, sources) for r in self._all(f"{_CANDIDATES} ORDER BY id")]

    def candidate(self, key: str) -> Candidate:
        """Raises KeyError."""
        return self._candidate(self._one(f"{_CANDIDATES} WHERE key = ?", key), True)

    def unevaluated(self) -> list[str]:
        """Keys of candidates without a verdict: those in flight when a run was killed."""
        return [k for (k,) in self._all("SELECT key FROM candidates WHERE key NOT IN (SELECT key FROM evaluations) "
                                        "ORDER BY id")]

    def evaluation(self, key: str) -> Evaluation:
        """Raises KeyError when there is none."""
        return codec.decode(Evaluation, self._one("SELECT record FROM evaluations WHERE key = ?", key)[0])

    def evaluations(self) -> list[Evaluation]:
        """In the order in which they arrived."""
        return [codec.decode(Evaluation, r) for (r,) in self._all("SELECT record FROM evaluations ORDER BY id")]

    def baseline(self) -> Evaluation | None:
        """The baseline's evaluation, None before it is known."""
        if self._baseline is None:
            found = self._all("SELECT record FROM evaluations WHERE key = ?", BASELINE)
            self._baseline = codec.decode(Evaluation, found[0][0]) if found else None
        return self._baseline

    def gain(self, key: str) -> float | None:
        """ln(baseline latency / latency), None when not timed. Raises KeyError without an evaluation."""
        value: float | None = self._one("SELECT gain FROM evaluations WHERE key = ?", key)[0]
        return value

    def confirmations(self) -> list[tuple[str, Confirmation]]:
        return [(k, codec.decode(Confirmation, r))
                for k, r in self._all("SELECT key, record FROM confirmations ORDER BY id")]

    def confirmation(self, key: str) -> Confirmation | None:
        """The last one of a candidate."""
        found = self._all("SELECT record FROM confirmations WHERE key = ? ORDER BY id DESC LIMIT 1", key)
        return codec.decode(Confirmation, found[0][0]) if found else None

    def refusal_counts(self) -> list[RefusalCount]:
        """The most frequent first."""
        return [RefusalCount(*r) for r in self._all("SELECT code, mutator, reason, count, line, gene, agent FROM "
                                                    "refusals ORDER BY count DESC, code, mutator, reason")]

    def verdict_counts(self) -> dict[Verdict, int]:
        """How many candidates got each verdict; the baseline is not one."""
        found = self._all("SELECT verdict, count(*) FROM evaluations WHERE key != ? GROUP BY verdict", BASELINE)
        return {Verdict(v): n for v, n in found}

    def events(self, kind: str | None = None) -> list[Event]:
        where = "" if kind is None else "WHERE kind = ?"
        values = () if kind is None else (kind,)
        found = self._all(f"SELECT kind, data, seconds FROM events {where} ORDER BY id", *values)
        return [Event(k, json.loads(d), s) for k, d, s in found]

    def load_state(self, name: str) -> bytes | str | None:
        found = self._all("SELECT value FROM state WHERE name = ?", name)
        value: bytes | str | None = found[0][0] if found else None
        return value

    def rows(self, keys: tuple[str, ...] | None = None) -> list[Row]:
        """One row per evaluated candidate in the order of arrival (or those of ``keys``). A finalist that failed its
        confirmation's checks carries that verdict."""
        finals = {k: (c.accepted, c.evaluation.verdict, self._final_gain(c)) for k, c in self.confirmations()}
        where = "" if keys is None else f"WHERE e.key IN ({','.join('?' * len(keys))})"
        found = self._all(
            "SELECT e.key, c.agent, c.round, e.verdict, e.latency, e.gain, json_extract(e.record, '$.resources'), "
            "e.seconds, c.genome, json_extract(c.record, '$.launches'), json_extract(e.record, '$.memory_bytes') "
            f"FROM evaluations e JOIN candidates c ON c.key = e.key {where} ORDER BY e.id", *(keys or ()))
        result = []
        for key, agent, round_, verdict, latency, gain, resources, seconds, genome, launches, memory in found:
            accepted, final, final_gain = finals.get(key, (None, Verdict.OK, None))
            result.append(Row(key, agent, round_, Verdict(verdict) if final is Verdict.OK else final, latency, gain,
                              codec.decode(Resources, resources), seconds, genome, launches, accepted,
                              final_gain, memory or 0))
        return result

    def champion(self) -> Candidate | None:
        """The best that survived confirmation (accepted, verified, faster at its lower bound): the last "champion"
        event's among those, else the one with the largest gain. Before any confirmation the last "champion" event's key
        (``confirmation(key)`` is then None: it is provisional). None when nothing beat the baseline."""
        accepted = {k: self._survived(c) for k, c in self.confirmations() if k != BASELINE}
        named = [str(e.data["key"]) for e in self.events("champion") if e.data.get("key") not in (None, BASELINE)]
        good = [k for k, ok in accepted.items() if ok]
        if good:
            named = [k for k in named if accepted.get(k)]
            key = named[-1] if named else max(good, key=lambda k: self.gain(k) or 0.0)
        elif named and not accepted:
            key = named[-1]
        else:
            return None
        try:
            return self.candidate(key)
        except KeyError:
            return None

    # ------------------------------------------------------------------------------------------------ internal
    def _final_gain(self, c: Confirmation) -> float | None:
        """ln of the weighted geometric mean of a confirmation's speed-ups at the tune sizes; None without times."""
        tune = {t.size for t in c.evaluation.timings}
        parts = [(self.weights.get(size, 1.0), ratio) for size, ratio, _, _ in c.speedups if size in tune and ratio > 0]
        total = sum(w for w, _ in parts)
        return sum(w * math.log(r) for w, r in parts) / total if total > 0 else None

    def _survived(self, c: Confirmation) -> bool:
        tune = {t.size for t in c.evaluation.timings}
        parts = [s for s in c.speedups if s[0] in tune] or list(c.speedups)
        lowest = sum(self.weights.get(size, 1.0) * math.log(low) if low > 0 else -math.inf for size, _, low, _ in parts)
        return c.accepted and c.evaluation.verdict is Verdict.OK and (lowest > 0 or not parts)

    def _all(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._db.execute(sql, values).fetchall()
            except sqlite3.DatabaseError as e:
                raise InputError(f"the run in {self.folder} cannot be read: {e}", remedy=_DAMAGED) from e

    def _one(self, sql: str, key: str) -> tuple[Any, ...]:
        found = self._all(sql, key)
        if not found:
            raise KeyError(key)
        return found[0]

    def _meta(self, name: str) -> str | None:
        found = self._all("SELECT value FROM meta WHERE name = ?", name)
        return str(found[0][0]) if found else None

    def _candidate(self, row: tuple[Any, ...], sources: bool) -> Candidate:
        record, genome, cuda, opencl = row
        data = {**json.loads(record), "genome": (), "source": "", "source_opencl": ""}
        base: Candidate = codec.build(Candidate, data)
        return replace(base, genome=from_json(genome), source=self._source(cuda) if sources else "",
                       source_opencl=self._source(opencl) if sources else "")

    def _source(self, digest: str) -> str:
        packed: bytes = self._one("SELECT text FROM sources WHERE hash = ?", digest)[0]
        return zlib.decompress(packed).decode("utf-8", "surrogatepass")


_DAMAGED = "restore it from a copy, or start a new run"
_CANDIDATES = "SELECT record, genome, source, source_opencl FROM candidates"


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=10.0, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA foreign_keys=ON")
    return db


def _journal(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=NORMAL")


def _pack(text: str) -> tuple[str, bytes]:
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:32], zlib.compress(data, 3)


def _text(text: str) -> str:
    """What SQLite can store: a compiler's message may hold bytes that were no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()

