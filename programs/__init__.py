"""How it is asked: DSPy programs that wire signatures, and the catalogue of judges."""
