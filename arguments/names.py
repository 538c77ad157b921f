"""The names of targets, optimizers and gold formats that come with jurist: each is one module, called like it."""

from pathlib import Path
from pkgutil import iter_modules

_ROOT = Path(__file__).parents[1]


def list_module_names(package: str) -> list[str]:
    """Return the names that the modules of a package bring, in alphabetical order; none of them is imported.

    Args:
        package: a package of jurist, such as ``exports.targets``. Its module ``pydantic_evals`` brings the name
            ``pydantic-evals``.
    """
    folder = _ROOT.joinpath(*package.split("."))
    return sorted(module.name.replace("_", "-") for module in iter_modules([str(folder)]))
