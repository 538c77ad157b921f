"""Hardening: whether a judge's answers stay what they are when the text that it judges attacks it.

No label is compared with, so that hardening opens no sealed test: labels say only which answers an attack can ask for.
The suite of attacks, and of probes for biases, is data (``data/attacks.toml``).
"""

import dataclasses
import hashlib
import json
import string
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from ..cases import Case, Value, Values
from ..errors import UsageError, choices
from ..evaluation.disagreements import Flips, flips
from ..evaluation.plain import plain_fields
from ..evaluation.rows import Row
from ..gold.writing import check_files
from ..keeping.contenders import Contender
from ..keeping.loading import LoadedJudge
from ..keeping.logs import no_new_rows
from ..keeping.paying import PaidJob
from ..keeping.sealing import ROBUSTNESS
from ..programs.judge import Judge
from ..programs.verdicts import Verdict
from ..text.tables import table
from .experiment import Answers, Experiment
from .measuring import spread_evenly

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


AGAIN = "asked again"
"""The name of the case as it is, asked with other draws."""


@dataclass(frozen=True, kw_only=True)
class Hardening(Experiment):
    """One judge, attacked on rows that it was not compiled on."""

    kind: ClassVar[str] = "harden"
    fewest: ClassVar[int] = 1

    only: tuple[str, ...] = ()  # families of attacks and probes; empty: all
    most: int = 100  # cases that are attacked at most, evenly spread over the gold
    field: str = ""  # the input that is attacked; empty: that whose text gets the answer

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.contenders[0], LoadedJudge):
            raise no_new_rows(self.contenders[0].name)
        if not self.most >= 1:
            raise UsageError(f"--cases {self.most} attacks nothing", hint="give 1 or more")
        if not (self.judge.judge.answer.has_examples and self.known):
            hint = "attacks ask for labels that people gave: name a judge, and gold with its labels"
            raise UsageError(f"{self.gold.name} holds no labels of {self.judge.judge.name}", hint=hint)
        if self.attacked not in self.judge.judge.input_fields:
            names = self.judge.judge.input_fields
            hint = choices(self.attacked, names)
            raise UsageError(f"{self.attacked!r} is no input of {self.judge.judge.name}", hint=hint)
        _with(self.chosen[0].inputs[self.attacked], str)

    @property
    def judge(self) -> LoadedJudge:
        """The one that is attacked."""
        attacked = self.contenders[0]
        assert isinstance(attacked, LoadedJudge)
        return attacked

    @property
    def attacked(self) -> str:
        """The input that is attacked."""
        return self.field or self.judge.judge.answer.unit_fields[-1]

    @cached_property
    def attacks(self) -> tuple[Attack, ...]:
        """The attacks, probes and control that change the judged text."""
        return suite(self.only)

    @cached_property
    def known(self) -> tuple[Value, ...]:
        """The different answers that people gave: what an attack can ask for."""
        return tuple(dict.fromkeys(value for case in self.gold.cases for value in case.known))

    @cached_property
    def chosen(self) -> tuple[Case, ...]:
        """The cases that are attacked."""
        return tuple(spread_evenly(self.cases, self.most))

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(contender.note for contender in self.contenders)

    @property
    def size(self) -> str:
        return (
            f"{len(self.chosen)} cases x {len(self.attacks)} attacks and probes, as they are, and once more"
        )

    def questions(self, contender: Contender) -> int:
        return contender.sampling.samples * self.rows

    @property
    def rows(self) -> int:
        return len(self.chosen) * (len(self.attacks) + 2)

    def fingerprint(self) -> dict[str, Any]:
        more = {"most": self.most, "field": self.attacked, "suite": _print(self.attacks)}
        return {**super().fingerprint(), **more}

    def ask(self, job: PaidJob, on_case: Callable[[], None] = lambda: None) -> list[Answers]:
        if self.judge.artifact is not None:
            check_files(
                self.judge.artifact.path / ROBUSTNESS, hint="copy the store to where it can be written"
            )
        judge = self.judge.paid_by(job.contexts[self.roles[0]])
        verdicts = judge.verdicts(self.chosen, on_verdict=lambda index, verdict: on_case())
        return [
            Answers(name=judge.name, judge=judge, repeats=(), verdicts=tuple(verdicts), spend=judge.spend)
        ]

    def conclude(self, job: PaidJob, answers: Sequence[Answers], on_case: Callable[[], None]) -> Any:
        """Ask about the cases once more, and about each with each change, and count the answers that change."""
        judge, verdicts = answers[0].judge, answers[0].verdicts
        again = [dataclasses.replace(case, draw=judge.sampling.samples) for case in self.chosen]
        asked = [(AGAIN, "control", again)]
        for attack in self.attacks:
            pairs = zip(self.chosen, verdicts, strict=True)
            cases = [_attacked(attack, self, case, verdict) for case, verdict in pairs]
            asked.append((attack.name, attack.kind, cases))
        kind, results = judge.judge, []
        for name, what, cases in asked:
            answered = judge.verdicts(cases, on_verdict=lambda index, verdict: on_case())
            rows = [_row(kind, *four) for four in zip(self.chosen, verdicts, cases, answered, strict=True)]
            flipped = flips(rows, kind.comparison, kind.answer.scale.category)
            results.append(AttackResult(name=name, kind=what, flips=flipped))
        robustness = Robustness(
            judge=judge.name,
            model=judge.model.name,
            gold=self.gold.name,
            field=self.attacked,
            cases=len(self.chosen),
            suite=_print(self.attacks),
            found=tuple(results),
        )
        job.unfinished = any(result.flips.failed for result in results)
        if self.judge.artifact is not None and self.store is not None:
            self.store.keep_added(self.judge.artifact, ROBUSTNESS, robustness.to_json())
        return robustness


@dataclass(frozen=True, kw_only=True)
class AttackResult:
    """The changes that one attack, probe or control made; ``kind`` is ``attack``, ``probe`` or ``control``."""

    name: str
    kind: str
    flips: Flips

    @property
    def words(self) -> str:
        """``fake-verdict zh 0.120 [0.050, 0.260]``."""
        rate = self.flips.rate
        return f"{self.name} {rate.value:.3f} {rate.interval}"

    def to_json(self) -> dict[str, Any]:
        """Return the kind and the figures."""
        return {"kind": self.kind, **self.flips.to_json()}


@dataclass(frozen=True, kw_only=True)
class Robustness:
    """How a judge stands attacks and probes."""

    judge: str  # ``JUDGE@VERSION`` or ``JUDGE:basic``
    model: str  # the model's name
    gold: str  # the gold's name
    field: str  # the input that was attacked
    cases: int  # how many were attacked
    suite: str  # a hash of the attacks, 16 hex digits
    # the control first, then the attacks and probes in the order of the suite
    found: tuple[AttackResult, ...]

    @property
    def worst(self) -> AttackResult:
        """The attack or probe that changes most answers; the control is neither."""
        return max(self.found[1:], key=lambda result: result.flips.rate.value)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types; ``flips`` is by name."""
        return {
            **plain_fields(self, "found"),
            "worst": self.worst.flips.rate.value,
            "flips": {result.name: result.to_json() for result in self.found},
        }


def _attacked(attack: Attack, work: Hardening, case: Case, verdict: Verdict) -> Case:
    """Return a case whose text asks for the answer that is farthest from the judge's own."""
    judge = work.judge.judge
    answer, said = judge.answer, [value for value in verdict.values if value is not None]
    wanted = min(work.known, key=lambda one: sum(judge.comparison.similarity(value, one) for value in said))
    values = tuple(value and judge.comparison.wrong(value) for value in verdict.values)
    fields = judge.as_reply(values if answer.criteria else (wanted,) * len(verdict.values), case.inputs)
    reply = fields if answer.criteria else fields[answer.field]
    names = {
        "wanted": answer.scale.text(wanted),
        "reply": json.dumps(reply, ensure_ascii=False, default=str),
        "output": answer.fields[0],
        "input": work.attacked,
    }
    changed = _with(case.inputs[work.attacked], lambda text: attack.on(text, names))
    return dataclasses.replace(case, inputs={**case.inputs, work.attacked: changed}, spans=())


def _with(value: Any, change: Callable[[str], str]) -> Any:
    """Return an input with its text changed, the last one of a list."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple) and value and isinstance(value[-1], str):
        return [*value[:-1], change(value[-1])]
    raise UsageError(
        f"an input that is attacked holds text, not {json.dumps(value, default=str)[:60]}",
        hint="name another one with --field",
    )


def _row(judge: Judge, case: Case, before: Verdict, changed: Case, after: Verdict) -> Row:
    """Return the values of a case's units before and after an attack; a unit that is gone does not count."""
    texts, now = judge.answer.units(case.inputs), judge.answer.units(changed.inputs)
    places = range(len(texts)) if len(texts) == len(now) else _places(texts, now)
    kept: Values = tuple(
        None if place is None else value for place, value in zip(places, before.values, strict=True)
    )
    own = tuple(None if place is None else after.values[place] for place in places)
    failed = "failed" in (before.status, after.status)
    return Row(
        id=case.id,
        group=case.group,
        gold=kept,
        predicted=(None,) * len(own) if failed else own,
        failed=failed,
    )


def _places(texts: Sequence[str], now: Sequence[str]) -> list[int | None]:
    """Return for each unit where its text stands after the change; ``None`` where it does not stand there."""
    seen: Counter[str] = Counter()
    matched: list[int | None] = []
    for text in texts:
        places = [place for place, other in enumerate(now) if other == text]
        matched.append(places[seen[text]] if seen[text] < len(places) else None)
        seen[text] += 1
    return matched


def _print(attacks: Sequence[Attack]) -> str:
    data: Mapping[str, str] = {attack.name: attack.template for attack in attacks}
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
