"""Propose an instruction: the best one shown, with sentences of a bank added or dropped."""

import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ...text.tables import table
from ...text.terms import is_cjk

_DEFAULT: Final = "Decide whether the claim is supported by the evidence."
_TRIES: Final = 60
_SPLIT: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n\s*\n|\n(?=\s*[-*•\d])")
_SCORED: Final = re.compile(r"^text:\n(.*?)\nscore: (-?\d+(?:\.\d+)?)$", re.M | re.S)
_OF_HISTORY: Final = re.compile("attempt|previous|histor|scored")


@dataclass(frozen=True)
class Advice:
    """One sentence that an instruction may say; data/advice.toml says what the fields mean."""

    english: str
    chinese: str
    fixes: str = ""


BANK: Final = tuple(Advice(**row) for row in table(__package__, "advice")["advice"])


def propose(values: Mapping[str, str], temperature: float, rng: random.Random) -> str:
    """Return a new instruction for a request with these inputs."""
    basic, scored = _history(values)
    base = scored[0] if scored else basic
    if temperature > 0 and len(scored) > 1 and rng.random() < 0.3:
        base = rng.choice(scored[:3])
    base = base or _DEFAULT
    chinese = is_cjk(base)
    bank = {normal(advice.chinese if chinese else advice.english): advice for advice in BANK}
    protected, stated, kept = set(map(normal, instruction_sentences(basic))), list[Advice](), base
    for sentence in instruction_sentences(base):
        if normal(sentence) in bank and normal(sentence) not in protected:
            stated.append(bank[normal(sentence)])
            kept = kept.replace(sentence, "", 1)
    kept = re.sub(r"(?<![ \t])[ \t]+\n|\n{3,}", "\n", kept).strip()
    shown, gap = {normal(basic), *map(normal, scored)}, "" if chinese else " "
    for advices in _plans(stated, temperature, rng):
        # Sentences that make a judge stricter and sentences that make it milder contradict each other.
        fixes = next((advice.fixes for advice in advices if advice.fixes), "")
        agreeing = [advice for advice in dict.fromkeys(advices) if advice.fixes in ("", fixes)]
        added = gap.join(advice.chinese if chinese else advice.english for advice in agreeing)
        text = "".join((kept, "\n" if "\n" in kept else gap, added)).strip()
        if normal(text) not in shown:
            return text
    return base  # all that the plans make was shown already


def instruction_sentences(text: str) -> list[str]:
    """Split an instruction into sentences or bullet lines. A line may end within a sentence."""
    return [piece.strip() for piece in _SPLIT.split(text) if piece.strip()]


def normal(text: str) -> str:
    """Return a text without case, punctuation and spacing, to compare instructions."""
    return re.sub(r"[\W_]+", "", text.casefold())


def _history(values: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the current instruction, and those that were scored, best first."""
    basic, scored = "", list[tuple[float, str]]()
    for name, text in values.items():
        lowered = name.lower()
        if not ("instruction" in lowered or lowered.startswith("scored")):
            continue
        tried = _SCORED.findall(text)
        for body, score in tried:
            lines = (line.rstrip() for line in body.strip().splitlines() if line.strip())
            scored.append((float(score), "\n".join(lines)))
        if not tried and not _OF_HISTORY.search(lowered):
            basic = basic or text.strip()
    scored.sort(key=lambda pair: -pair[0])
    return basic, [text for _, text in scored]


def _plans(stated: Sequence[Advice], temperature: float, rng: random.Random) -> Iterator[tuple[Advice, ...]]:
    """Yield what of the bank is to be stated, in the order to be tried."""
    left = [advice for advice in BANK if advice not in stated]
    if temperature <= 0:
        yield from ((*stated, *left[:size]) for size in range(1, len(left) + 1))
    else:
        weights = [1.0 / (1 + place) for place in range(len(left))]
        for _ in range(_TRIES if left else 0):
            kept = [advice for advice in stated if rng.random() < 0.8]
            yield (*kept, *rng.choices(left, weights, k=rng.choice((1, 1, 2, 3))))
    yield from (plan for size in (1, 2, 3) for plan in itertools.combinations(BANK, size))
