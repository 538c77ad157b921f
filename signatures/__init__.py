"""What is asked: typed DSPy signatures, one file per paper. A signature's docstring is its seed instruction."""
