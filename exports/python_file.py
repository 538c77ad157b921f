"""The judge as one Python file that needs nothing but a client: ``judge(client, model, **inputs)``."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from ..errors import UsageError
from ..programs.votes import majority
from .bundle import portable_source
from .contents import contents, reply_schema
from .prompt import Prompt, prompt_of
from .target import Messages, Row, Subject, Target

__all__ = ["PythonFile", "executed", "portable_spec"]

_HEAD = '''"""{ref}: a compiled judge, made by jurist. Needs Python 3.11 and no package but a client.

    judge(OpenAI(), "gpt-4.1-mini", {call})

Any client with OpenAI's ``chat.completions.create`` will do. The verdict has ``status`` ("verdict", or "abstained"
where no reply was usable), ``value``, ``votes``, ``errors`` (why replies were unusable) and ``artifact``. What the
client raises is not caught here. A judge of numbered units does not ask again for those that a reply leaves out.
"""

from __future__ import annotations

'''
_FOOT = '''

_SPEC = json.loads({spec!r})
_JUDGE = PortableJudge(_SPEC)


def judge(client: Any, model: str, *, settings: Mapping[str, Any] | None = None, **inputs: Any) -> dict[str, Any]:
    """Return the verdict on one row.

    Args:
        client: such as openai.OpenAI(), with or without base_url.
        model: the name that it knows.
        settings: for the request, over {settings}; None leaves one out.
        inputs: {inputs}.
    """
    return _JUDGE.ask(client, model, inputs, settings or {{}})


def messages(**inputs: Any) -> list[dict[str, str]]:
    """Return the messages that are sent for one row."""
    return _JUDGE.messages(inputs)
'''


class PythonFile(Target):
    """One file with the prompt, the parser and the vote; dependency-free."""

    name = "python"
    suffix = ".py"
    prepares = True
    limits = ("what the client raises (quota, network) is the caller's to handle and retry",)

    def render(self, subject: Subject) -> str:
        """Return the source.

        Raises:
            UsageError: the judge's answers cannot be read by the standard library.
        """
        spec = portable_spec(subject)
        if spec["adapter"] == "xml":
            raise _unreadable(subject)
        names = [one["name"] for one in spec["inputs"]]
        call = ", ".join(f"{name}=..." for name in names)
        foot = {
            "spec": json.dumps(spec, ensure_ascii=True),
            "settings": spec["settings"],
            "inputs": ", ".join(names),
        }
        return _HEAD.format(ref=subject.ref, call=call) + portable_source() + "\n" + _FOOT.format(**foot)

    def replay(self, text: str, rows: Sequence[Row]) -> list[Messages]:
        """Execute the file, which jurist has just written, and ask for the messages of the rows' own inputs."""
        return [executed(text)["messages"](**row.inputs) for row in rows]


def portable_spec(subject: Subject) -> dict[str, Any]:
    """Return all that a :class:`~jurist.exports.portable_judge.PortableJudge` needs.

    Raises:
        UsageError: the judge's answers cannot be read by the standard library.
    """
    prompt = prompt_of(subject, lambda name: f"{{{{{name}}}}}")
    spec = contents(subject, prompt)
    _check(subject, prompt, spec)
    thresholds = subject.card.get("thresholds") or {}
    samples = subject.samples
    return {
        **spec,
        "messages": list(prompt.messages),
        "outputs": list(prompt.signature.output_fields),
        "samples": samples,
        "threshold": thresholds.get("threshold") or majority(samples),
        "settings": {**_temperature(subject), **_response_format(prompt)},
    }


def executed(text: str) -> dict[str, Any]:
    """Return the names of an exported file that jurist has just written."""
    module = ModuleType(f"jurist_exported_{hashlib.sha256(text.encode()).hexdigest()[:12]}")
    sys.modules[module.__name__] = module  # as an import does: types are looked up there
    exec(compile(text, "exported.py", "exec", dont_inherit=True), module.__dict__)  # noqa: S102
    return module.__dict__


def _check(subject: Subject, prompt: Prompt, spec: dict[str, Any]) -> None:
    outputs = prompt.signature.output_fields
    others = [
        name for name, info in outputs.items() if name != spec["output_field"] and info.annotation is not str
    ]
    rules = {one["render"] for one in spec["inputs"]}
    if others or "reader" not in spec["parser"]["answer"] or not rules <= {"as-is", "numbered"}:
        raise _unreadable(subject)


def _unreadable(subject: Subject) -> UsageError:
    return UsageError(
        f"the replies of {subject.judge.name} cannot be read without jurist's own code",
        hint="export it to messages, or run it with jurist",
    )


def _temperature(subject: Subject) -> dict[str, Any]:
    asked = subject.model.temperature if subject.model else None
    return {"temperature": asked if asked is not None else 0.7 if subject.samples > 1 else 0.0}


def _response_format(prompt: Prompt) -> dict[str, Any]:
    if prompt.adapter != "json":
        return {}
    schema = {"name": "reply", "strict": True, "schema": reply_schema(prompt)}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}
