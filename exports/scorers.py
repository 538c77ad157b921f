"""A judge as a scorer of an evaluation framework: one Python file that sends, reads and counts as the judge does.

The framework's own judging prompts (``model_graded_qa``, ``LLMClassifier``, ``LLMJudge``, ``GEval``) put what is
proven inside a prompt that is not, and read the reply in another way. So a file is a scorer of its own instead. A new
framework is one more entry of ``data/frameworks.toml``.
"""

from ..errors import UsageError
from ..programs.answers.portable import is_number
from ..text.tables import table
from .portable_file import PortableFile
from .target import Subject

_LIMITS = (
    "1 is a label that is not positive, the first of a pair, or the top of the scale; units, criteria are averaged",
    "a row's inputs go by their own names, then input, output, expected; the output is what is judged if unnamed",
)


class ScorerFile(PortableFile):
    """A file with a scorer of a framework, for judges whose verdict is a number from 0 to 1."""

    shared_limits = _LIMITS

    def render(self, subject: Subject) -> str:
        """Return the source; refuse a judge whose verdict is no number."""
        scale, rule = subject.judge.answer.scale, subject.judge.answer.parser_rule()
        scales, rules = getattr(scale, "scales", {"": scale}), rule.get("criteria", {"": rule})
        if not any(
            is_number(one.get("reader"), getattr(scales[name], "positive", ())) for name, one in rules.items()
        ):
            raise UsageError(
                f"{subject.judge.name} gives no one number, which is what {self.name} keeps",
                hint="export it to python, or run it with jurist; of labels, positive= names those that count as 0",
            )
        return super().render(subject)


SCORERS = tuple(ScorerFile(name, entry) for name, entry in table(__package__, "frameworks").items())
