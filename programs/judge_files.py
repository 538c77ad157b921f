"""Python files that define judges: read once with the modules of the user's own that they import, hashed, and executed.

The executed content is the hashed one: no file is read again, and nothing from ``__pycache__`` is used. The modules of
a file live in a package of that file and content, to which its ``import`` statements lead. So it never gets a module
of the same name from the program that uses jurist or from another judge, and neither of them gets one of its own.
Modules of installed packages and of Python itself are left out, and so are modules that a file imports by other means
than ``import``.

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

    @cached_property
    def _module_name(self) -> str:
        """The name under which the file is executed, different for each path and content."""
        identity = f"{self.path.resolve()}\n{self.hashes['judge_sha256']}"
        digest = hashlib.sha256(identity.encode("utf-8", "surrogateescape")).hexdigest()
        return f"jurist_user_{self.path.stem}_{digest[:12]}"

    @property
    def _package_name(self) -> str:
        """The name of the package that its modules live in."""
        return f"{self._module_name}_modules"

    def execute(self) -> types.ModuleType:
        """Execute the file and return its module. Raises whatever the file raises."""
        self._open_package()
        module = types.ModuleType(self._module_name)
        module.__file__ = str(self.path)
        sys.modules[module.__name__] = module
        exec(self.compiled(self.content, str(self.path)), vars(module))  # noqa: S102
        return module

    def _open_package(self) -> None:
        """Make an empty package of its modules, each of which is executed when it is first imported."""
        for name in list(sys.modules):  # those of an earlier execution
            if name.startswith(f"{self._package_name}."):
                del sys.modules[name]
        package = types.ModuleType(self._package_name)
        package.__path__ = []
        sys.modules[package.__name__] = package
        # The finder stays: a function of the file may import a module only when it is called.
        _FINDER.files[self._package_name] = self
        if _FINDER not in sys.meta_path:
            sys.meta_path.insert(0, _FINDER)  # before the one that finds files in the folder of a package

    def find_module(self, name: str) -> importlib.machinery.ModuleSpec | None:
        """Return how one of its modules is loaded, by its dotted name; ``None`` where it has no such module."""
        if name not in self.modules:
            return None
        path, content = self.modules[name]
        package_folders = [str(path.parent)] if path.name == "__init__.py" else None
        full_name = f"{self._package_name}.{name}"
        loader = _Loader(full_name, str(path), content, self)
        return importlib.util.spec_from_file_location(
            full_name, path, loader=loader, submodule_search_locations=package_folders
        )

    def compiled(self, content: bytes, path: str) -> types.CodeType:
        """Return the code of the file, or of one of its modules, whose imports lead to its own modules."""
        tree = ast.parse(content, path)
        names = frozenset(name.partition(".")[0] for name in self.modules)
        if names:
            _OwnImports(names, self._package_name).visit(tree)
            ast.fix_missing_locations(tree)
        return compile(tree, path, "exec", dont_inherit=True)


def _source_of(path: Path) -> bytes:
    """Return the bytes of a Python file, which may be reached by a link."""
    return read_regular_file(path, limit=_SOURCE_LIMIT, follow_links=True)


class _OwnImports(ast.NodeTransformer):
    """Leads the imports of some modules to a package that holds them; what a statement binds stays the same."""

    def __init__(self, names: frozenset[str], package: str) -> None:
        self._names = names  # without dots
        self._package = package

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        """Return a statement for each module: ``import a.b`` binds ``a``, as the module that the package holds."""
        statements: list[ast.stmt] = []
        for alias in node.names:
            first_name = alias.name.partition(".")[0]
            if first_name not in self._names:
                statements.append(ast.Import(names=[alias]))
                continue
            bound_name = alias.asname or first_name
            moved = ast.alias(name=f"{self._package}.{alias.name}", asname=bound_name)
            statements.append(ast.Import(names=[moved]))
            if alias.asname is None and alias.name != first_name:
                names = [ast.alias(name=first_name)]
                statements.append(ast.ImportFrom(module=self._package, names=names, level=0))
        return [ast.copy_location(statement, node) for statement in statements]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        """Return the statement with the name of the module in the package."""
        if node.level == 0 and node.module and node.module.partition(".")[0] in self._names:
            node.module = f"{self._package}.{node.module}"
        return node


class _Finder:
    """Finds the modules of judge files in the packages of these files, and no others."""

    def __init__(self) -> None:
        self.files: dict[str, JudgeFile] = {}  # name of the package -> the file

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, _, module = name.partition(".")
        file = self.files.get(package)
        if file is None:
            return None
        return file.find_module(module)


_FINDER = _Finder()


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads the content that was read, and nothing from ``__pycache__``."""

    def __init__(self, name: str, path: str, content: bytes, file: JudgeFile) -> None:
        super().__init__(name, path)
        self._content = content
        self._file = file

    def get_data(self, path: object) -> bytes:
        return self._content

    def path_stats(self, path: object) -> NoReturn:
        raise OSError("there is no time stamp by which a cached file could be taken for it")

    def source_to_code(  # type: ignore[override]  # typeshed's has positional parameters alone
        self, data: bytes, path: str, *, _optimization: int = -1
    ) -> types.CodeType:
        return self._file.compiled(data, path)


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
