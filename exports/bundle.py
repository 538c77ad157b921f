"""One source of several of our own: what an exported file needs to read replies as jurist does, without jurist.

Modules and functions that use the standard library only are written one after the other, lowest first; what they
import from each other stands above them then.
"""

import ast
import inspect
from collections.abc import Callable
from functools import cache
from types import ModuleType


@cache
def portable_source() -> str:
    """Return the source that defines :class:`~jurist.exports.portable_judge.PortableJudge`, and all it needs."""
    from ..programs import votes
    from ..programs.answers import portable, sentences
    from ..text import escaping, replies
    from . import portable_judge

    functions = (votes.majority, votes._sides, votes.decide, sentences.shown, sentences.numbered)
    return bundle(escaping, replies, *functions, portable, portable_judge)


def bundle(*parts: ModuleType | Callable[..., object]) -> str:
    """Return one source of modules and functions, with every import of the standard library at its top."""
    imports: set[str] = set()
    bodies: list[str] = []
    defined: set[str] = set()
    for part in parts:
        source = inspect.getsource(part)
        kept, names = _body(source, imports)
        if names & defined:
            raise ValueError(f"{part.__name__} defines {', '.join(sorted(names & defined))} again")
        defined |= names
        bodies.append(kept)
    top = "\n".join(sorted(imports, key=lambda line: (line.startswith("from"), line)))
    return "\n\n\n".join([top, *bodies])


def _body(source: str, imports: set[str]) -> tuple[str, set[str]]:
    """Return a source without docstring, imports and ``__all__``, and the names that it defines at its top."""
    lines, names = source.splitlines(), set[str]()
    for number, node in enumerate(ast.parse(source).body):
        docstring = number == 0 and isinstance(node, ast.Expr)
        targets = _names(node)
        if isinstance(node, ast.Import | ast.ImportFrom) or docstring or targets == {"__all__"}:
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or 0) - node.lineno + 1)
            if not docstring and targets != {"__all__"} and not _is_ours(node):
                imports.add(ast.unparse(node))
        else:
            names |= targets
    return "\n".join(lines).strip("\n"), names


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _is_ours(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and (node.level > 0 or node.module == "__future__")
