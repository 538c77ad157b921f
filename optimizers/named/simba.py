"""``simba``: advice and demonstrations from cases whose answers vary, by DSPy's SIMBA."""

from dspy import SIMBA

from ..dspy_search import DspyOptimizer

optimizer = DspyOptimizer.of_class(SIMBA, "simba", sample=60, finalists=3)
