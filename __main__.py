"""The entry of the command ``jurist``, also as ``python -m jurist``."""

import sys
from typing import NoReturn


def start() -> NoReturn:
    """Run the command line; Ctrl-C ends it in one line while its modules are imported, too."""
    try:
        from .cli import program

        program()
    except KeyboardInterrupt:
        sys.stderr.write("stopped by Ctrl-C\n")
        sys.exit(130)


if __name__ == "__main__":
    start()
