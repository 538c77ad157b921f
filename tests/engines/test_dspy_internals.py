"""DSPy's internal names stand in one module: a new version of DSPy that moves them is a change there alone."""

import ast
import inspect
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import SupportsInt

import dspy
import pytest

import jurist

PRODUCT = Path(jurist.__file__).parent
NO_PRODUCT = {"tests", "build", "dist", "node_modules"}
DOOR = "engines/dspy_internals.py"
MOST_MODULES = 3
PUBLIC_PACKAGE = "lm15"  # DSPy's own words: "Import public names here"


def product_modules() -> list[Path]:
    paths = []
    for path in sorted(PRODUCT.rglob("*.py")):
        folders = path.relative_to(PRODUCT).parts[:-1]
        if not any(folder in NO_PRODUCT or folder.startswith(".") for folder in folders):
            paths.append(path)
    return paths


def private_members() -> set[str]:
    """Return the names with one underscore that DSPy's exported classes define, or set when they are constructed."""
    names = set()
    for exported in vars(dspy).values():
        if not inspect.isclass(exported):
            continue
        for kind in exported.__mro__:
            if not kind.__module__.startswith("dspy."):
                continue
            names.update(vars(kind))
            constructor = vars(kind).get("__init__")
            if inspect.isfunction(constructor):
                names.update(constructor.__code__.co_names)
    private = {name for name in names if name.startswith("_") and not name.startswith("__")}
    return private - vars(SupportsInt).keys()  # what typing puts into each protocol is not DSPy's


PRIVATE_MEMBERS = private_members()


def is_internal(path: str) -> bool:
    """Return whether a dotted path goes through a package of DSPy that is no public one."""
    root, *names = path.split(".")
    if root != "dspy" or not names or names[0] == PUBLIC_PACKAGE:
        return False
    exported = getattr(dspy, names[0], None)
    return exported is None or isinstance(exported, ModuleType)


def dotted(node: ast.expr) -> str:
    """Return the path of an attribute of a name, such as ``dspy.utils.saving``; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (owner := dotted(node.value)):
        return f"{owner}.{node.attr}"
    return ""


def members_of_its_own(tree: ast.Module) -> set[str]:
    """Return the private names that a module defines itself, outside classes that are made from DSPy's."""
    names = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef | ast.Module):
            continue
        bases = [dotted(base) for base in node.bases] if isinstance(node, ast.ClassDef) else []
        if any(base.startswith("dspy.") for base in bases):
            continue
        for part in ast.walk(node) if isinstance(node, ast.ClassDef) else node.body:
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(part.name)
            elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                if dotted(part.value) == "self":
                    names.add(part.attr)
            elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                names.add(part.target.id)
    return names


def internal_names(source: str) -> Iterator[str]:
    """Yield what a module names of DSPy that DSPy does not export."""
    tree = ast.parse(source)
    names_of_its_own = members_of_its_own(tree)
    for node in ast.walk(tree):
        paths: list[str] = []
        if isinstance(node, ast.Import):
            paths = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            paths = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            paths = [dotted(node)]
            if node.attr in PRIVATE_MEMBERS and node.attr not in names_of_its_own:
                yield node.attr
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name in PRIVATE_MEMBERS and node.name not in names_of_its_own:
                yield node.name
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value.isidentifier() and node.value in PRIVATE_MEMBERS:
                paths = [f"dspy.members.{node.value}"]
            elif all(part.isidentifier() for part in node.value.split(".")):
                paths = [node.value]
        yield from filter(is_internal, paths)


def test_dspy_s_internal_names_stand_behind_one_door() -> None:
    modules = defaultdict(set)
    for path in product_modules():
        for name in internal_names(path.read_text(encoding="utf-8")):
            modules[str(path.relative_to(PRODUCT))].add(name)
    others = {module: sorted(names) for module, names in modules.items() if module != DOOR}
    assert not others, f"take these from {DOOR}, or put them there"
    assert len(modules) <= MOST_MODULES
    assert modules[DOOR], "the door names what the others use"


@pytest.mark.parametrize(
    "line",
    [
        "from dspy.utils.exceptions import LMError",
        "from dspy.adapters import utils",
        "from dspy import utils",
        "from dspy import teleprompt",
        "import dspy.teleprompt.gepa",
        "import dspy\nprint(dspy.clients.lm)",
        "import dspy\nprint(dspy.settings.context, dspy.utils)",
        "import_module('dspy.propose.grounded_proposer')",
        "print(lm._engine_spec)",
        "print(getattr(lm, '_engine_spec'))",
        "module._compiled = True",
        "class Mine(dspy.JSONAdapter):\n    def _prepare_response_format(self): ...",
        "class Mine(dspy.Module):\n    def __init__(self):\n        self._compiled = True",
    ],
)
def test_an_internal_name_is_noticed(line: str) -> None:
    assert list(internal_names(line))


@pytest.mark.parametrize(
    "line",
    [
        "import dspy",
        "import dspy\nprint(dspy.LM, dspy.settings.trace, dspy.lm15.Usage)",
        "from dspy import LM, LMError, lm15",
        "from dspy.lm15 import Request",
        "from .dspy_internals import model_info",
        "class Mine:\n    def __init__(self):\n        self._compiled = True",
        "print('dspy', 'dspy:GEPA', 'in dspy. and more')",
    ],
)
def test_a_public_name_is_let_through(line: str) -> None:
    assert not list(internal_names(line))
