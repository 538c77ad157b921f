"""The judge as one Python file, for whoever has no framework."""

from ..portable_file import PortableFile

exporter = PortableFile(
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
