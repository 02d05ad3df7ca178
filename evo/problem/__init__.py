"""The problem file: reading, validation and the :class:`Problem` that everything else works on."""

from evo.problem.budget import Budget, parse_budget
from evo.problem.load import find_problem_file, load_problem
from evo.problem.model import Problem

__all__ = ["Budget", "Problem", "find_problem_file", "load_problem", "parse_budget"]
