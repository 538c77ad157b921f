"""A judge as a scorer of an evaluation framework: one Python file that sends, reads and counts as the judge does.

The framework's own judging prompts (``model_graded_qa``, ``LLMClassifier``, ``LLMJudge``, ``GEval``) put what is
proven inside a prompt that is not, and read the reply in another way. So a file is a scorer of its own instead. A new
framework is one module with a :class:`ScorerFile`.
"""

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

from ..errors import UsageError
from ..programs.answers.portable import SCORES
from .portable_file import PortableFile, executed
from .target import Messages, Row, Subject, loader


class ScorerFile(PortableFile):
    """A file with a scorer of a framework, for judges whose verdict is a number from 0 to 1."""

    limits: ClassVar[tuple[str, ...]] = (
        "1 is a label that does not count as found, or the top of the scale; units of a row are averaged",
        "a row's inputs go by their own names, then input, output, expected; the output is what is judged if unnamed",
    )
    module: ClassVar[str]  # the framework's, to be imported
    package: ClassVar[str]  # what pip calls it
    # environment variables under which a check sends no telemetry and writes nothing where it runs
    quiet: ClassVar[Mapping[str, str]] = {}

    def render(self, subject: Subject) -> str:
        """Return the source. Raises what :meth:`PortableFile.render` raises, and where there is no number."""
        if subject.judge.answer.parser_rule().get("reader") not in SCORES:
            raise UsageError(
                f"{subject.judge.name} gives no one number, which is what {self.name} keeps",
                hint="export it to python, or run it with jurist",
            )
        return super().render(subject)

    def replay(self, text: str, rows: Sequence[Row]) -> list[Messages]:
        """Execute the file, which jurist has just written, and let the framework score each row."""
        for variable, value in self.quiet.items():
            os.environ.setdefault(variable, value)
        loader(self.module, self.package)
        file = executed(text)
        return [self.sent(file, row) for row in rows]

    @abstractmethod
    def sent(self, file: Mapping[str, Any], row: Row) -> Messages:
        """Return the messages that a model gets when the framework scores a row."""


class RecordingClient:
    """An OpenAI-compatible client that keeps the messages of the last request, and answers nothing usable."""

    def __init__(self) -> None:
        self.messages: Messages = ()
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self._create))

    def _create(self, *, messages: Messages, **request: Any) -> Any:
        self.messages = messages
        said = SimpleNamespace(message=SimpleNamespace(content=""), finish_reason="stop")
        return SimpleNamespace(choices=[said])
