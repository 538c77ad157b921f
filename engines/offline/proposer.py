"""Propose an instruction: the best one shown, and sentences of a bank that answer the reported errors."""

import itertools
import math
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ...text.lexicons import hits
from ...text.tables import table
from ...text.terms import is_cjk, latin_names, numbers
from .labels import meaning_of

_DEFAULT: Final = "Decide whether the claim is supported by the evidence."
_DEFAULT_ZH: Final = "判断声明是否有证据支持。"
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


BANK: Final = tuple(Advice(**row) for row in table(__package__, "advice")["advice"])


@dataclass(frozen=True, kw_only=True)
class History:
    """What a proposal request shows."""

    basic: str  # the current instruction, or ""
    scored: tuple[tuple[str, float], ...]  # instructions with their scores, best first
    # a claim; "over" if something unsupported was let pass, "under", or ""
    errors: tuple[tuple[str, str], ...]
    examples: str  # text that must never be copied into an instruction


def propose(values: Mapping[str, str], temperature: float, rng: random.Random) -> str:
    """Return a new instruction for a request with these inputs."""
    history = read_history(values)
    base = history.scored[0][0] if history.scored else history.basic
    if temperature > 0 and len(history.scored) > 1 and rng.random() < 0.3:
        base = rng.choice(history.scored[:3])[0]
    if not base:
        base = _DEFAULT_ZH if is_cjk(history.examples) else _DEFAULT
    chinese = is_cjk(base)
    bank = {normal(text): advice for advice in BANK for text in (advice.english, advice.chinese)}
    kept, stated = _split(base, history, bank)
    shown = {normal(text) for text in (history.basic, *(text for text, _ in history.scored))}
    gap = "" if chinese else " "
    every = ((one, ()) for size in (1, 2, 3) for one in itertools.combinations(BANK, size))
    plans = _plans(stated, _worth(history, bank), _borrowed(history, base, bank), temperature, rng)
    for wanted, taken in itertools.chain(plans, every):
        chosen = dict.fromkeys(wanted)
        # Sentences that make a judge stricter and sentences that make it milder contradict each other.
        fixes = next((advice.fixes for advice in chosen if advice.fixes), "")
        agreeing = [advice for advice in chosen if advice.fixes in ("", fixes)]
        added = gap.join([*taken, *(one.chinese if chinese else one.english for one in agreeing)])
        text = "".join((kept, "\n" if "\n" in kept else gap, added)).strip()
        if normal(text) not in shown:
            return text
    return base  # every subset of the bank was shown already


def instruction_sentences(text: str) -> list[str]:
    """Split an instruction into sentences or bullet lines. A line may end within a sentence."""
    return [piece.strip() for piece in _SPLIT.split(text) if piece.strip()]


def normal(text: str) -> str:
    """Return a text without case, punctuation and spacing, to compare instructions."""
    return re.sub(r"[\W_]+", "", text.casefold())


def read_history(values: Mapping[str, str]) -> History:
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
    errors = list[tuple[str, str]]()
    for error in itertools.islice(_ERROR.finditer(examples[:_READ]), _MOST_ERRORS):
        gold, judged = (meaning_of(error[label]).support for label in ("gold", "judged"))
        errors.append((error["text"], "" if gold == judged else "over" if gold < judged else "under"))
    by_score = sorted(scored, key=lambda pair: -pair[1])
    return History(basic=basic, scored=tuple(by_score), errors=tuple(errors), examples=examples)


def _split(base: str, history: History, bank: Mapping[str, Advice]) -> tuple[str, tuple[Advice, ...]]:
    """Separate an instruction into what must stay and the bank's sentences that were added to it."""
    protected = {normal(sentence) for sentence in instruction_sentences(history.basic)}
    stated, kept = [], base
    for sentence in instruction_sentences(base):
        advice = bank.get(normal(sentence))
        if advice and normal(sentence) not in protected:
            stated.append(advice)
            kept = kept.replace(sentence, "", 1)
    return re.sub(r"(?<![ \t])[ \t]+\n|\n{3,}", "\n", kept).strip(), tuple(stated)


def _plans(
    stated: tuple[Advice, ...],
    worth: Mapping[Advice, float],
    borrowed: list[str],
    temperature: float,
    rng: random.Random,
) -> Iterator[tuple[tuple[Advice, ...], tuple[str, ...]]]:
    """Yield advice to be stated and sentences taken over from other instructions, in the order to be tried."""

    def order(without: tuple[Advice, ...]) -> list[Advice]:
        """Return the other advice, the most useful first, with Gumbel noise above temperature 0."""
        value = {advice: worth[advice] for advice in BANK if advice not in without}
        if temperature > 0:
            for advice in value:
                value[advice] -= math.log(-math.log(rng.random() or 1e-12)) * temperature * 0.5
        return sorted(value, key=lambda advice: -round(value[advice], 9))

    if temperature <= 0:
        best = order(stated)
        for size in range(1, len(best) + 1):
            yield (*stated, *best[:size]), ()
        return
    for _ in range(_TRIES):
        left = list(stated)
        if left and rng.random() < 0.4:
            left.remove(rng.choice(left))
        taken = (rng.choice(borrowed),) if borrowed and rng.random() < 0.25 else ()
        yield (*left, *order(tuple(left))[: rng.choice((1, 1, 2, 3))]), taken


def _borrowed(history: History, base: str, bank: Mapping[str, Advice]) -> list[str]:
    """Return the sentences, not of the bank, that other scored instructions add to the basic one."""
    own = "".join(map(normal, (history.examples[:_READ], history.basic, base)))
    sentences = {normal(one): one for text, _ in history.scored for one in instruction_sentences(text)}
    return [sentence for key, sentence in sentences.items() if key not in own and key not in bank]


def _worth(history: History, bank: Mapping[str, Advice]) -> dict[Advice, float]:
    """Return how useful each sentence looks: errors that call for it, and the scores of those that state it."""
    scale = max((abs(score) for _, score in history.scored), default=1.0) or 1.0
    scored = [
        ({bank.get(normal(sentence)) for sentence in instruction_sentences(text)}, score)
        for text, score in history.scored
    ]
    marked = [(_marks(claim), direction) for claim, direction in history.errors]
    worth: dict[Advice, float] = {}
    for advice in BANK:
        stating = [score for stated, score in scored if advice in stated]
        others = [score for stated, score in scored if advice not in stated]
        gain = sum(stating) / len(stating) - sum(others) / len(others) if stating and others else 0.0
        wanted = 0
        for marks, direction in marked:
            if not (advice.fixes and direction and advice.fixes != direction):
                wanted += 2 * (advice.mark in marks) if advice.mark else int(bool(direction and advice.fixes))
        worth[advice] = wanted / max(1, len(history.errors)) + 4.0 * gain / scale
    return worth


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
