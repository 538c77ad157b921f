"""Pages of the documentation that are made from the code: every command's help, every public name's docstring."""

import argparse
import inspect
import os
import re
from collections.abc import Iterator
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import jurist
from jurist.arguments.command import Parser
from jurist.cli import build_parser


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add ``commands.md`` and ``python.md``."""
    os.environ["COLUMNS"] = "100"  # argparse folds its help to the terminal
    for name, lines in (("commands.md", _commands()), ("python.md", _python())):
        files.append(File.generated(config, name, content="\n".join(lines) + "\n"))
    return files


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Name the theme's search for those who hear the page."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')


def on_post_template(output_content: str, template_name: str, config: MkDocsConfig) -> str:
    """Do the same on the page of what is not there."""
    return output_content.replace('role="dialog"', 'role="dialog" aria-label="Search"')


def _commands() -> Iterator[str]:
    yield "# Commands\n\nEvery option, command by command; `--help` prints those that are used every day."
    for name, parser in _parsers(build_parser()):
        parser.declare()
        parser.list_all()
        yield f"\n## {name}\n\n```text\n{parser.format_help().strip()}\n```"


def _parsers(parser: Parser) -> Iterator[tuple[str, Parser]]:
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not inner:
        yield parser.prog, parser
    for action in inner:
        for one in action.choices.values():
            yield from _parsers(one)


def _python() -> Iterator[str]:
    yield "# Python\n\nEverything that `import jurist` offers."
    for name in dir(jurist):
        value: Any = getattr(jurist, name)
        if not callable(value):
            continue
        text = _text(value)
        yield f"\n## jurist.{name}\n\n```text\n{name}{_signature(value)}\n\n{text}\n```"
        if isinstance(value, type):
            yield from _methods(name, value)


def _methods(name: str, value: type) -> Iterator[str]:
    """Yield the public methods of a class that is jurist's own, with their docstrings."""
    for method_name, method in inspect.getmembers(value, inspect.isroutine):
        is_own = (getattr(method, "__module__", "") or "").startswith("jurist.")
        if method_name.startswith("_") or not is_own:
            continue
        text = _text(method)
        yield f"\n### {name}.{method_name}\n\n```text\n{method_name}{_signature(method)}\n\n{text}\n```"


def _text(value: Any) -> str:
    """Return a docstring as plain text: names without marks, those that begin with ``~`` without modules."""
    text = inspect.cleandoc(value.__doc__ or "")
    text = re.sub(r":[a-z]+:`~[.]?(?:\w+\.)*(\w+)`", r"\1", text)
    text = re.sub(r":[a-z]+:`([^`~]+)`", r"\1", text)
    return text.replace("``", "")


def _signature(value: Any) -> str:
    """Return what something takes, its types without the modules they stand in, and without quotes around them."""
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""
    unquoted = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)
    return re.sub(r"\b(?:\w+\.)+(?=[A-Z]\w*)", "", unquoted)
