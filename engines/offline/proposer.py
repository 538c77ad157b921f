"""Propose an instruction: the best one shown, and sentences of a bank, first those that answer the reported errors."""

import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ...text.lexicons import hits
from ...text.tables import table
from ...text.terms import is_cjk, latin_names, numbers
from .labels import meaning_of

_DEFAULT: Final = "Decide whether the claim is supported by the evidence."
_TRIES: Final = 60
_MOST_ERRORS: Final = 40
_READ: Final = 50_000  # characters of error reports that are read
_SPLIT: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n\s*\n|\n(?=\s*[-*•\d])")
_SCORED: Final = re.compile(r"^text:\n(.*?)\nscore: (-?\d+(?:\.\d+)?)$", re.M | re.S)
_ERROR: Final = re.compile(
    r"[\"“](?P<text>[^\n]{3,600}?)[\"”] is (?P<gold>[\w-]+) according to people; judged (?P<judged>[\w-]+)"
)
_OF_HISTORY: Final = re.compile("attempt|previous|histor|scored")
_WORDING: Final = (
    "evaluative", "hedge", "causal", "emotion", "advice", "summary", "impact", "inference", "filler",
)  # fmt: skip


@dataclass(frozen=True)
class Advice:
    """One sentence that an instruction may say; data/advice.toml says what the fields mean."""

    english: str
    chinese: str
    mark: str = ""
    fixes: str = ""

    def called_for(self, marks: frozenset[str], direction: str) -> int:
        """Return how far an error calls for it: a claim's marks, and which way its verdict was wrong."""
        if self.fixes and direction and self.fixes != direction:
            return 0
        return 2 * (self.mark in marks) if self.mark else int(bool(direction and self.fixes))


BANK: Final = tuple(Advice(**row) for row in table(__package__, "advice")["advice"])


def propose(values: Mapping[str, str], temperature: float, rng: random.Random) -> str:
    """Return a new instruction for a request with these inputs."""
    basic, scored, reports = _history(values)
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
    for advices in _plans(stated, _by_worth(reports), temperature, rng):
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


def _history(values: Mapping[str, str]) -> tuple[str, list[str], str]:
    """Return the current instruction, those that were scored, best first, and what else a proposal is asked with."""
    basic, scored, rest = "", list[tuple[float, str]](), list[str]()
    for name, text in values.items():
        lowered = name.lower()
        about = "instruction" in lowered or lowered.startswith("scored")
        tried = _SCORED.findall(text) if about else []
        for body, score in tried:
            lines = (line.rstrip() for line in body.strip().splitlines() if line.strip())
            scored.append((float(score), "\n".join(lines)))
        if about and not tried and not _OF_HISTORY.search(lowered):
            basic = basic or text.strip()
        elif not about:
            rest.append(text)
    scored.sort(key=lambda pair: -pair[0])
    return basic, [text for _, text in scored], "\n\n".join(rest)


def _by_worth(reports: str) -> list[Advice]:
    """Return the bank, first what most of the reported errors call for."""
    worth = dict.fromkeys(BANK, 0)
    for error in itertools.islice(_ERROR.finditer(reports[:_READ]), _MOST_ERRORS):
        gold, judged = (meaning_of(error[label]).support for label in ("gold", "judged"))
        direction = "" if gold == judged else "over" if gold < judged else "under"
        marks = _marks(error["text"])
        for advice in BANK:
            worth[advice] += advice.called_for(marks, direction)
    return sorted(BANK, key=lambda advice: -worth[advice])


def _plans(
    stated: Sequence[Advice], best: Sequence[Advice], temperature: float, rng: random.Random
) -> Iterator[tuple[Advice, ...]]:
    """Yield what of the bank is to be stated, in the order to be tried."""
    left = [advice for advice in best if advice not in stated]
    if temperature <= 0:
        yield from ((*stated, *left[:size]) for size in range(1, len(left) + 1))
    else:
        weights = [1.0 / (1 + place) for place in range(len(left))]
        for _ in range(_TRIES if left else 0):
            kept = [advice for advice in stated if rng.random() < 0.8]
            yield (*kept, *rng.choices(left, weights, k=rng.choice((1, 1, 2, 3))))
    yield from (plan for size in (1, 2, 3) for plan in itertools.combinations(BANK, size))


def _marks(claim: str) -> frozenset[str]:
    """Return what a claim has that an instruction may be about."""
    lowered = claim.lower()
    negated = hits("negation", lowered)
    marks = {
        **{name: hits(name, lowered) for name in _WORDING},
        "number_missing": numbers(claim),
        "name_missing": latin_names(claim),
        "negation_gap": negated,
        "negated": negated,
        "other_side": re.search(r"\b(?:customer|agent|caller)\b|客户|客服", lowered),
        "question": claim.rstrip().endswith(("?", "？")),
    }
    return frozenset(name for name, has in marks.items() if has)
