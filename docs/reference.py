"""The page of the documentation that is made from the code: the help of every command."""

import argparse
import os
from collections.abc import Iterator

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from jurist.arguments.command import Parser
from jurist.cli import build_parser


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add ``commands.md``."""
    os.environ["COLUMNS"] = "100"  # argparse folds its help to the terminal
    files.append(File.generated(config, "commands.md", content="\n".join(_commands()) + "\n"))
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
