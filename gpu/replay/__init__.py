"""The replay back end: recorded measurements of an explored space instead of a device."""

from gpu.replay.evaluator import ReplayEvaluator
from gpu.replay.record import Entry, RecordedSpace, load_space

__all__ = ["Entry", "RecordedSpace", "ReplayEvaluator", "load_space"]
