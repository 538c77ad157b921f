"""``gepa``: instructions by reflection on errors, by DSPy's GEPA."""

from dspy import GEPA

from ..dspy_search import DspyOptimizer

optimizer = DspyOptimizer.of_class(GEPA, "gepa", validation=60)
