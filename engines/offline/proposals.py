"""New instructions: the best instruction of a request, with sentences of a bank added or dropped."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from ...text.tables import read_table
from ...text.terms import is_cjk
from .sampler import Sampler

_DEFAULT: Final = "Decide whether the claim is supported by the evidence."
_TRIES: Final = 60
_CHANCE_OF_RUNNER_UP: Final = 0.3
_CHANCE_TO_REPEAT: Final = 0.8
_SIZES: Final = (1, 1, 2, 3)  # how many sentences are added, as often as they stand here
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n\s*\n|\n(?=\s*[-*•\d])")
_BLANKS: Final = re.compile(r"(?<![ \t])[ \t]+\n|\n{3,}")
_SCORED: Final = re.compile(r"^text:\n(.*?)\nscore: (-?\d+(?:\.\d+)?)$", re.M | re.S)
_HISTORY_NAME: Final = re.compile("attempt|previous|histor|scored")


@dataclass(frozen=True, kw_only=True)
class Advice:
    """One sentence that an instruction may say; data/advice.toml says what the fields mean."""

    english: str
    chinese: str
    fixes: str = ""

    def sentence(self, *, in_chinese: bool) -> str:
        """Return the sentence in one of the two languages."""
        return self.chinese if in_chinese else self.english


BANK: Final = tuple(Advice(**row) for row in read_table(__package__, "advice")["advice"])


class _ScoredInstruction(NamedTuple):
    """An instruction with the score that it had."""

    score: float
    text: str


@dataclass(frozen=True, kw_only=True)
class _History:
    """The current instruction of a request, and those that were scored, best first."""

    basic: str
    scored: list[str]


def propose_instruction(inputs: Mapping[str, str], sampler: Sampler) -> str:
    """Return a new instruction for a request with these inputs; a scored one if all that can be said was scored."""
    history = _read_history(inputs)
    base = _choose_base(history, sampler)
    in_chinese = is_cjk(base)
    rest, stated = _separate_advice(base, history.basic, in_chinese=in_chinese)
    known_wordings = {wording_of(history.basic)}
    for text in history.scored:
        known_wordings.add(wording_of(text))
    for plan in _plan_advice(stated, sampler):
        text = _compose(rest, plan, in_chinese=in_chinese)
        if wording_of(text) not in known_wordings:
            return text
    return base


def _compose(rest: str, plan: Sequence[Advice], *, in_chinese: bool) -> str:
    """Return an instruction that goes on with the advice of a plan, as far as it agrees."""
    gap = "" if in_chinese else " "
    separator = "\n" if "\n" in rest else gap
    sentences: list[str] = []
    for advice in _without_contradictions(plan):
        sentences.append(advice.sentence(in_chinese=in_chinese))
    return f"{rest}{separator}{gap.join(sentences)}".strip()


def _read_history(inputs: Mapping[str, str]) -> _History:
    basic = ""
    scored: list[_ScoredInstruction] = []
    for name, text in inputs.items():
        lowered = name.lower()
        if "instruction" not in lowered and not lowered.startswith("scored"):
            continue
        entries = _SCORED.findall(text)
        for body, score in entries:
            scored.append(_ScoredInstruction(float(score), _without_blank_lines(body)))
        if not entries and not _HISTORY_NAME.search(lowered):
            basic = basic or text.strip()
    scored.sort(key=lambda instruction: -instruction.score)
    return _History(basic=basic, scored=[instruction.text for instruction in scored])


def _without_blank_lines(text: str) -> str:
    lines: list[str] = []
    for line in text.strip().splitlines():
        if line.strip():
            lines.append(line.rstrip())
    return "\n".join(lines)


def _choose_base(history: _History, sampler: Sampler) -> str:
    """Return the instruction to change: the best, above temperature 0 at times another of the best three."""
    base = history.basic
    if history.scored:
        base = history.scored[0]
    may_vary = sampler.temperature > 0 and len(history.scored) > 1
    if may_vary and sampler.rng.random() < _CHANCE_OF_RUNNER_UP:
        base = sampler.rng.choice(history.scored[:3])
    return base or _DEFAULT


def _separate_advice(instruction: str, basic: str, *, in_chinese: bool) -> tuple[str, list[Advice]]:
    """Return an instruction without the bank's sentences that the basic one does not say, and these as advice."""
    bank: dict[str, Advice] = {}
    for advice in BANK:
        bank[wording_of(advice.sentence(in_chinese=in_chinese))] = advice
    for sentence in _split_instruction(basic):
        bank.pop(wording_of(sentence), None)
    stated: list[Advice] = []
    rest = instruction
    for sentence in _split_instruction(instruction):
        wording = wording_of(sentence)
        if wording in bank:
            stated.append(bank[wording])
            rest = rest.replace(sentence, "", 1)
    return _BLANKS.sub("\n", rest).strip(), stated


def _split_instruction(text: str) -> list[str]:
    """Return the sentences or bullet lines of an instruction. A line may end within a sentence."""
    sentences: list[str] = []
    for piece in _SENTENCE_END.split(text):
        sentence = piece.strip()
        if sentence:
            sentences.append(sentence)
    return sentences


def wording_of(text: str) -> str:
    """Return a text without case, punctuation and spacing, to compare instructions."""
    return re.sub(r"[\W_]+", "", text.casefold())


def _plan_advice(stated: list[Advice], sampler: Sampler) -> Iterator[Sequence[Advice]]:
    """Yield the advice that an instruction may state, in the order to be tried."""
    unused = [advice for advice in BANK if advice not in stated]
    if sampler.temperature <= 0:
        for size in range(1, len(unused) + 1):
            yield stated + unused[:size]
    elif unused:
        yield from _draw_advice(stated, unused, sampler)
    for size in (1, 2, 3):
        yield from itertools.combinations(BANK, size)


def _draw_advice(stated: list[Advice], unused: list[Advice], sampler: Sampler) -> Iterator[list[Advice]]:
    """Yield most of the stated advice with some that is new, rather of the beginning of the bank."""
    rng = sampler.rng
    weights = [1.0 / (1 + place) for place in range(len(unused))]
    for _ in range(_TRIES):
        plan: list[Advice] = []
        for advice in stated:
            if rng.random() < _CHANCE_TO_REPEAT:
                plan.append(advice)
        size = rng.choice(_SIZES)
        plan.extend(rng.choices(unused, weights, k=size))
        yield plan


def _without_contradictions(plan: Sequence[Advice]) -> list[Advice]:
    """Return the advice of a plan, each once: sentences that make a judge stricter and milder contradict each other."""
    fixes = ""
    agreeing: dict[Advice, None] = {}
    for advice in plan:
        fixes = fixes or advice.fixes
        if advice.fixes in ("", fixes):
            agreeing[advice] = None
    return list(agreeing)
