"""``mipro``: instructions and demonstrations together, by DSPy's MIPROv2."""

from dspy import MIPROv2

from ..dspy_search import DspyOptimizer

optimizer = DspyOptimizer.of_class(MIPROv2, "mipro", sample=100)
