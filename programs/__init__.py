"""The asking: DSPy programs that wire signatures, and the catalogue of judges."""
