"""A simulated judge and proposer, whose true accuracy is known exactly.

Not a language model and no claim about one: a world with a known answer, in which
optimizers can be compared by the calls they need. Its engine sits where a real one
does (``InnerEngine`` of :mod:`jurist.engines.channel`) and answers from the request alone,
so that the same request always gets the same answer.

*Judge requests.* An item names three of twelve criteria and has a difficulty. An
instruction states a criterion by naming it. Eight criteria help (each by its own
strength, most on the items that name it), two do nothing, two harm. Wording shifts
the margin a little. The answer is right with probability sigmoid(margin / temperature).

*Proposer requests.* The proposer starts from one of the best scored instructions (or the
current one), notices criteria named in the reported errors with a given probability
(smaller for examples without feedback), reads from the scored history what
seems to help, and sometimes has an idea of its own or forgets something.
"""

import hashlib
import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from statistics import NormalDist
from typing import Literal

import dspy
import numpy as np
from dspy.lm15 import Message, Request, Response, Usage

import jurist
from jurist.cases import Case
from jurist.engines.channel import CallContext, Channel, InnerEngine
from jurist.engines.ledger import Purpose, Spend
from jurist.engines.meter import Amount
from jurist.optimizers.base import Job
from jurist.optimizers.candidate import DEFAULT_SETTING, Setting
from jurist.programs.asking import Asker
from jurist.programs.verdicts import Verdict

__all__ = ["CRITERIA", "JUDGE", "Simulator", "World", "WorldJob", "connected", "stated"]

CRITERIA = (
    "numbers", "names", "dates", "places", "quotes", "causes",
    "scope", "tense", "tone", "negation", "hedging", "totals",
)  # fmt: skip
_WORD = re.compile(rf"\b({'|'.join(CRITERIA)})\b")
_FIELD = re.compile(r"\[\[ ## (\w+) ## \]\]\n(.*?)(?=\n\n\[\[ ## |\n\nRespond with|\Z)", re.S)
_SCORED = re.compile(r"text:\n(.*?)\nscore: (-?\d+)", re.S)
_ITEM = re.compile(r"case \d+: [a-z, ]+\.")
_OPENERS = ("Judge with care.", "Be strict.", "Decide for each case.", "Read it twice.", "Answer calmly.")
_STATES = ("Check the {}.", "Look at the {}.", "Mind the {}.", "Consider its {}.")
OTHER = {"accept": "reject", "reject": "accept"}
_SPILL = 0.3  # how much a criterion matters for an item that does not name it
_NORMAL = NormalDist()


class SimulatedJudgement(dspy.Signature):
    """Decide whether the item may pass."""

    item: str = dspy.InputField(desc="the item")
    verdict: Literal["accept", "reject"] = dspy.OutputField()


JUDGE = jurist.Judge(
    name="simulated", signature=SimulatedJudgement, positive=frozenset({"reject"}), metric="accuracy"
)


def stated(text: str) -> frozenset[str]:
    """Return the criteria that a text names."""
    return frozenset(_WORD.findall(text.lower()))


def _uniform(*parts: object) -> float:
    digest = hashlib.blake2b("\x00".join(map(str, parts)).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") + 0.5) / 2**64


@lru_cache(maxsize=100_000)
def _normal(*parts: object) -> float:
    return _NORMAL.inv_cdf(min(1 - 1e-12, max(1e-12, _uniform(*parts))))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -500 else 0.0


@dataclass(frozen=True, kw_only=True)
class World:
    """One world: which criteria help, and how good the proposer is.

    Attributes:
        seed: decides everything else that is not given.
        temperature: of the judge, where a request has none of its own.
        wording: standard deviation of the margin's shift by an instruction's wording.
        noticing: probability that the proposer notices a criterion in an error with feedback;
            a labelled example without feedback gives 0.4 of it.
        learning: probability that it uses the scored history.
        demos: margin gained per logarithm of 1 + demonstrations.
        scale: of the criteria's strengths; 0 is the null, in which no instruction is better than another.
        clash: how much of a helping criterion's strength each one goes without whose partner is stated too.
        harm: probability that a rewrite forgets a criterion, and that it adds one that harms.
        lean: margin by which the judge is nearer to "accept", whatever is right.
        positive: share of items that people reject.
        wrong: share of labelled cases of which people said the wrong thing; unseen items are all right.
    """

    seed: int
    temperature: float = 0.7
    wording: float = 0.2
    noticing: float = 0.5
    learning: float = 0.5
    demos: float = 0.1
    scale: float = 1.0
    clash: float = 0.0
    harm: float = 0.0
    lean: float = 0.0
    positive: float = 0.5
    wrong: float = 0.0
    strengths: dict[str, float] = field(init=False)
    partners: dict[str, str] = field(init=False)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Deal the roles."""
        random_ = random.Random(f"world/{self.seed}")
        names = random_.sample(CRITERIA, len(CRITERIA))
        strengths = {name: random_.uniform(0.4, 1.1) for name in names[:8]}
        strengths |= dict.fromkeys(names[8:10], 0.0)
        strengths |= {name: -random_.uniform(0.9, 1.6) for name in names[10:]}
        scaled = {name: self.scale * strength for name, strength in strengths.items()}
        object.__setattr__(self, "strengths", scaled)
        pairs = {names[at]: names[at + 1] for at in range(0, 8, 2)}
        given = tuple(getattr(self, item.name) for item in fields(self) if item.init)
        object.__setattr__(self, "_hash", hash(given))
        object.__setattr__(self, "partners", pairs | {two: one for one, two in pairs.items()})

    def cases(self, count: int, part: str) -> tuple[Case, ...]:
        """Return ``count`` labelled cases of a part (``train``, ``dev``, ...); parts do not overlap."""
        random_ = random.Random(f"cases/{self.seed}/{part}")
        first = int(10**7 * (1 + _uniform("part", part) * 8))
        found = []
        for number in range(first, first + count):
            item = f"case {number}: {', '.join(random_.sample(CRITERIA, 3))}."
            gold = self.gold(item)
            if part != "unseen" and _uniform("wrong", self.seed, item) < self.wrong:
                gold = OTHER[gold]
            found.append(Case(inputs={"item": item}, group=item, gold=(gold,), source=item))
        return tuple(found)

    def gold(self, item: str) -> str:
        """Return what is right of an item."""
        return "reject" if _uniform("gold", self.seed, item) < self.positive else "accept"

    def margin(self, instruction: str, item: str, demos: int = 0) -> float:
        """Return the margin by which the judge is right about an item; below 0 it is mostly wrong."""
        base, weights = _instruction(self, instruction)
        return (
            base
            + self.demos * math.log1p(demos)
            + sum(weights.get(name, 0.0) for name in stated(item)) * (1 - _SPILL)
            + (self.lean if self.gold(item) == "accept" else -self.lean)
            + 0.9 * _normal("item", self.seed, item)
            + self.wording * _normal("reading", self.seed, instruction, item)
        )

    def accuracy(self, instruction: str, demos: int = 0, items: int = 2000) -> float:
        """Return the exact expected accuracy on unseen items."""
        return float(np.mean(self._rights(instruction, demos, items)))

    def f1(self, instruction: str, demos: int = 0, items: int = 2000) -> float:
        """Return F1 of "reject" on unseen items, of the expected counts."""
        rights = self._rights(instruction, demos, items)
        found = np.array([self.gold(case.inputs["item"]) == "reject" for case in self._unseen(items)])
        hits = float(rights[found].sum())
        return 2 * hits / (hits + float(found.sum()) + float((1 - rights[~found]).sum()))

    def _rights(self, instruction: str, demos: int, items: int) -> np.ndarray:
        margins = np.array([self.margin(instruction, c.inputs["item"], demos) for c in self._unseen(items)])
        return np.asarray(1 / (1 + np.exp(-margins / self.temperature)))

    def ideal(self) -> str:
        """Return an instruction that states what helps and nothing else."""
        return " ".join(f"Check the {name}." for name, strength in self.strengths.items() if strength > 0)

    def _unseen(self, items: int) -> tuple[Case, ...]:
        return _cases(self, items, "unseen")

    def __hash__(self) -> int:
        """Worlds are equal by their settings."""
        return self._hash


@lru_cache(maxsize=64)
def _cases(world: World, count: int, part: str) -> tuple[Case, ...]:
    return world.cases(count, part)


@lru_cache(maxsize=4096)
def _instruction(world: World, text: str) -> tuple[float, dict[str, float]]:
    named = stated(text)
    weights = {
        name: world.strengths[name] * (1 - world.clash * (world.partners.get(name) in named))
        for name in sorted(named)
    }
    base = 0.3 + _SPILL * sum(weights.values()) + world.wording * _normal("wording", world.seed, text)
    return base, weights


class Simulator(InnerEngine):
    """Answers judge and proposer requests of one world."""

    def __init__(self, world: World) -> None:
        self.world = world

    def complete(self, request: Request) -> tuple[Response, float | None]:
        """Answer a request."""
        system = _text(request.system)
        said = self._judge(request, system) if "## verdict ## ]]\n{verdict}" in system else None
        said = self._propose(request, system) if said is None else said
        words = sum(len((message.text or "").split()) for message in request.messages) + len(system.split())
        usage = Usage(input_tokens=words, output_tokens=len(said.split()))
        message = Message.assistant(said)
        return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage), 0.0

    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        """Do the same."""
        return self.complete(request)

    def right(self, instruction: str, item: str, *, demos: int, draw: int, temperature: float) -> bool:
        """Say whether the judge is right in this draw."""
        margin = self.world.margin(instruction, item, demos)
        if temperature <= 0:
            return margin > 0
        luck = _uniform("draw", self.world.seed, instruction, item, demos, draw)
        return luck < _sigmoid(margin / temperature)

    def _judge(self, request: Request, system: str) -> str | None:
        item = _ITEM.search(request.messages[-1].text or "")
        if item is None:
            return None
        instruction = system.split("your objective is:", 1)[-1].strip()
        right = self.right(
            instruction,
            item[0],
            demos=len(request.messages) // 2,
            draw=request.config.seed or 0,
            temperature=_temperature(request, self.world.temperature),
        )
        gold = self.world.gold(item[0])
        return f"[[ ## verdict ## ]]\n{gold if right else OTHER[gold]}\n\n[[ ## completed ## ]]"

    def _propose(self, request: Request, system: str) -> str:
        asked = "\n\n".join(message.text or "" for message in request.messages)
        random_ = random.Random(f"{self.world.seed}/{system}/{asked}/{request.config.seed}")
        text = propose(self.world, asked, random_)
        outputs = re.findall(r"\[\[ ## (\w+) ## \]\]\n\{\1\}", system.split("[[ ## completed ## ]]")[0])
        shown = {name for name, _ in _FIELD.findall(asked)}
        fields = [name for name in outputs if name not in shown and name != "completed"]
        if not fields:
            return f"```\n{text}\n```"
        blocks = [f"[[ ## {name} ## ]]\n{text}" for name in fields]
        return "\n\n".join([*blocks, "[[ ## completed ## ]]"])


def propose(world: World, asked: str, random_: random.Random) -> str:
    """Return the instruction that the proposer writes for a request."""
    history = [(stated(text), int(score)) for text, score in _SCORED.findall(asked)]
    criteria = set(_base(asked, history, random_))
    noticed = []
    for line in _errors(asked):
        chance = world.noticing * (1.0 if "judged" in line else 0.4)
        noticed += [name for name in sorted(stated(line) - criteria) if random_.random() < chance]
    criteria |= set(random_.sample(noticed, min(len(noticed), random_.choice((1, 2, 3)))))
    if len(history) > 3 and random_.random() < world.learning:
        _learn(history, criteria, random_)
    if random_.random() < 0.25:
        criteria.add(random_.choice(CRITERIA))
    if criteria and random_.random() < max(0.2, world.harm):
        criteria.discard(random_.choice(sorted(criteria)))
    if random_.random() < world.harm:
        criteria.add(min(CRITERIA, key=lambda name: (name in criteria, world.strengths[name])))
    order = random_.sample(sorted(criteria), len(criteria))
    return " ".join(
        [random_.choice(_OPENERS), *(random_.choice(_STATES).format(name) for name in order)]
    ).strip()


def _base(
    asked: str, history: Sequence[tuple[frozenset[str], int]], random_: random.Random
) -> frozenset[str]:
    if history:
        best = sorted(history, key=lambda pair: pair[1])[-3:]
        return best[-1][0] if random_.random() < 0.7 else random_.choice(best)[0]
    current = [stated(text) for name, text in _FIELD.findall(asked) if "instruction" in name]
    # What is to be merged agrees in part; of the rest each criterion is taken or not.
    taken = {name for one in current[1:] for name in sorted(one ^ current[0]) if random_.random() < 0.5}
    return frozenset((current[0] if current else frozenset()) ^ taken)


def _errors(asked: str) -> list[str]:
    """Return what is said about each example, on one line each."""
    texts = [text for name, text in _FIELD.findall(asked) if "instruction" not in name]
    lines = [line for text in texts for line in text.splitlines() if _ITEM.search(line)]
    judged = [line for line in lines if "according to people" in line]
    return judged or lines


def _learn(history: Sequence[tuple[frozenset[str], int]], criteria: set[str], random_: random.Random) -> None:
    """Drop what seems to harm and add what seems to help, by ridge regression on the scored history."""
    design = np.array([[name in found for name in CRITERIA] for found, _ in history], dtype=float)
    scores = np.array([score for _, score in history], dtype=float)
    design, scores = design - design.mean(axis=0), scores - scores.mean()
    effects = np.linalg.solve(design.T @ design + 2 * np.eye(len(CRITERIA)), design.T @ scores)
    known = {name: float(effect) for name, effect in zip(CRITERIA, effects, strict=True)}
    worst = min(sorted(criteria), key=lambda name: known[name], default=None)
    if worst is not None and known[worst] < -0.3:
        criteria.discard(worst)
    best = max((name for name in CRITERIA if name not in criteria), key=lambda n: known[n], default=None)
    if best is not None and known[best] > 0.3 and random_.random() < 0.7:
        criteria.add(best)


def _temperature(request: Request, otherwise: float) -> float:
    found = request.config.temperature
    return otherwise if found is None else float(found)


def _text(system: object) -> str:
    if system is None or isinstance(system, str):
        return system or ""
    return "".join(part.text for part in system)  # type: ignore[attr-defined]


def connected(world: World, context: CallContext, purpose: Purpose) -> dspy.LM:
    """Return a language model that asks the world's simulator through ``context``."""
    heat = world.temperature if purpose == "judge" else 1.0
    return Channel(Simulator(world), context, purpose).lm("simulated/judge", temperature=heat)


@dataclass(frozen=True, kw_only=True)
class WorldAsker(Asker):
    """Answers as the simulator does, without a request: the same draws, the same budget, and much faster.

    One sample, the chat format, and no trace of the program: not for DSPy's optimizers.
    """

    world: World

    def ask_all(
        self, cases: Sequence[Case], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        """Judge cases one after the other."""
        context, simulator = self._context, Simulator(self.world)
        assert context is not None
        ((_, predictor),) = self.program.named_predictors()
        instruction, demos = predictor.signature.instructions.strip(), len(predictor.demos)
        found = []
        for index, case in enumerate(cases):
            context.meter.reserve(Amount())
            item, tokens = case.inputs["item"], 100 + len(instruction.split()) + 20 * demos
            temperature = self.lm.kwargs.get("temperature", self.world.temperature)
            right = simulator.right(instruction, item, demos=demos, draw=0, temperature=temperature)
            gold = self.world.gold(item)
            usage = Spend(calls=1, input_tokens=tokens)
            context.meter.settle(tokens=tokens, cost=0.0, reservation=Amount())
            context.ledger.add("judge", Spend(calls=1, input_tokens=tokens))
            said = gold if right else OTHER[gold]
            votes = ({said: 1},)
            one = Verdict(id=case.id, status="verdict", values=(said,), votes=votes, drawn=1, usage=usage)
            found.append(one)
            if on_verdict is not None:
                on_verdict(index, found[-1])
        return found


@dataclass(frozen=True, kw_only=True)
class WorldJob(Job):
    """A job in a world whose judge is asked without requests."""

    world: World
    # a label does not hang on the words of an item, and :class:`WorldAsker` knows no rule of words
    words: bool = False

    def asker(self, program: dspy.Module, setting: Setting = DEFAULT_SETTING) -> Asker:
        """Return what asks the world."""
        asked = super().asker(program, setting)
        return WorldAsker(
            world=self.world, **{item.name: getattr(asked, item.name) for item in fields(asked)}
        )
