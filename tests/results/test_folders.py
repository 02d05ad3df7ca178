from __future__ import annotations

import datetime
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from genome.errors import InputError
from results import folders
from results.store import Store, latest_run, run_folder
from tests.results import build

ROOT = Path(__file__).resolve().parents[2]
TODAY = datetime.date.today().isoformat()
MOUNTS = """/dev/sda1 / ext4 rw 0 0
server:/export /home nfs4 rw 0 0
/dev/sdb1 /home/me/local\\040disk xfs rw 0 0
me@host:/ /mnt/ssh fuse.sshfs rw 0 0
/dev/sdc1 /mnt/ntfs fuseblk rw 0 0
a /mnt/twice ext4 rw 0 0
b /mnt/twice cifs rw 0 0
"""


def test_names_and_numbers(tmp_path: Path) -> None:
    assert run_folder(tmp_path, "sgemm") == tmp_path / "runs" / f"sgemm-{TODAY}-1"
    assert run_folder(tmp_path / "runs", "ns::f<float, 16>") == tmp_path / "runs" / f"ns_f_float_16-{TODAY}-2"
    (tmp_path / "runs" / f"copy-{TODAY}-7").mkdir()
    assert run_folder(tmp_path, "sgemm").name == f"sgemm-{TODAY}-8"


def test_two_runs_never_share_a_folder(tmp_path: Path) -> None:
    got: list[Path] = []
    threads = [threading.Thread(target=lambda: got.append(run_folder(tmp_path, "k"))) for _ in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(got)) == 12


def test_a_base_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="no run folder can be made"):
        run_folder(tmp_path / "file", "k")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InputError, match="not writable"):
        run_folder(tmp_path, "k")


def test_latest_run_is_the_last_begun(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no runs in"):
        latest_run(tmp_path)
    made = []
    for kernel in ("z", "a", "m"):
        made.append(run_folder(tmp_path, kernel))
        Store.create(made[-1], {}, {}).close()
    run_folder(tmp_path, "unborn")  # a run that ended before its database was made
    with Store.open(made[0]) as s:
        s.event("looked at", {})
    assert latest_run(tmp_path) == latest_run(tmp_path / "runs") == made[-1]


@pytest.mark.parametrize(("path", "kind", "network"), [
    ("/usr/x", "ext4", False), ("/home/me", "nfs4", True), ("/homestead", "ext4", False),
    ("/home/me/local disk/runs", "xfs", False), ("/mnt/ssh", "fuse.sshfs", True), ("/mnt/ntfs/a", "fuseblk", False),
    ("/mnt/twice/a", "cifs", True)])
def test_file_system_of_a_path(path: str, kind: str, network: bool) -> None:
    assert folders.filesystem_type(Path(path), MOUNTS) == kind
    assert folders.network_type(kind) is network


@pytest.mark.parametrize("kind", ["nfs", "cifs", "fuse.sshfs", "lustre", "9p"])
def test_network_types(kind: str) -> None:
    assert folders.network_type(kind)


@pytest.fixture
def share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that passes for a network file system; everything else is local."""
    (tmp_path / "share").mkdir()
    monkeypatch.setattr(folders, "is_network", lambda path: (tmp_path / "share") in (path, *path.parents))
    monkeypatch.setattr(folders, "_local_folder", lambda: _numbered(tmp_path / "local"))
    return tmp_path / "share"


def _numbered(base: Path) -> Path:
    base.mkdir(exist_ok=True)
    path = base / str(len(list(base.iterdir())))
    path.mkdir()
    return path


def _left(share: Path) -> list[Path]:
    return [p for p in (share.parent / "local").rglob("*") if p.is_file()]


def test_network_folder_gets_its_database_on_close(share: Path) -> None:
    s = Store.create(share / "r", {"kernel": "k"}, {})
    s.add_candidate(build.candidate("a"))
    assert not (share / "r" / "run.db").exists()
    with Store.open(share / "r") as reader:  # while it runs
        assert reader.status() == "running"
        assert [c.key for c in reader.candidates()] == ["a"]
    s.add_candidate(build.candidate("b"))  # the reader's close took nothing away
    s.set_status("finished")
    s.close()
    assert sorted(p.name for p in (share / "r").iterdir()) == ["run.db"]
    assert _left(share) == []
    with Store.open(share / "r") as again:
        assert [c.key for c in again.candidates()] == ["a", "b"]
        again.set_status("running")
        assert (share / "r" / "live.json").exists()
        again.add_candidate(build.candidate("c"))
    with Store.open(share / "r") as last:
        assert len(last.candidates()) == 3 and last.status() == "interrupted"
    assert _left(share) == []


def test_network_run_that_was_killed_is_found_and_brought_home(share: Path) -> None:
    code = ("import os, sys; from pathlib import Path; from results import folders; from results.store import Store;"
            "from tests.results import build;"
            "folders.is_network = lambda p: str(p).startswith(sys.argv[1]);"
            "local = Path(sys.argv[2]); local.mkdir(parents=True); folders._local_folder = lambda: local;"
            "s = Store.create(Path(sys.argv[1]) / 'r', {}, {}); s.add_candidate(build.candidate('a')); os._exit(9)")
    local = share.parent / "local" / "killed"
    assert subprocess.run([sys.executable, "-c", code, str(share), str(local)], cwd=ROOT).returncode == 9
    assert not (share / "r" / "run.db").exists()
    with Store.open(share / "r") as s:
        assert [c.key for c in s.candidates()] == ["a"] and s.status() == "interrupted"
    assert sorted(p.name for p in (share / "r").iterdir()) == ["run.db"]
    assert not local.exists()


def test_database_left_on_another_machine(share: Path) -> None:
    (share / "r").mkdir()
    (share / "r" / "live.json").write_text('{"database": "/var/tmp/gone/run.db", "host": "node7"}')
    with pytest.raises(InputError, match="still on node7"):
        Store.open(share / "r")


def test_copy_back_that_fails_keeps_the_database(share: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    s = Store.create(share / "r", {}, {})
    s.add_candidate(build.candidate("a"))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as m:
        m.setattr(folders.os, "replace", full)
        with pytest.raises(InputError, match=r"No space left.*it is in"):
            s.close()
    with Store.open(share / "r") as again:
        assert [c.key for c in again.candidates()] == ["a"]
    assert (share / "r" / "run.db").exists()


def test_a_run_that_cannot_be_written_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.create(tmp_path / "r", {}, {}) as s:
        s.add_candidate(build.candidate("a"))
        s.set_status("finished")
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "r").iterdir()}
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: real(path, mode) and (mode != os.W_OK
                                                                              or "r" not in Path(path).parts))
    with Store.open(tmp_path / "r") as s:
        assert [c.key for c in s.candidates()] == ["a"]
        with pytest.raises(InputError, match="cannot be written"):
            s.set_status("running")
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "r").iterdir()} == before
