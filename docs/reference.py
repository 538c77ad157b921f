"""Pages of the documentation that are made from the code: the help of every command, and what Python can call."""

import argparse
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from jurist.arguments.command import Parser
from jurist.cli import build_parser

_PACKAGES = tempfile.TemporaryDirectory()
"""A folder in which the root of the clone has the name of the package, whatever it is called."""


@event_priority(100)  # before mkdocstrings reads its settings
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let the page of Python find the package with its stubs."""
    package = Path(_PACKAGES.name, "jurist")
    if not package.exists():
        package.symlink_to(Path(config.config_file_path).parent.resolve())
    config.plugins["mkdocstrings"].config.handlers["python"]["paths"] = [_PACKAGES.name]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add ``commands.md``."""
    os.environ["COLUMNS"] = "100"  # argparse folds its help to the terminal
    files.append(File.generated(config, "commands.md", content="\n".join(_commands()) + "\n"))
    return files


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Name the theme's search for those who hear the page."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')


def on_post_template(output_content: str, template_name: str, config: MkDocsConfig) -> str:
    """Name the theme's search on the page for addresses that do not exist."""
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
