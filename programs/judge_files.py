"""Python files that define judges: read once with the modules of the user's own that they import, hashed, and executed.

The executed content is the hashed one: no file is read again, and nothing from ``__pycache__`` is used. Modules of
installed packages and of Python itself are left out, and so are modules that a file imports by other means than
``import``.

There are two hashes: of the bytes, and of the code. Formatting, comments, docstrings and the ``desc=`` of fields change
only the first, as a version keeps the instruction and the descriptions that it was proven with. ``columns=``,
``values=`` and ``merge=`` of a judge only say how files are read, and change only the first too.
"""

import ast
import hashlib
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import NoReturn

from ..text.files import read_regular_file

_FIELDS = ("InputField", "OutputField")
_SOURCE_LIMIT = 16 * 1024**2
"""The most bytes of a Python file."""
_NAME_LIMIT = 200
"""The most characters of a text that may be the name of a file."""


@dataclass(frozen=True, kw_only=True)
class JudgeFile:
    """A Python file and the user's own modules that it imports, from its folder or elsewhere on the path."""

    path: Path  # the path of the file
    content: bytes  # the bytes of the file
    # dotted name of an imported module -> its file and the bytes of that
    modules: Mapping[str, tuple[Path, bytes]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "JudgeFile":
        """Return a file with all modules of the user's own that it imports, directly or through others."""
        content = _source_of(path)
        modules: dict[str, tuple[Path, bytes]] = {}
        names = list(_imported_names(content))
        while names:
            name = names.pop()
            if name in modules or not _is_own(name):
                continue
            for dotted_name, file in _files_of_module(name, path.parent):
                module_content = _source_of(file)
                modules[dotted_name] = file, module_content
                names += _imported_names(module_content)
        return cls(path=path, content=content, modules=modules)

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """The hashes of file and modules for a card: ``judge_sha256`` of their bytes, ``judge_code`` of their code."""
        contents = {"": self.content}
        for name, (_, content) in self.modules.items():
            contents[name] = content
        codes = {name: _code_of(content) for name, content in contents.items()}
        return {"judge_sha256": _hash_contents(contents), "judge_code": _hash_contents(codes)}

    @property
    def data_files(self) -> list[Path]:
        """The files beside the code that a text in it names, such as ``words.json``; their content is in no hash."""
        files: dict[Path, None] = {}
        contents = [(self.path, self.content), *self.modules.values()]
        code_paths = {path.resolve() for path, _ in contents}
        for path, content in contents:
            for text in _texts_in(content):
                file = path.parent / text
                if file.is_file() and file.resolve() not in code_paths:
                    files[file] = None
        return list(files)

    def execute(self) -> types.ModuleType:
        """Execute the file and return its module. Raises whatever the file raises."""
        module = types.ModuleType(f"jurist_user_{self.path.stem}")
        module.__file__ = str(self.path)
        sys.modules[module.__name__] = module
        # Modules of these names may be loaded already: those of another file, or of this one before it was changed.
        for name in self.modules:
            if isinstance(getattr(sys.modules.get(name), "__loader__", None), _Loader):
                del sys.modules[name]
        # The finder stays: a function of the file may import a module only when it is called.
        if self.modules:
            sys.meta_path.insert(0, _Finder(self.modules))
        exec(compile(self.content, str(self.path), "exec"), vars(module))  # noqa: S102
        return module


def _source_of(path: Path) -> bytes:
    """Return the bytes of a Python file, which may be reached by a link."""
    return read_regular_file(path, limit=_SOURCE_LIMIT, follow_links=True)


class _Finder:
    """Finds the modules that were read, under their names."""

    def __init__(self, modules: Mapping[str, tuple[Path, bytes]]) -> None:
        self._modules = modules

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self._modules:
            return None
        file, content = self._modules[name]
        package_folders = [str(file.parent)] if file.name == "__init__.py" else None
        loader = _Loader(name, str(file), content)
        return importlib.util.spec_from_file_location(
            name, file, loader=loader, submodule_search_locations=package_folders
        )


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads the content that was read, and nothing from ``__pycache__``."""

    def __init__(self, name: str, path: str, content: bytes) -> None:
        super().__init__(name, path)
        self._content = content

    def get_data(self, path: object) -> bytes:
        return self._content

    def path_stats(self, path: object) -> NoReturn:
        raise OSError("there is no time stamp by which a cached file could be taken for it")


def _hash_contents(contents: Mapping[str, bytes]) -> str:
    """Return one hash of a file, whose name is empty, and of its modules by their names."""
    if len(contents) == 1:
        return hashlib.sha256(contents[""]).hexdigest()
    lines: list[str] = []
    for name in sorted(contents):
        lines.append(f"{name}={hashlib.sha256(contents[name]).hexdigest()}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _code_of(content: bytes) -> bytes:
    """Return a file's code without formatting, comments, docstrings and descriptions; all of it if it is no Python."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return content
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func).rpartition(".")[2]
            node.keywords = [keyword for keyword in node.keywords if _is_code(keyword, called)]
    return ast.unparse(tree).encode("utf-8", "surrogatepass")


def _is_code(keyword: ast.keyword, called: str) -> bool:
    """Say whether a keyword argument of a call to ``called`` is code: descriptions and reading settings are not."""
    if called in _FIELDS:
        return keyword.arg != "desc" or not _is_text(keyword.value)
    if called == "Judge":
        return keyword.arg not in ("columns", "values", "merge")
    return True


def _is_text(node: ast.expr) -> bool:
    """Say whether an expression is a literal text."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _imported_names(content: bytes) -> Iterator[str]:
    """Yield the first part of every name that a file imports; nothing of a file that is no Python."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):  # executing it says so
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _texts_in(content: bytes) -> Iterator[str]:
    """Yield the texts in a file that can be names of files, without repeats; none of a file that is no Python."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return
    texts: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts[node.value] = None
    for text in texts:
        is_name = text.isprintable() and 0 < len(text) <= _NAME_LIMIT
        if is_name and text == text.strip():
            yield text


def _is_own(name: str) -> bool:
    """Whether a module belongs neither to Python nor to an installed package."""
    if name in ("jurist", "dspy", "pydantic", "typing") or name in sys.stdlib_module_names:
        return False
    return name not in _installed_modules()


@cache
def _installed_modules() -> frozenset[str]:
    """Return the names of the modules of all installed packages, cached because every package's files are listed."""
    from importlib.metadata import packages_distributions

    return frozenset(packages_distributions())


def _files_of_module(name: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield a module, with all modules inside it if it is a package, each with its file.

    The folder of the judge's file is searched first, then Python's path; the first hit counts.
    """
    parents = [folder]
    parents.extend(Path(entry or ".") for entry in sys.path)
    for parent in parents:
        if (parent / f"{name}.py").is_file():
            yield name, parent / f"{name}.py"
            return
        if (parent / name / "__init__.py").is_file():
            yield from _files_of_package(name, parent)
            return


def _files_of_package(name: str, parent: Path) -> Iterator[tuple[str, Path]]:
    """Yield a package and all modules inside it, each with its file."""
    for file in sorted((parent / name).rglob("*.py")):
        parts = file.relative_to(parent).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        yield ".".join(parts), file
