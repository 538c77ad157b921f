"""Changes of a judged text under which a judge's answer must stay what it was: attacks on it, and probes for biases.

The suite is data (``data/attacks.toml``); a file of the same layout can take its place. Knows texts only: no judge, no
model, no kind of answer.
"""

import string
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import UsageError, why
from .tables import table

LANGUAGES = ("en", "zh")
_KINDS = ("attack", "probe")


class _Template(string.Template):
    delimiter = "§"


@dataclass(frozen=True, kw_only=True)
class Attack:
    """One change of a text."""

    family: str  # what it tries, such as ``fake-verdict``
    language: str  # ``en`` or ``zh``
    # ``attack``, which asks for another answer, or ``probe``, which says nothing of what is judged
    kind: Literal["attack", "probe"]
    finds: str  # what a judge does that it changes the answer of
    template: str  # the changed text; ``§text`` is the judged one

    @property
    def name(self) -> str:
        """``fake-verdict zh``; English is not named."""
        return self.family if self.language == LANGUAGES[0] else f"{self.family} {self.language}"

    def on(self, text: str, names: Mapping[str, str]) -> str:
        """Return a text as it is changed."""
        return _Template(self.template).substitute(names, text=text)


def suite(path: Path | str | None = None) -> tuple[Attack, ...]:
    """Return all attacks and probes, in every language."""
    if path is None:
        return attacks_of(table(__package__, "attacks"), "data/attacks.toml")
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{path} cannot be read: {why(error)}", hint="name a TOML file of attacks"
        ) from error
    return attacks_of(data, str(path))


def attacks_of(data: Mapping[str, Any], source: str) -> tuple[Attack, ...]:
    """Return the attacks of a suite's data."""
    found = []
    for family, entry in data.items():
        texts = {one: entry[one] for one in LANGUAGES if one in entry} if isinstance(entry, dict) else {}
        if not texts or entry.get("kind") not in _KINDS:
            raise UsageError(
                f"{source}: {family} is no attack",
                hint='give it kind = "attack" or "probe", and a text as en or zh',
            )
        for language, text in texts.items():
            _check(text, f"{source}: {family}, {language}")
            found.append(
                Attack(
                    family=family,
                    language=language,
                    kind=entry["kind"],
                    finds=str(entry.get("finds", "")),
                    template=text,
                )
            )
    if not found:
        raise UsageError(f"{source} holds no attack", hint="see text/data/attacks.toml for one that does")
    return tuple(found)


def _check(text: Any, where: str) -> None:
    known = {"text", "wanted", "reply", "output", "input"}
    template = _Template(text if isinstance(text, str) else "")
    names = set(template.get_identifiers()) if template.is_valid() else set()
    if "text" not in names or names - known:
        raise UsageError(
            f"{where}: it does not hold §text, or a § that names nothing",
            hint=f"§ begins one of {', '.join(sorted(known))}; §§ is one §",
        )
