"""``bootstrap``: demonstrations that a teacher answers right, by DSPy's BootstrapFewShotWithRandomSearch."""

from dspy import BootstrapFewShotWithRandomSearch

from ..dspy_search import DspyOptimizer

optimizer = DspyOptimizer.of_class(BootstrapFewShotWithRandomSearch, "bootstrap", finalists=1)
