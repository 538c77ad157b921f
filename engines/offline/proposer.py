"""Propose an instruction: recombine scored ones, state what answers the reported errors."""

import itertools
import math
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from ...text.lexicons import hits
from ...text.tables import table
from ...text.terms import is_cjk, latin_names, numbers
from .labels import BANK, active, instruction_sentences, meaning_of

_CRITERIA: Final = {criterion.name: criterion for criterion in BANK}
_RIVALS: Final = table(__package__, "criteria")["rivals"]  # pairs that contradict each other
_DEFAULT: Final = "Decide whether the claim is supported by the evidence."
_DEFAULT_ZH: Final = "判断声明是否有证据支持。"
_TRIES: Final = 60
_MOST_ERRORS: Final = 40
_READ: Final = 50_000  # characters of error reports that are read
_SCORED: Final = re.compile(r"^text:\n(.*?)\nscore: (-?\d+(?:\.\d+)?)$", re.M | re.S)
_ERROR: Final = re.compile(
    r"[\"“](?P<text>[^\n]{3,600}?)[\"”] is (?P<gold>[\w-]+) according to people; judged (?P<said>[\w-]+)"
)
_OF_HISTORY: Final = re.compile("attempt|previous|histor|scored")
_WORDING: Final = (
    "evaluative", "hedge", "causal", "emotion", "advice", "summary", "impact", "inference", "filler",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Story:
    """What a proposal request shows."""

    basic: str  # the current instruction, or ""
    scored: tuple[tuple[str, float], ...]  # instructions with their scores, best first
    # a claim; "over" if something unsupported was let pass, "under", or ""
    errors: tuple[tuple[str, str], ...]
    examples: str  # text that must never be copied into an instruction


def propose(values: Mapping[str, str], temperature: float, rng: random.Random) -> str:
    """Return a new instruction for a request with these inputs."""
    story = read_story(values)
    base = story.scored[0][0] if story.scored else story.basic
    if temperature > 0 and len(story.scored) > 1 and rng.random() < 0.3:
        base = rng.choice(story.scored[:3])[0]
    if not base:
        base = _DEFAULT_ZH if is_cjk(story.examples) else _DEFAULT
    chinese = is_cjk(base)
    shown = {normal(text) for text in (story.basic, *(text for text, _ in story.scored))}
    gap = "" if chinese else " "
    every = ((base, names, ()) for size in (1, 2, 3) for names in itertools.combinations(_CRITERIA, size))
    for kept, names, taken in itertools.chain(_plans(story, base, temperature, rng), every):
        criteria = [_CRITERIA[name] for name in _compatible(names)]
        added = gap.join([*taken, *(one.chinese if chinese else one.english for one in criteria)])
        text = "".join((kept, "\n" if "\n" in kept else gap, added)).strip()
        if normal(text) not in shown:
            return text
    return base  # every subset of the bank was shown already


def normal(text: str) -> str:
    """Return a text without case, punctuation and spacing, to compare instructions."""
    return re.sub(r"[\W_]+", "", text.casefold())


def read_story(values: Mapping[str, str]) -> Story:
    """Read the inputs of a proposal request by field name."""
    basic, scored, rest = "", list[tuple[str, float]](), list[str]()
    for name, text in values.items():
        about = "instruction" in name.lower() or name.lower().startswith("scored")
        if about and (tried := _SCORED.findall(text)):
            for body, score in tried:
                lines = (line.rstrip() for line in body.strip().splitlines() if line.strip())
                scored.append(("\n".join(lines), float(score)))
        elif about and not _OF_HISTORY.search(name.lower()):
            basic = basic or text.strip()
        else:
            rest.append(text)
    examples = "\n\n".join(rest)
    errors = itertools.islice(_ERROR.finditer(examples[:_READ]), _MOST_ERRORS)
    return Story(
        basic=basic,
        scored=tuple(sorted(scored, key=lambda pair: -pair[1])),
        errors=tuple((error["text"], _direction(error["gold"], error["said"])) for error in errors),
        examples=examples,
    )


def _direction(gold: str, said: str) -> str:
    meant, told = (meaning_of(label.lower()).support for label in (gold, said))
    return "" if meant == told else "over" if meant < told else "under"


def _split(base: str, story: Story) -> tuple[str, tuple[str, ...]]:
    """Separate an instruction into what must stay and the criteria stated in the bank's own words."""
    protected = {normal(sentence) for sentence in instruction_sentences(story.basic)}
    stated, kept = [], base
    for sentence in instruction_sentences(base):
        name = _bank().get(normal(sentence))
        if name and normal(sentence) not in protected:
            stated.append(name)
            kept = kept.replace(sentence, "", 1)
    return re.sub(r"(?<![ \t])[ \t]+\n|\n{3,}", "\n", kept).strip(), tuple(dict.fromkeys(stated))


@cache
def _bank() -> dict[str, str]:
    """Return the criteria's own sentences, normalised -> the criterion's name."""
    return {normal(text): one.name for one in BANK for text in (one.english, one.chinese)}


def _plans(
    story: Story, base: str, temperature: float, rng: random.Random
) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yield sentences that stay, criteria to be added, and sentences taken over, in the order to be tried."""
    kept, stated = _split(base, story)
    order = _order(story, (*stated, *dict(active(kept))), temperature, rng)
    if temperature <= 0:
        for size in range(1, len(order) + 1):
            yield kept, (*stated, *order[:size]), ()
        return
    foreign = [text for text in _extra_sentences(story) if normal(text) not in normal(base)]
    for _ in range(_TRIES):
        left = list(stated)
        if left and rng.random() < 0.4:
            left.remove(rng.choice(left))
        more = min(len(order), rng.choice((1, 1, 2, 3)))
        first = [] if not order else _order(story, tuple(left), temperature, rng)[:more]
        taken = (rng.choice(foreign),) if foreign and rng.random() < 0.25 else ()
        yield kept, (*left, *first), taken


def _extra_sentences(story: Story) -> list[str]:
    """Return the sentences, not of the bank, that scored instructions add to the basic (or else the best) one."""
    examples = normal(story.examples[:_READ])
    first = story.basic or (story.scored[0][0] if story.scored else "")
    known = {normal(sentence) for sentence in instruction_sentences(first)} | {""}
    found: dict[str, str] = {}
    for text, _ in story.scored:
        for sentence in instruction_sentences(text):
            key = normal(sentence)
            if key not in known and key not in examples and key not in _bank():
                found.setdefault(key, sentence)
    return list(found.values())


def _compatible(names: tuple[str, ...]) -> tuple[str, ...]:
    """Drop repeats, and whatever an earlier criterion contradicts."""
    chosen: list[str] = []
    for name in names:
        against = {b if a == name else a for a, b in _RIVALS if name in (a, b)}
        if name not in chosen and not against & set(chosen):
            chosen.append(name)
    return tuple(chosen)


@lru_cache(maxsize=16)
def _worth(story: Story) -> dict[str, float]:
    """Return how useful each criterion looks, in about [-4, 4].

    The share of reported errors that call for it, plus the mean score of the instructions that state
    it above that of those that do not, relative to the highest score.
    """
    errors = max(1, len(story.errors))
    scale = max((abs(score) for _, score in story.scored), default=1.0) or 1.0
    stated = [(dict(active(text)), score) for text, score in story.scored]
    marked = [(_marks(claim), direction) for claim, direction in story.errors]
    worth: dict[str, float] = {}
    for name, criterion in _CRITERIA.items():
        with_it = [score for names, score in stated if name in names]
        without = [score for names, score in stated if name not in names]
        gain = sum(with_it) / len(with_it) - sum(without) / len(without) if with_it and without else 0.0
        # A criterion that answers to the claim's wording does not answer to the direction of an error alone.
        worded = bool(criterion.feature) and not criterion.feature.startswith("cov_")
        wanted = 0
        for marks, direction in marked:
            if criterion.fixes and direction and criterion.fixes != direction:
                continue
            if criterion.feature in marks:
                wanted += 2
            elif criterion.fixes == direction and direction and not worded:
                wanted += 1
        worth[name] = wanted / errors + 4.0 * gain / scale
    return worth


def _marks(claim: str) -> frozenset[str]:
    """Return what a claim has that a criterion may be about."""
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


def _order(story: Story, stated: tuple[str, ...], temperature: float, rng: random.Random) -> list[str]:
    """Return the bank's criteria that are not stated yet, the most useful first (with Gumbel noise when it is hot)."""
    value = dict(_worth(story))
    if temperature > 0:
        for name in value:
            value[name] -= math.log(-math.log(rng.random() or 1e-12)) * temperature * 0.5
    names = [name for name in _CRITERIA if name not in stated]
    return sorted(names, key=lambda name: -round(value[name], 9)) or list(_CRITERIA)
