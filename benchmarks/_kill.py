"""kill -9 of the device worker, of a compiler, of the parent at random moments: the run goes on and loses nothing."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import _processes

ROOT = Path(__file__).resolve().parent.parent
ROLES = {"worker": ("worker",), "compiler": ("builder-opencl", "builder-cuda"), "parent": ()}
PATTERN = ("worker", "compiler", "worker", "compiler", "parent")
PATIENCE = 60.0  # seconds for a run to get going (again)
ENOUGH = 500.0
MISJUDGED = ("crashed", "compile error", "launch failure", "timed out")  # transpose has no such candidates
SMALL = "tune = [{ H = 96, W = 80 }]\ncheck = [{ H = 47, W = 45 }]"


class Broken(Exception):
    """A promise that was not kept; the text says which."""


@dataclass
class Campaign:
    """One run that is killed again and again. ``known``: verdicts by key as they were last seen in its file."""

    folder: Path
    backend: str
    random: Random
    process: subprocess.Popen[bytes] | None = None
    run: Path | None = None
    known: dict[str, str] = field(default_factory=dict)
    killed: Counter[str] = field(default_factory=Counter)
    open_at_kill: list[int] = field(default_factory=list)  # submitted and not judged when the parent was killed

    def command(self, *args: str) -> None:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        with open(self.folder / "said.txt", "ab") as out:
            self.process = subprocess.Popen([sys.executable, "-m", "evo", *args], cwd=self.folder, env=env, stdout=out,
                                            stderr=out, start_new_session=True)

    def said(self) -> str:
        return (self.folder / "said.txt").read_text(errors="replace")[-600:]

    # ------------------------------------------------------------------------------------------------- the file
    def verdicts(self) -> dict[str, str]:
        """As committed, read beside the running process. Raises :class:`Broken` where one changed or is gone."""
        assert self.run is not None
        with closing(sqlite3.connect(f"file:{self.run / 'run.db'}?mode=ro", uri=True, timeout=10.0)) as db:
            now = dict(db.execute("SELECT key, verdict FROM evaluations"))
        lost = [k for k, v in self.known.items() if now.get(k) != v]
        if lost:
            raise Broken(f"{len(lost)} results were lost or changed, the first is {lost[0]}")
        self.known = now
        return now

    def reasons(self) -> list[str]:
        assert self.run is not None
        with closing(sqlite3.connect(f"file:{self.run / 'run.db'}?mode=ro", uri=True, timeout=10.0)) as db:
            return [f"{k}: {r}" for k, v, r in db.execute("SELECT key, verdict, reason FROM evaluations")
                    if v in MISJUDGED]

    def unjudged(self) -> set[str]:
        assert self.run is not None
        with closing(sqlite3.connect(f"file:{self.run / 'run.db'}?mode=ro", uri=True, timeout=10.0)) as db:
            return {k for k, in db.execute("SELECT key FROM candidates WHERE key NOT IN (SELECT key FROM evaluations)")}

    def open_candidates(self) -> int:
        assert self.run is not None
        with closing(sqlite3.connect(f"file:{self.run / 'run.db'}?mode=ro", uri=True, timeout=10.0)) as db:
            if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                raise Broken("the run's file is damaged")
            count: int = db.execute("SELECT count(*) FROM candidates WHERE key NOT IN "
                                    "(SELECT key FROM evaluations)").fetchone()[0]
            return count

    def progress(self, beyond: int) -> None:
        """Waits until more than ``beyond`` verdicts are in the file."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            assert self.process is not None
            if self.process.poll() is not None:
                raise Broken(f"the run ended with code {self.process.returncode}: {self.said()}")
            runs = sorted((self.folder / "runs").glob("*/run.db"))
            if runs:
                self.run = runs[0].parent
                try:
                    if len(self.verdicts()) > beyond:
                        return
                except sqlite3.OperationalError:
                    pass  # the tables are being made
            time.sleep(0.05)
        raise Broken(f"no further verdict within {PATIENCE:.0f} s: {self.said()}")

    # ------------------------------------------------------------------------------------------------ the killing
    def kill(self, target: str) -> None:
        assert self.process is not None
        time.sleep(self.random.uniform(0.0, 1.0))
        if target == "parent":
            family = {c.pid for c in _processes.children(self.process.pid)}
            self.process.kill()
            self.process.wait()
            left = _processes.left(family)
            if left:
                raise Broken(f"{len(left)} processes outlived the parent")
            self.verdicts()
            self.open_at_kill.append(self.open_candidates())
            self.command("resume", str(self.run))
        else:
            here = [c for c in _processes.children(self.process.pid) if c.role in ROLES[target]]
            if here:
                victim = self.random.choice(here)
                os.kill(victim.pid, signal.SIGKILL)
                hit = self.unjudged()
                while hit - self.known.keys():  # none is hit twice: a second time it would count against it
                    self.progress(len(self.known))
        self.killed[target] += 1
        self.progress(len(self.known))
        if bad := {k: v for k, v in self.known.items() if v in MISJUDGED}:
            raise Broken(f"a candidate paid for a kill: {bad}: {self.reasons()}")

    def end(self) -> None:
        """Ends the run as a user would, and looks whether anything is left of it."""
        assert self.process is not None
        family = {c.pid for c in _processes.children(self.process.pid)}
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=PATIENCE)
        if code != 130:
            raise Broken(f"the run ended with code {code}: {self.said()}")
        left = _processes.left(family)
        if left:
            raise Broken(f"{len(left)} processes outlived the run")
        self.verdicts()
        self.open_candidates()


def problem(folder: Path) -> None:
    """examples/transpose at sizes that take no time on a CPU."""
    shutil.copytree(ROOT / "examples" / "transpose", folder / "transpose")
    file = folder / "transpose" / "evo.toml"
    head, _, _ = file.read_text().partition("[sizes]")
    file.write_text(f"{head}[sizes]\n{SMALL}\n")


def add(parser: ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0, help="of targets and moments")


def run(args: Namespace, backend: str) -> dict[str, Any]:
    begin, random, broken = time.monotonic(), Random(args.seed), ""
    targets = [PATTERN[i % len(PATTERN)] for i in range(args.count)]
    random.shuffle(targets)
    with TemporaryDirectory(prefix="evo-kill-") as name:
        folder = Path(name)
        problem(folder)
        campaign = Campaign(folder, backend, random)
        try:
            campaign.command("run", "transpose", "--backend", backend, "--budget", "1h", "--agents", "2")
            campaign.progress(1)
            for target in targets:
                if time.monotonic() - begin > ENOUGH:
                    broken = "no time left"
                    break
                campaign.kill(target)
            campaign.end()
        except Broken as e:
            broken = str(e)
        finally:
            if campaign.process is not None and campaign.process.poll() is None:
                os.killpg(campaign.process.pid, signal.SIGKILL)
                campaign.process.wait()
        verdicts = Counter(campaign.known.values())
        seconds = time.monotonic() - begin
    print(f"{sum(campaign.killed.values())} of {args.count} kills, seed {args.seed}: "
          + ", ".join(f"{n} {t}" for t, n in campaign.killed.items()) + f" ({seconds:.0f} s)")
    print(f"  {sum(verdicts.values())} verdicts kept: " + ", ".join(f"{n} {v}" for v, n in verdicts.items()))
    print(f"  in flight when the parent was killed, in sum over {len(campaign.open_at_kill)} kills: "
          f"{max(campaign.open_at_kill, default=0)} candidates without a verdict")
    print(broken or "every run resumed, no result lost or changed, its file sound, no process left")
    return {"count": args.count, "seed": args.seed, "killed": dict(campaign.killed), "verdicts": dict(verdicts),
            "open_at_kill": campaign.open_at_kill, "seconds": seconds, "reason": broken, "broken": bool(broken)}
