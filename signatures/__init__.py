"""Typed DSPy signatures, one file per paper.

Their docstrings stand in prompts: that of a signature is its basic instruction, that of a model of an output is in the
JSON schema that the model is shown. Rewriting one changes what judges ask.
"""
