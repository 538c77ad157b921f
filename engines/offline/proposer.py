"""Propose an instruction: recombine scored ones and state the criteria that answer the errors.

No language model is involved. The best instruction shown (or the basic one) is kept, with every
sentence that is not one of the bank's; criteria of the bank are added, dropped, swapped, or taken
over from other scored instructions. What was shown is never proposed again, and nothing from
examples is copied.
"""

import itertools
import math
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ...text.terms import is_cjk
from .criteria import BANK, RIVALS, active, instruction_sentences
from .history import Story, bank_sentence, extra_sentences, needs, normal, read_story
from .request import Ask

__all__ = ["advice", "propose"]

_DEFAULT: Final = "Decide whether the claim is supported by the evidence."
_DEFAULT_ZH: Final = "判断声明是否有证据支持。"
_TRIES: Final = 60


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """An instruction in the making: sentences that stay, and the criteria added to them."""

    kept: str
    criteria: tuple[str, ...]
    taken: tuple[str, ...] = ()


def propose(ask: Ask, temperature: float, rng: random.Random) -> str:
    """Return a new instruction for a request whose output asks for one."""
    return _write(read_story(ask.values), temperature, rng)


def advice(ask: Ask, temperature: float, rng: random.Random) -> dict[str, str]:
    """Return one criterion per module name that the request lists, as advice (DSPy's SIMBA)."""
    names = re.findall(r"[\"']([\w.\[\]]+)[\"']", ask.values.get("module_names", ""))
    story = read_story({name: text for name, text in ask.values.items() if name != "module_names"})
    order = _order(story, (), temperature, rng)
    return {name: _sentence(order[i % len(order)], chinese=False) for i, name in enumerate(names)}


def _sentence(name: str, *, chinese: bool) -> str:
    criterion = next(c for c in BANK if c.name == name)
    return criterion.chinese if chinese else criterion.english


def _write(story: Story, temperature: float, rng: random.Random) -> str:
    base = story.scored[0].text if story.scored else story.basic
    if temperature > 0 and len(story.scored) > 1 and rng.random() < 0.3:
        base = rng.choice(story.scored[:3]).text
    if not base:
        base = _DEFAULT_ZH if is_cjk(story.examples) else _DEFAULT
    chinese = is_cjk(base)
    shown = story.shown
    for plan in itertools.chain(_plans(story, base, temperature, rng), _every_plan(base)):
        text = _render(plan, chinese=chinese)
        if normal(text) not in shown:
            return text
    return base  # every subset of the bank was shown already


def _split(base: str, story: Story) -> tuple[str, tuple[str, ...]]:
    """Separate an instruction into what must stay and the criteria stated in the bank's own words."""
    protected = {normal(s) for s in instruction_sentences(story.basic)}
    stated, kept = [], base
    for sentence in instruction_sentences(base):
        name = bank_sentence(sentence)
        if name and normal(sentence) not in protected:
            stated.append(name)
            kept = kept.replace(sentence, "", 1)
    return re.sub(r"(?<![ \t])[ \t]+\n|\n{3,}", "\n", kept).strip(), tuple(dict.fromkeys(stated))


def _plans(story: Story, base: str, temperature: float, rng: random.Random) -> Iterator[_Plan]:
    kept, stated = _split(base, story)
    order = _order(story, (*stated, *dict(active(kept))), temperature, rng)
    foreign = [s for s, _ in extra_sentences(story) if not bank_sentence(s) and normal(s) not in normal(base)]
    if temperature <= 0:
        for size in range(1, len(order) + 1):
            yield _Plan(kept=kept, criteria=_compatible((*stated, *order[:size])))
        return
    for _ in range(_TRIES):
        left = list(stated)
        if left and rng.random() < 0.4:
            left.remove(rng.choice(left))
        more = min(len(order), rng.choice((1, 1, 2, 3)))
        first = [] if not order else _order(story, tuple(left), temperature, rng)[:more]
        taken = (rng.choice(foreign),) if foreign and rng.random() < 0.25 else ()
        yield _Plan(kept=kept, criteria=_compatible((*left, *first)), taken=taken)


def _compatible(names: tuple[str, ...]) -> tuple[str, ...]:
    """Drop repeats, and whatever an earlier criterion contradicts."""
    chosen: list[str] = []
    for name in names:
        against = {b if a == name else a for a, b in RIVALS if name in (a, b)}
        if name not in chosen and not against & set(chosen):
            chosen.append(name)
    return tuple(chosen)


def _every_plan(base: str) -> Iterator[_Plan]:
    names = [criterion.name for criterion in BANK]
    for size in (1, 2, 3):
        for chosen in itertools.combinations(names, size):
            yield _Plan(kept=base, criteria=_compatible(chosen))


@lru_cache(maxsize=16)
def _worth(story: Story) -> dict[str, float]:
    """Return how useful each criterion looks, in about [-4, 4].

    The share of reported errors that call for it, plus the mean score of the instructions that state
    it above that of those that do not, relative to the highest score.
    """
    wanted = needs(story)
    errors = max(1, len(story.errors))
    scale = max((abs(s.score or 0.0) for s in story.scored), default=1.0) or 1.0
    stated = [(dict(active(s.text)), s.score or 0.0) for s in story.scored]
    worth: dict[str, float] = {}
    for criterion in BANK:
        with_it = [score for names, score in stated if criterion.name in names]
        without = [score for names, score in stated if criterion.name not in names]
        gain = sum(with_it) / len(with_it) - sum(without) / len(without) if with_it and without else 0.0
        worth[criterion.name] = wanted[criterion.name] / errors + 4.0 * gain / scale
    return worth


def _order(story: Story, stated: tuple[str, ...], temperature: float, rng: random.Random) -> list[str]:
    """Return the bank's criteria that are not stated yet, the most useful first.

    Above temperature 0 Gumbel noise is added to what they are worth.
    """
    value = dict(_worth(story))
    if temperature > 0:
        for name in value:
            value[name] -= math.log(-math.log(rng.random() or 1e-12)) * temperature * 0.5
    names = [c.name for c in BANK if c.name not in stated]
    return sorted(names, key=lambda name: -round(value[name], 9)) or [c.name for c in BANK]


def _render(plan: _Plan, *, chinese: bool) -> str:
    gap = "" if chinese else " "
    extra = gap.join([*plan.taken, *(_sentence(name, chinese=chinese) for name in plan.criteria)])
    joint = "\n" if "\n" in plan.kept else gap
    return f"{plan.kept}{joint}{extra}".strip()
