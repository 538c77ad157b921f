"""``python -m jurist`` is the command ``jurist``."""

from __future__ import annotations

from .cli import program

if __name__ == "__main__":
    program()
