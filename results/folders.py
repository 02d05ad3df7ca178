"""Run folders: where they are made, which is the latest, and where the live database of one lies.

SQLite's write-ahead log needs shared memory between its users, which network file systems do not give. A run folder on
one of them keeps its live database on a local disk; ``live.json`` in the folder says where until it is copied back.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import shutil
import socket
import sqlite3
import tempfile
from dataclasses import dataclass
from pathlib import Path

from genome.errors import InputError

DATABASE = "run.db"
POINTER = "live.json"
_NAME = re.compile(r"-(\d{4}-\d{2}-\d{2})-(\d+)$")
_NETWORK = frozenset({
    "nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "9p", "lustre", "ceph", "gpfs", "beegfs",
    "glusterfs", "afs", "coda", "ncpfs", "orangefs", "pvfs2", "wekafs", "panfs", "virtiofs", "vboxsf",
    "prl_fs", "fakeowner", "gfs2",
})
_LOCAL_FUSE = frozenset({"fuse.fuse-overlayfs", "fuse.overlayfs", "fuse.snapfuse", "fuse.squashfuse"})


def run_folder(base: Path | str, kernel_name: str) -> Path:
    """Makes ``<base>/runs/<kernel>-<date>-<n>/`` (``base`` may be the ``runs`` folder itself). ``n`` counts the runs of
    the day whatever their kernel, so that date and number order them. Raises InputError when it cannot be made."""
    runs = _runs(Path(base))
    kernel = re.sub(r"[^A-Za-z0-9_]+", "_", kernel_name).strip("_")[:60] or "kernel"
    date = datetime.date.today().isoformat()
    try:
        runs.mkdir(parents=True, exist_ok=True)
        number = 1 + max((n for d, n, _ in _dated(runs) if d == date), default=0)
        while True:
            folder = runs / f"{kernel}-{date}-{number}"
            try:
                folder.mkdir()  # atomic: of two runs that start together, one takes the next number
            except FileExistsError:
                number += 1
                continue
            if not os.access(folder, os.W_OK):
                raise PermissionError(13, "not writable")
            return folder
    except OSError as e:
        raise InputError(f"no run folder can be made in {runs}: {e.strerror or e}",
                         remedy="choose a writable folder with --out") from e


def latest_run(base: Path | str) -> Path:
    """The newest run folder under ``base`` (the folder that holds ``runs``, or ``runs`` itself). Raises InputError
    when there is none."""
    runs = _runs(Path(base))
    try:
        found = [(d, n, p) for d, n, p in _dated(runs) if (p / DATABASE).exists() or (p / POINTER).exists()]
    except OSError:  # no such folder, or not readable: nothing can be found there
        found = []
    if not found:
        raise InputError(f"no runs in {runs}", remedy="start one with: evo run")
    return max(found, key=lambda f: (f[0], f[1], f[2].stat().st_mtime))[2]


def _runs(base: Path) -> Path:
    return base if base.name == "runs" else base / "runs"


def _dated(runs: Path) -> list[tuple[str, int, Path]]:
    """Date, number and path of each folder; a folder with another name counts as the first of the day it changed."""
    found = []
    for path in runs.iterdir():
        if path.is_dir():
            m = _NAME.search(path.name)
            day = datetime.date.fromtimestamp(path.stat().st_mtime).isoformat()
            found.append((m[1], int(m[2]), path) if m else (day, 0, path))
    return found


def filesystem_type(path: Path, mounts: str) -> str:
    """Type of the file system that holds ``path``, from the text of ``/proc/mounts``; "" when unknown."""
    target, best, kind = str(path), -1, ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), fields[1])
        inside = target == point or target.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= best:  # of two mounts on one point the later one is seen
            best, kind = len(point), fields[2]
    return kind


def is_network(path: Path) -> bool:
    """Whether ``path`` lies on a file system on which a live database must not be."""
    try:
        mounts = Path("/proc/mounts").read_text(errors="replace")
    except OSError:  # no Linux: nothing is known, and local is the rule
        return False
    return network_type(filesystem_type(path.resolve(), mounts))


def network_type(kind: str) -> bool:
    return kind in _NETWORK or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE)


@dataclass
class Location:
    """Where the database of a run folder is open. ``local`` is the private folder on a local disk that holds it, None
    when it lies in the run folder itself; ``owned`` when that private folder is this process's to remove."""

    folder: Path
    database: Path
    local: Path | None = None
    owned: bool = False
    read_only: bool = False

    @staticmethod
    def new(folder: Path) -> Location:
        """For a run that begins. Raises OSError when the folder cannot be written."""
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / DATABASE).exists() or (folder / POINTER).exists():
            raise InputError(f"{folder} already holds a run", remedy="continue it with: evo resume, or choose another")
        probe = folder / ".writable"
        probe.touch()  # asks the file system itself: access bits alone miss read-only mounts
        probe.unlink()
        if not is_network(folder):
            return Location(folder, folder / DATABASE)
        local = _local_folder()
        location = Location(folder, local / DATABASE, local, owned=True)
        location.publish()
        return location

    @staticmethod
    def existing(folder: Path) -> Location:
        """For a run that exists. Raises InputError when there is none, OSError when it cannot be read."""
        if not folder.is_dir():
            raise InputError(f"no run at {folder}: " + ("not a folder" if folder.exists() else "no such folder"),
                             remedy="list the runs with: ls runs")
        copy = folder / DATABASE
        if (folder / POINTER).exists():
            live = json.loads((folder / POINTER).read_text())
            if Path(live["database"]).exists():
                return Location(folder, Path(live["database"]), Path(live["database"]).parent)
            if not copy.exists():
                raise InputError(f"the database of {folder} is still on {live['host']} at {live['database']}",
                                 remedy="open the run on that machine once, which copies it back")
        if not copy.exists():
            raise InputError(f"{folder} is not a run: it holds no {DATABASE}", remedy="give the folder of a run")
        writable = os.access(folder, os.W_OK) and os.access(copy, os.W_OK)
        if writable and not is_network(folder):
            return Location(folder, copy)
        # A reader of a write-ahead log writes beside the file, so what cannot be written is read from a copy.
        local = _local_folder()
        for name in (DATABASE, DATABASE + "-wal"):
            if (folder / name).exists():
                shutil.copyfile(folder / name, local / name)
        return Location(folder, local / DATABASE, local, owned=True, read_only=not writable)

    def publish(self) -> None:
        """Says in the run folder where the live database is."""
        if self.local is not None and not self.read_only:
            text = json.dumps({"database": str(self.database), "host": socket.gethostname()})
            (self.folder / POINTER).write_text(text + "\n")

    def copy_back(self, live: sqlite3.Connection) -> None:
        """Puts a consistent copy of the open database into the run folder: complete or not at all."""
        if self.local is None or self.read_only:
            return
        still = self.local / "copy.db"
        still.unlink(missing_ok=True)
        target = sqlite3.connect(still)
        try:
            live.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")
        finally:
            target.close()
        arriving = self.folder / (DATABASE + ".part")
        shutil.copyfile(still, arriving)
        with open(arriving, "rb+") as f:
            os.fsync(f.fileno())
        os.replace(arriving, self.folder / DATABASE)

    def remove_local(self) -> None:
        """Removes the private folder, after the connection is closed and what counts was copied back."""
        if self.local is not None:
            pointer = self.folder / POINTER
            if not self.read_only and pointer.exists() and str(self.database) in pointer.read_text():
                pointer.unlink(missing_ok=True)
            shutil.rmtree(self.local, ignore_errors=True)


def _local_folder() -> Path:
    """A new folder on a local disk; ``/var/tmp`` first, because it outlives a restart."""
    for base in (Path("/var/tmp"), Path(tempfile.gettempdir())):
        if base.is_dir() and os.access(base, os.W_OK) and not is_network(base):
            return Path(tempfile.mkdtemp(prefix="evo-run-", dir=base))
    raise InputError("the run folder is on a network file system and no local disk can be written",
                     remedy="set TMPDIR to a folder on a local disk")
