"""The judge as one Python file that needs nothing but a client: ``judge(client, model, **inputs)``."""

from collections.abc import Sequence

from .portable_file import PortableFile, executed
from .target import Messages, Row


class PythonFile(PortableFile):
    """One file with the prompt, the parser and the vote; dependency-free."""

    name = "python"
    limits = ("what the client raises (quota, network) is the caller's to handle and retry",)
    about = """Needs Python 3.11 and no package but a client.

    judge(OpenAI(), "gpt-4.1-mini", $call)

Any client with OpenAI's ``chat.completions.create`` will do. The verdict has ``status`` ("verdict", or "abstained"
where no reply was usable), ``value``, ``score`` (0 to 1: 1 for a label that does not count as found, or for the top of
the scale), ``votes``, ``errors`` (why replies were unusable) and ``artifact``. What the client raises is not caught
here. A judge of numbered units does not ask again for those that a reply leaves out."""
    code = '''def judge(
    client: Any, model: str, *, settings: Mapping[str, Any] | None = None, **inputs: Any
) -> dict[str, Any]:
    """Return the verdict on one row.

    Args:
        client: such as openai.OpenAI(), with or without base_url.
        model: the name that it knows.
        settings: for the request, over $settings; None leaves one out.
        inputs: $inputs.
    """
    return _JUDGE.ask(_JUDGE.through(client, model, settings or {}), inputs)


def messages(**inputs: Any) -> list[dict[str, str]]:
    """Return the messages that are sent for one row."""
    return _JUDGE.messages(inputs)
'''

    def replay(self, text: str, rows: Sequence[Row]) -> list[Messages]:
        """Execute the file, which jurist has just written, and ask for the messages of the rows' own inputs."""
        return [executed(text)["messages"](**row.inputs) for row in rows]
