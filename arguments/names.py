"""The names that help shows: of targets, optimizers and gold formats, each a module called like it, and of models."""

from pathlib import Path
from pkgutil import iter_modules

EXAMPLE_MODEL = "openai/gpt-6-luna"
"""The model of all examples, in help, README, docs and docstrings: one whose end is not announced (2026-11-29)."""
LARGER_EXAMPLE_MODEL = "openai/gpt-6.1-sol"
"""The model of examples that name a second, larger one."""
OTHER_EXAMPLE_MODEL = "gemini/gemini-3.5-flash-lite"
"""The model of examples that name a second one, of another provider."""
_EXAMPLE_MODELS = {
    "{MODEL}": EXAMPLE_MODEL,
    "{LARGER_MODEL}": LARGER_EXAMPLE_MODEL,
    "{OTHER_MODEL}": OTHER_EXAMPLE_MODEL,
}
_ROOT = Path(__file__).parents[1]


def name_example_models(text: str) -> str:
    """Return a text of help with the models of its examples in the place of ``{MODEL}`` and the like."""
    for placeholder, model in _EXAMPLE_MODELS.items():
        text = text.replace(placeholder, model)
    return text


def list_module_names(package: str) -> list[str]:
    """Return the names that the modules of a package bring, in alphabetical order; none of them is imported.

    Args:
        package: a package of jurist, such as ``exports.targets``. Its module ``pydantic_evals`` brings the name
            ``pydantic-evals``.
    """
    folder = _ROOT.joinpath(*package.split("."))
    return sorted(module.name.replace("_", "-") for module in iter_modules([str(folder)]))
