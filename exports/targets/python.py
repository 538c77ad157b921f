"""The judge as one Python file, for whoever has no framework."""

from ..decision_file import DecisionFile
from ..portable_file import PortableFile
from ..target import Subject


class PythonFile(PortableFile):
    """The target ``python``: a file for a chat model, or for a decision model."""

    def render(self, subject: Subject) -> str:
        """Return the source of the file."""
        if subject.asks_decision_model:
            return _DECISION_FILE.render(subject)
        return super().render(subject)


_DECISION_FILE = DecisionFile(
    "python",
    needs="Python 3.11 and no package",
    usage='judge("http://localhost:8000", $call)',
    note=(
        "The address is that of a server that answers ``$path``; the key, if it asks for one, comes second. "
        'The verdict has ``status`` ("verdict", or "abstained" where the model declined), ``value``, '
        "``score`` (0 to 1: 1 for a label that is not positive, the first of a pair, or the top of the scale), "
        "``probabilities`` (of each unit's labels), ``errors`` and ``artifact``. What ``urllib`` raises is not "
        "caught here."
    ),
    code='''
TIMEOUT = 60.0
"""Seconds that a request may take."""


def judge(address: str, key: str = "", /, **inputs: Any) -> dict[str, Any]:
    """Return the verdict on one row.

    Args:
        address: such as http://localhost:8000, https://api.typesafe.ai or https://api.openai.com.
        key: the key of the endpoint, if it asks for one.
        inputs: $inputs.
    """
    return _JUDGE.decide(_JUDGE.post_to(address, key, TIMEOUT), inputs)
''',
)
exporter = PythonFile(
    "python",
    needs="Python 3.11 and no package but a client",
    usage='judge(OpenAI(), "$model", $call)',
    note=(
        "Any client with OpenAI's ``chat.completions.create`` will do. The verdict has ``status`` "
        '("verdict", or "abstained" where no reply was usable), ``value``, ``score`` (0 to 1: 1 for a '
        "label that is not positive, the first of a pair, or the top of the scale), ``votes``, ``errors`` "
        "(why replies were unusable) and ``artifact``. What the client raises is not caught here."
    ),
    limit="your code must catch and retry what the client raises (quota, network)",
    code='''
def judge(
    client: Any, model: str, *, settings: Mapping[str, Any] | None = None, **inputs: Any
) -> dict[str, Any]:
    """Return the verdict on one row.

    Args:
        client: such as openai.OpenAI(), with or without base_url.
        model: the name that it knows.
        settings: for the request, over $settings; None leaves one out.
        inputs: $inputs.
    """
    return _JUDGE.ask(_JUDGE.connect(client, model, settings or {}), inputs)


def messages(**inputs: Any) -> list[dict[str, str]]:
    """Return the messages that are sent first for one row; of a pair, in its own order."""
    return _JUDGE.messages(inputs)
''',
)
