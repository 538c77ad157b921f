"""``infer-rules``: rules that are read off demonstrations, by DSPy's InferRules."""

from dspy import InferRules

from ..dspy_search import DspyOptimizer

optimizer = DspyOptimizer.of_class(InferRules, "infer-rules", sample=40, finalists=1, max_labeled_demos=8)
