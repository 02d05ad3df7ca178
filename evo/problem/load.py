"""From a path to a validated problem."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from evo.problem.accept import read_accept, read_objectives, read_search
from evo.problem.arguments import read_arguments
from evo.problem.budget import REMEDY, parse_budget
from evo.problem.guess import problem_file_for
from evo.problem.launch import KernelSection, read_kernel
from evo.problem.model import Problem
from evo.problem.sizes import BACKENDS, check_sizes, read_sizes
from evo.problem.table import Table
from genome.errors import InputError
from genome.workload import Workload

SECTIONS = ("kernel", "args", "sizes", "accept", "objectives", "search")


def find_problem_file(path: str | Path) -> Path:
    """The TOML file meant by a folder, a TOML file or a ``.cu`` file. Raises InputError where there is none."""
    p = Path(path)
    if p.is_dir():
        if not (p / "evo.toml").is_file():
            sources = sorted(f.name for f in p.glob("*.cu"))
            remedy = "see docs/problem-file.md"
            if sources:
                remedy = f"evo run {p / sources[0]} makes one"
            raise InputError(f"no problem file in {p}: there is no {p / 'evo.toml'}", remedy=remedy)
        return p / "evo.toml"
    if not p.exists():
        raise InputError(f"no such file or folder: {p}")
    if p.suffix == ".toml":
        return p
    if p.suffix == ".cu":
        return problem_file_for(p)
    raise InputError(f"{p} is neither a folder, a .toml problem file nor a .cu source")


def with_build_flags(section: KernelSection, assumed: list[str]) -> KernelSection:
    """The section with the include folders, macros and flags of a ``compile_commands.json`` that names the source;
    what the problem file says itself comes first. ``assumed`` gets a line when there is one."""
    from genome.frontend.compile_commands import compiler_flags, find, flags_of

    database = find(section.source)
    if database is None:
        return section
    include, defines = flags_of(section.source, database)
    given = {f.split("=")[0].lstrip("-") for f in section.flags}
    flags = tuple(f for f in compiler_flags(section.source, database) if f.split("=")[0].lstrip("-") not in given)
    new = replace(section, include=tuple(dict.fromkeys((*section.include, *include))),
                  defines={**defines, **section.defines}, flags=(*section.flags, *flags))
    if new != section:
        assumed.append(f"build flags of {database}")
    return new


def load_problem(path: str | Path, backend: str = "cuda", budget: str | None = None) -> Problem:
    """Reads and validates a problem; ``budget`` (command line) replaces the file's. Raises InputError with file,
    line and remedy at the first thing that is wrong."""
    # genome's front-end loads tree-sitter and pcpp, which commands that read results have no use for
    from genome.unit import load_unit

    if backend not in BACKENDS:
        raise InputError(f"unknown back end '{backend}'", remedy=f"known: {', '.join(BACKENDS)}")
    if budget is not None:
        try:
            parse_budget(budget)
        except ValueError as e:
            raise InputError(f"--budget: {e}", remedy=REMEDY) from None
    file = find_problem_file(path)
    folder = file.parent
    root, text = Table.read(file)
    root.only(*SECTIONS, what="section")
    for name in ("kernel", "args", "sizes"):
        if name not in root:
            root.fail(f"section [{name}] is missing", remedy="see docs/problem-file.md")
    assumed: list[str] = []
    kernel, args, sizes, accept_table = (root.table(n) for n in ("kernel", "args", "sizes", "accept"))
    section = read_kernel(kernel, folder)
    section = with_build_flags(section, assumed)
    unit = load_unit(section.source, section.launch.kernel, defines=section.defines, include=section.include,
                     block=section.launch.block)
    launch = replace(section.launch, kernel=unit.kernel.name)  # a template's instance has a name of its own
    arguments = read_arguments(args, unit.kernel, folder, assumed)
    accept = read_accept(accept_table, arguments, folder, assumed)
    tune, check = read_sizes(sizes, backend, assumed)
    workload = Workload(arguments, tuple(t.size for t in tune), tuple(c.size for c in check), accept.assume,
                        accept.exactness, accept.tolerance, accept.reference, str(folder.resolve()))
    check_sizes(tune + check, workload, launch, args, kernel, accept_table)
    objectives, constraints = read_objectives(root.table("objectives"), assumed)
    search = root.table("search")
    spent, veto = read_search(search, budget, assumed)
    dispatch = search.flag("dispatch", False)
    if dispatch and len(tune) < 2:
        search.fail("a dispatch table needs several tune sizes", "dispatch", remedy="give them in [sizes] tune")
    return Problem(section.launch.kernel.split("<")[0].strip(), unit, workload, launch, backend, section.flags,
                   section.include, objectives, constraints, spent, veto, dispatch, tuple(assumed), file.resolve(),
                   text)
