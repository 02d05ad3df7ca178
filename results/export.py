"""What a run leaves behind for use elsewhere: the kernel's source, how to launch it, its genome, the front."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from genome.errors import InputError
from genome.program import Launch, launches_from_json
from results import codec, launcher, pareto
from results.launcher import Parameter
from results.records import Candidate
from results.store import Store

LATEST_SCHEMA = 1


def export(store: Store, key: str, folder: Path | str, parameters: Sequence[Parameter] | None = None) -> list[Path]:
    """Writes ``best.cu``, ``launch.json``, ``launch.cuh``, ``genome.json`` and ``pareto.csv`` into ``folder`` and
    returns their paths; ``best.cl`` too where an OpenCL back end ran. Without ``parameters`` they are taken from the
    run's problem; where it has none either, ``launch.cuh`` is left out. Raises InputError for an unknown key, a
    candidate without source, or a folder that cannot be written."""
    try:
        chosen = store.candidate(key)
    except KeyError:
        raise InputError(f"no candidate {key} in {store.folder}", remedy="list them with: evo show") from None
    if not chosen.source:
        raise InputError(f"candidate {key} has no source: it was never expressed", remedy="choose a verified one")
    if parameters is None and store.problem.get("parameters"):
        parameters = launcher.from_dicts(store.problem["parameters"])
    launches = launches_of(chosen)
    texts = {"best.cu": chosen.source,
             "launch.json": json.dumps(description(store, chosen, parameters or ()), indent=2) + "\n",
             "genome.json": json.dumps(genome(store, chosen), indent=2) + "\n"}
    if parameters and launches:
        texts["launch.cuh"] = launcher.header(parameters, launches, chosen.preconditions, select=chosen.select,
                                              name=_kernel_name(store) if len(launches) > 1 else "")
    if chosen.source_opencl:
        texts["best.cl"] = chosen.source_opencl
    objectives, constraints = pareto.asked(store)
    texts["pareto.csv"] = pareto.to_csv(pareto.front(store, objectives, constraints), objectives)
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            _write(folder / name, text)
    except OSError as e:
        raise InputError(f"cannot write {folder}: {e.strerror or e}", remedy="choose a writable folder") from e
    return [folder / name for name in texts]


def _kernel_name(store: Store) -> str:
    kernel = store.problem.get("kernel", "")
    return str(kernel.get("name", "") if isinstance(kernel, dict) else kernel)


def launches_of(c: Candidate) -> tuple[Launch, ...]:
    """The launches that a candidate's record holds as JSON."""
    return launches_from_json(c.launches)


def description(store: Store, c: Candidate, parameters: Sequence[Parameter] = ()) -> dict[str, Any]:
    """How the kernel is launched and what was verified, as plain data. ``grid`` holds expressions over the problem's
    scalars and ``block_x/y/z``."""
    launches = launches_of(c)
    kernel = store.problem.get("kernel")
    table = kernel if isinstance(kernel, dict) else {}
    final = store.confirmation(c.key)
    try:
        checked = final.evaluation if final is not None else store.evaluation(c.key)
        verdict = checked.verdict.value
        sizes = {"tune": [t.size for t in checked.timings], "check": [t.size for t in checked.check_timings]}
    except KeyError:
        verdict, sizes = "not evaluated", {"tune": [], "check": []}
    return {
        "schema": LATEST_SCHEMA,
        "candidate": c.key,
        "kernel": launches[0].kernel if launches else table.get("name", kernel),
        "launches": json.loads(c.launches or "[]"),
        **({"select": c.select} if c.select else {}),
        "parameters": [{"type": p.type, "name": p.name, "shape": p.shape, "value": p.value} for p in parameters],
        "preconditions": list(c.preconditions),
        "flags": list(table.get("flags") or store.problem.get("flags") or []),
        "verdict": verdict,
        "confirmed": final.accepted if final is not None else None,
        "sizes_verified": sizes,
    }


def genome(store: Store, c: Candidate) -> dict[str, Any]:
    """Genes as data and as text, with resources and figures."""
    try:
        evaluation = store.evaluation(c.key)
        resources, gain = codec.plain(evaluation.resources), store.gain(c.key)
    except KeyError:
        resources, gain = None, None
    return {
        "schema": LATEST_SCHEMA, "candidate": c.key, "agent": c.agent, "round": c.round, "parents": list(c.parents),
        "genes": [{"mutator": g.mutator, "site": g.site, "params": dict(g.params)} for g in c.genome],
        "text": [str(g) for g in c.genome], "gain": gain, "resources": resources,
    }


def _write(path: Path, text: str) -> None:
    """All of it or nothing: an earlier export is never left half overwritten."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(text.encode("utf-8", "surrogateescape"))
    os.replace(part, path)
