"""The judge about a user's rows as a file for OpenAI's Batch API: one request a line, at half the price."""

import json
from typing import Any

from ..errors import UsageError
from .messages import response_format
from .target import Subject, prompt_of

_MOST_REQUESTS, _MOST_BYTES = 50_000, 200_000_000


class OpenAIBatch:
    """``custom_id`` is ``HASH-CASE.ROW-SAMPLE-ORDER``; the hash is the artifact's, or the prompt's."""

    name = "openai-batch"
    suffix = ".jsonl"
    limits = (
        "the file asks and does not read: the answers come back by custom_id, in any order; "
        "jurist export --to messages says how a reply is read and samples are counted",
    )

    def render(self, subject: Subject) -> str:
        """Return the lines."""
        if not subject.rows:
            raise UsageError("a batch file holds rows", hint="give them with --input")
        prompt, settings = prompt_of(subject, remembers=True), _settings(subject)
        stamp = str(subject.stamp["sha256"] or subject.stamp["prompt"])[:12]
        orders, lines = subject.judge.answer.presentations, []
        for place, row in enumerate(subject.rows):  # equal rows get a name each
            body = {**settings, **response_format(prompt), "messages": list(row.messages)}
            for sample in range(subject.samples):
                name = f"{stamp}-{row.id}.{place // orders}-{sample}-{place % orders}"
                asked = {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}
                lines.append(json.dumps(asked, ensure_ascii=False))
        if len(lines) > _MOST_REQUESTS or sum(len(line.encode()) + 1 for line in lines) > _MOST_BYTES:
            raise UsageError(
                f"{len(lines)} requests are too many, or too long, for one batch file",
                hint=f"part the input: a file holds {_MOST_REQUESTS} requests and {_MOST_BYTES // 10**6} MB",
            )
        return "".join(line + "\n" for line in lines)


def _settings(subject: Subject) -> dict[str, Any]:
    model = subject.model
    if model is None or model.name.partition("/")[0] != "openai":
        raise UsageError(
            f"{model.name if model else 'no model'} cannot be asked through OpenAI's Batch API",
            hint="name one of OpenAI's with --model openai/NAME",
        )
    settings = {
        "model": model.name.partition("/")[2],
        "temperature": model.temperature,
        "max_completion_tokens": model.max_tokens,
    }
    return {name: value for name, value in settings.items() if value is not None}
