"""One Python file with a whole judge, that needs no jurist: the prompt, the reader of replies and the vote.

What such a file adds to :class:`~jurist.exports.portable_judge.PortableJudge` is a few lines for who calls it: a plain
function, or a scorer of an evaluation framework (:mod:`jurist.exports.scorer_file`).
"""

from __future__ import annotations

import hashlib
import json
import sys
from string import Template
from types import ModuleType
from typing import Any, ClassVar

from ..errors import UsageError
from ..programs.votes import majority
from .bundle import portable_source
from .contents import contents
from .prompt import prompt_of
from .target import Subject, Target

_FILE = '''"""$ref: a compiled judge, made by jurist. $about
"""

from __future__ import annotations

$imports

$source


_SPEC = json.loads($spec)
_JUDGE = PortableJudge(_SPEC)


$code'''


class PortableFile(Target):
    """A file of Python source."""

    suffix = ".py"
    prepares = True
    # its docstring from the second sentence on; ``$call`` stands for the inputs as keyword arguments
    about: ClassVar[str]
    imports: ClassVar[str] = ""  # what its code needs
    # what stands last; ``$inputs`` is their names, ``$settings`` those of the request, and there is what
    # :meth:`words` adds
    code: ClassVar[str]

    def render(self, subject: Subject) -> str:
        """Return the source."""
        spec = portable_spec(subject)
        more = self.words(subject, spec)
        names = [one["name"] for one in spec["inputs"]]
        words = {
            "inputs": ", ".join(names),
            "call": ", ".join(f"{name}=..." for name in names),
            "settings": spec["settings"],
            **more,
        }
        return Template(_FILE).substitute(
            ref=subject.ref,
            about=Template(self.about).substitute(words),
            imports=self.imports,
            source=portable_source(),
            spec=repr(json.dumps(spec)),
            code=Template(self.code).substitute(words),
        )

    def words(self, subject: Subject, spec: dict[str, Any]) -> dict[str, str]:
        """Return what else stands in the code, by name; refuse and change the spec where need be."""
        if spec["adapter"] == "xml":
            raise _unreadable(subject)
        return {}


def executed(text: str) -> dict[str, Any]:
    """Return the names of an exported file that jurist has just written."""
    module = ModuleType(f"jurist_exported_{hashlib.sha256(text.encode()).hexdigest()[:12]}")
    sys.modules[module.__name__] = module  # as an import does: types are looked up there
    exec(compile(text, "exported.py", "exec", dont_inherit=True), module.__dict__)  # noqa: S102
    return module.__dict__


def portable_spec(subject: Subject) -> dict[str, Any]:
    """Return all that a :class:`~jurist.exports.portable_judge.PortableJudge` needs."""
    prompt = prompt_of(subject, lambda name: f"{{{{{name}}}}}")
    spec, outputs = contents(subject, prompt), prompt.signature.output_fields
    typed = [name for name, info in outputs.items() if info.annotation is not str]
    rules = {one["render"] for one in spec["inputs"]}
    reader = spec["parser"]["answer"].get("reader")
    if set(typed) - {spec["output_field"]} or reader is None or not rules <= {"as-is", "numbered"}:
        raise _unreadable(subject)
    texts = [one["name"] for one in spec["inputs"] if one["type"] == "text"]
    judged = subject.judge.answer.unit_fields
    return {
        **spec,
        "messages": list(prompt.messages),
        "outputs": list(outputs),
        "judged": judged[0] if len(judged) == 1 and judged[0] in texts else "",
        "samples": subject.samples,
        "threshold": (subject.card.get("thresholds") or {}).get("threshold") or majority(subject.samples),
    }


def _unreadable(subject: Subject) -> UsageError:
    return UsageError(
        f"the replies of {subject.judge.name} cannot be read without jurist's own code",
        hint="export it to messages, or run it with jurist",
    )
