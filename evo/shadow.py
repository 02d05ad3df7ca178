"""Modules of other projects that hide ours. Imports nothing of evo, so that it works when they do."""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import sys
from pathlib import Path

PACKAGES = ("evo", "genome", "gpu", "mutators", "results", "surrogate")
DISTRIBUTION = "evo-kernels"


def root() -> Path:
    """The folder that our packages are in."""
    return Path(__file__).resolve().parent.parent


def foreign_modules(path: list[str] | None = None) -> list[tuple[str, Path]]:
    """Names of our packages that an import finds elsewhere first, with the file found."""
    out = []
    for name in PACKAGES:
        spec = importlib.machinery.PathFinder.find_spec(name, sys.path if path is None else path)
        if spec is None:
            continue
        places = [spec.origin] if spec.origin else list(spec.submodule_search_locations or ())
        for place in places[:1]:
            found = Path(place).resolve()
            if root() not in found.parents:
                out.append((name, found))
    return out


def foreign_distributions() -> list[tuple[str, str]]:
    """Other installed distributions that bring a package of one of our names: (package, distribution)."""
    owners = importlib.metadata.packages_distributions()
    return [(name, owner) for name in PACKAGES for owner in dict.fromkeys(owners.get(name, ()))
            if owner.lower().replace("_", "-") != DISTRIBUTION]
