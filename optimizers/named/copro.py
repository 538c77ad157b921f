"""``copro``: instructions, several at each depth, by DSPy's COPRO."""

from dspy import COPRO

from ..dspy_search import DspyOptimizer

optimizer = DspyOptimizer.of_class(COPRO, "copro", sample=40, finalists=3)
