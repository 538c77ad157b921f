"""A judge as a scorer of an evaluation framework: one Python file that sends, reads and counts as the judge does.

The framework's own judging prompts (``model_graded_qa``, ``LLMClassifier``, ``LLMJudge``, ``GEval``) put what is
proven inside a prompt that is not, and read the reply in another way. So a file is a scorer of its own instead. A new
framework is one more entry of ``data/frameworks.toml``.
"""

import textwrap
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

from ..errors import UsageError
from ..programs.answers.portable import is_number
from .portable_file import PortableFile
from .target import Subject

_LIMITS = (
    "1 is a label that is not positive, the first of a pair, or the top of the scale; units, criteria are averaged",
    "a row's inputs go by their own names, then input, output, expected; the output is what is judged if unnamed",
)


class ScorerFile(PortableFile):
    """A file with a scorer of a framework, for judges whose verdict is a number from 0 to 1."""

    def __init__(self, name: str, entry: Mapping[str, Any]) -> None:
        self.name, self.imports, self.code = name, entry.get("imports", "").strip(), entry["code"]
        self.about = "\n\n".join(
            [f"Needs {entry['needs']}.", f"    {entry['usage']}", textwrap.fill(entry["note"], 110)]
        )
        self.limits = (*_LIMITS, entry["limit"]) if "limit" in entry else _LIMITS

    def render(self, subject: Subject) -> str:
        """Return the source; refuse a judge whose verdict is no number."""
        scale, rule = subject.judge.answer.scale, subject.judge.answer.parser_rule()
        scales, rules = getattr(scale, "scales", {"": scale}), rule.get("criteria", {"": rule})
        if not any(
            is_number(one.get("reader"), getattr(scales[name], "positive", ())) for name, one in rules.items()
        ):
            raise UsageError(
                f"{subject.judge.name} gives no one number, which is what {self.name} keeps",
                hint="export it to python, or run it with jurist",
            )
        return super().render(subject)


_TABLE = (resources.files(__package__ or "") / "data" / "frameworks.toml").read_text(encoding="utf-8")
SCORERS = tuple(ScorerFile(name, entry) for name, entry in tomllib.loads(_TABLE).items())
