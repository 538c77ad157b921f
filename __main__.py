"""``python -m jurist`` is the command ``jurist``."""

from .cli import program

if __name__ == "__main__":
    program()
