"""Changes of a judged text under which a judge's answer must stay what it was: attacks on it, and probes for biases.

The suite is data (``data/attacks.toml``). Knows texts only: no judge, no model, no kind of answer.
"""

import string
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from ..errors import UsageError, choices
from ..text.tables import table

LANGUAGES = ("en", "zh")


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


def suite(only: Collection[str] = ()) -> tuple[Attack, ...]:
    """Return attacks and probes in every language: all, or those of some families."""
    entries = table(__package__, "attacks")
    for family in only:
        if family not in entries:
            raise UsageError(f"no attack or probe is called {family!r}", hint=choices(family, entries))
    return tuple(
        Attack(
            family=family,
            language=language,
            kind=entry["kind"],
            finds=entry["finds"],
            template=entry[language],
        )
        for family, entry in entries.items()
        if family in (only or entries)
        for language in LANGUAGES
    )
