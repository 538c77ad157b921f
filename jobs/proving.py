"""The proof on the sealed test: who is asked there, how, and how often it has been opened.

Both ways to an artifact end here, compiling and choosing another point of a
compilation's front. Knows artifacts and judges, not optimizers' work or commands.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.models import Model, held_by
from ..evaluation.calibration import calibrate
from ..evaluation.ceiling import Ceiling
from ..evaluation.measured import narrow
from ..evaluation.proof import Proof, prove
from ..evaluation.rows import Row
from ..gold.splits import Split
from ..keeping.resolving import default_temperature
from ..optimizers.matrix import spent
from ..optimizers.objective import row_of
from ..optimizers.setting import Setting
from ..programs.asking import Asker
from ..programs.judge import Judge
from ..programs.verdicts import Verdict
from .references import references


def model_under(model: Model, setting: Setting, samples: int) -> Model:
    """Return a job's model with what a setting changes.

    Another model keeps the address, where it is of the same provider, and takes the temperature of the job
    unless it refuses any but its own.
    """
    if setting.model is None and setting.temperature is None:
        return model
    changed = model
    if setting.model is not None:
        near = setting.model.partition("/")[0] == model.name.partition("/")[0]
        changed = dataclasses.replace(
            model,
            name=setting.model,
            api_base=model.api_base if near else None,
            key_env=model.key_env if near else None,
            temperature=None,
        )
        if not changed.fixed_temperature:
            changed = dataclasses.replace(changed, temperature=model.temperature)
    if setting.temperature is not None and not changed.fixed_temperature:
        changed = dataclasses.replace(changed, temperature=setting.temperature)
    return default_temperature(changed, samples)


@dataclass(frozen=True, kw_only=True)
class Proven:
    """What the sealed test has shown."""

    proof: Proof  # the scores of both programs, and the decision
    counted: Mapping[str, Any]  # what the card says about the answers themselves
    # what both said on each case; see :meth:`~jurist.keeping.artifact_card.Artifact.proof`
    answers: tuple[Mapping[str, Any], ...]

    def to_card(self) -> dict[str, Any]:
        """Return what the card says of it."""
        return {**self.proof.to_card(), **self.counted}


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """A program on the sealed test: its rows, how many answers contradicted themselves, and what else was counted."""

    rows: list[Row]
    inconsistent: int
    facts: Mapping[str, Any]


def proven(
    split: Split,
    basic: Asker,
    compiled: Asker,
    *,
    same: bool,
    seed: int,
    opened: int = 1,
    people: Ceiling | None = None,
    tick: Callable[[], None] = lambda: None,
) -> Proven:
    """Ask both on the sealed test."""
    judge, test = split.judge, split.test
    # Both thresholds stand: samples that cannot change an outcome are not drawn, but where both vote on them.
    twice = same and basic.sampling.needed != compiled.sampling.needed
    basic, compiled = (
        dataclasses.replace(one, stopping="all" if twice else "settled") for one in (basic, compiled)
    )
    verdicts = basic.ask_all(test, lambda index, verdict: tick())
    others = verdicts
    if twice:
        others = [compiled.revote(*pair) for pair in zip(test, verdicts, strict=True)]
    elif not same:
        others = compiled.ask_all(test, lambda index, verdict: tick())
    before, after = (_asked(judge, test, said) for said in (verdicts, others))
    beside = references(judge, (*split.train, *split.dev), test, seed=seed, people=people)
    proof = prove(
        before.rows,
        after.rows,
        judge.metric,
        judge.comparison,
        seed=seed,
        openings=opened,
        remarks=(split.near_words,) if split.near else (),
        constant=beside.constant,
    )
    asked = verdicts if same else others  # a vote under another threshold takes nothing more
    took = {"basic": spent([one.usage for one in verdicts]), "compiled": spent([one.usage for one in asked])}
    systems = {"basic": before, "compiled": after}
    counted: dict[str, Any] = {
        "tokens_per_row": {name: one.per_row() for name, one in took.items()},
        "inconsistent": {name: one.inconsistent for name, one in systems.items()},
        "references": beside.to_card(),
        "warnings": [
            warning
            for name, one in systems.items()
            for warning in narrow(name, one.rows, judge.comparison, judge.answer.text)
        ],
    }
    dollars = {name: round(1000 * one.cost, 6) for name, one in took.items() if one.cost}
    if len(dollars) == len(took):
        counted["dollars_per_1000_rows"] = dollars
    told = {"basic": _calibrated(judge, test, verdicts), "compiled": _calibrated(judge, test, others)}
    if all(told.values()):
        counted["calibration"] = told
    for name in before.facts:
        counted[name] = {"basic": before.facts[name], "compiled": after.facts[name]}
    answers = (_answers(judge, *row) for row in zip(test, verdicts, others, strict=True))
    return Proven(proof=proof, counted=counted, answers=tuple(answers))


def _calibrated(judge: Judge, test: Sequence[Case], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return what the probabilities that tokens told are worth; nothing without any."""
    probability = judge.answer.probability
    units = [
        (probability(shares), probability({gold: 1.0}))
        for case, verdict in zip(test, verdicts, strict=True)
        if verdict.measured and case.gold
        for shares, gold in zip(verdict.probabilities, case.gold, strict=True)
        if gold is not None
    ]
    known = [(said, bool(gold)) for said, gold in units if said is not None]
    return calibrate(*zip(*known, strict=True)).to_card() if known else {}


def _answers(judge: Judge, case: Case, basic: Verdict, compiled: Verdict) -> dict[str, Any]:
    return {
        "case": case.id,
        "group": case.group,
        "gold": [judge.answer.to_json(value) for value in case.gold or ()],
        "basic": _said(judge, basic),
        "compiled": _said(judge, compiled),
    }


def _said(judge: Judge, verdict: Verdict) -> dict[str, Any]:
    answer = judge.answer
    return {
        "status": verdict.status,
        "values": [answer.to_json(value) for value in verdict.values],
        "votes": [{answer.text(value): count for value, count in unit.items()} for unit in verdict.votes],
        "agreement": list(verdict.agreement),
        "probability": [answer.probability(shares) for shares in verdict.probabilities],
        "drawn": verdict.drawn,
        "reasoning": verdict.reasoning,
        "error": verdict.error,
    }


def _asked(judge: Judge, test: Sequence[Case], verdicts: Sequence[Verdict]) -> _Asked:
    sums: Counter[str] = Counter()
    for verdict in verdicts:
        sums.update(judge.answer.tally(verdict.values, verdict.counts))
    return _Asked(
        rows=[row_of(case, verdict) for case, verdict in zip(test, verdicts, strict=True)],
        inconsistent=sum(verdict.inconsistent for verdict in verdicts),
        facts=judge.answer.proof_facts(sums),
    )


def asked_as(model: Model, adapter: str, context: CallContext) -> dict[str, Any]:
    """Return what a card says of how its proof was asked: who, in which format, and what held answers in JSON to it."""
    held = held_by(model, context) if adapter == "json" else ""
    return {
        "model": described(model),
        "adapter": adapter,
        **({"structure": held} if held else {}),
    }


def described(model: Model) -> dict[str, Any]:
    """Return a model as a card shows it, without credentials."""
    return {
        "name": model.name,
        "api_base": model.api_base,
        "temperature": model.temperature,
        "max_tokens": model.max_tokens,
        "seed": model.seed,
        **({"structure": model.structure} if model.structure != "auto" else {}),
    }


def model_on(card: Mapping[str, Any], api_base: str | None = None, timeout: float = 120.0) -> Model:
    """Return the model that :func:`described` showed, at another address if one is given."""
    return Model(
        name=card["name"],
        api_base=api_base or card.get("api_base"),
        temperature=card.get("temperature"),
        max_tokens=card.get("max_tokens"),
        seed=int(card.get("seed") or 0),
        timeout=timeout,
        structure=card.get("structure") or "auto",
    )
