"""Hardening: whether a judge's answers stay what they are when the text that it judges attacks it.

No label is compared with, so that hardening opens no sealed test: labels say only which answers an attack can ask for.
The suite of attacks, and of probes for biases, is data (``data/attacks.toml``).
"""

import dataclasses
import hashlib
import json
import string
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

from ..cases import Case, Value
from ..errors import UsageError, suggest_name
from ..evaluation.disagreements import Flips, count_flips
from ..evaluation.plain import plain_fields
from ..evaluation.rows import JudgedRow
from ..gold.writing import check_files
from ..keeping.contenders import Contender
from ..keeping.loading import LoadedJudge
from ..keeping.logs import new_rows_error
from ..keeping.paying import PaidJob
from ..keeping.records import RobustnessRecord
from ..keeping.sealing import ROBUSTNESS
from ..programs.judge import Judge
from ..programs.verdicts import Verdict
from ..report.scores import robustness_about, robustness_table
from ..report.shown import Shown
from ..report.table import Table
from ..text.tables import read_table
from .experiment import Answers, Experiment
from .kept_calls import Asking
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
        if self.language == LANGUAGES[0]:
            return self.family
        return f"{self.family} {self.language}"

    def change_text(self, text: str, names: Mapping[str, str]) -> str:
        """Return a text as the attack changes it; ``names`` are the values of the template's other placeholders."""
        return _Template(self.template).substitute(names, text=text)


def load_attacks(only: Collection[str] = ()) -> tuple[Attack, ...]:
    """Return the attacks and probes in every language: all, or those of some families."""
    entries = read_table(__package__, "attacks")
    for family in only:
        if family not in entries:
            raise UsageError(f"no attack or probe is called {family!r}", hint=suggest_name(family, entries))
    attacks: list[Attack] = []
    for family, entry in entries.items():
        if only and family not in only:
            continue
        for language in LANGUAGES:
            attacks.append(
                Attack(
                    family=family,
                    language=language,
                    kind=entry["kind"],
                    finds=entry["finds"],
                    template=entry[language],
                )
            )
    return tuple(attacks)


AGAIN = "asked again"
"""The name of the case as it is, asked with other draws."""


@dataclass(frozen=True, kw_only=True)
class Hardening(Experiment):
    """One judge, attacked on rows that it was not compiled on."""

    kind: ClassVar[str] = "harden"
    fewest: ClassVar[int] = 1

    only: tuple[str, ...] = ()  # families of attacks and probes; empty: all
    case_limit: int = 100  # cases that are attacked at most, evenly spread over the gold
    field: str = ""  # the input that is attacked; empty: that whose text gets the answer

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.contenders[0], LoadedJudge):
            raise new_rows_error(self.contenders[0].name)
        if self.case_limit < 1:
            raise UsageError(f"--cases {self.case_limit} attacks nothing", hint="give 1 or more")
        judge = self.judge.judge
        if not (judge.has_examples and self.labels):
            hint = "attacks ask for labels that people gave: name a judge, and gold with its labels"
            raise UsageError(f"{self.gold.name} holds no labels of {judge.name}", hint=hint)
        if self.attacked not in judge.input_fields:
            hint = suggest_name(self.attacked, judge.input_fields)
            raise UsageError(f"{self.attacked!r} is no input of {judge.name}", hint=hint)
        _change_input(self.chosen[0].inputs[self.attacked], str)

    @property
    def judge(self) -> LoadedJudge:
        """The judge that is attacked."""
        judge = self.contenders[0]
        assert isinstance(judge, LoadedJudge)
        return judge

    @property
    def attacked(self) -> str:
        """The input that is attacked."""
        return self.field or self.judge.judge.answer.unit_fields[-1]

    @cached_property
    def attacks(self) -> tuple[Attack, ...]:
        """The attacks and probes that change the judged text."""
        return load_attacks(self.only)

    @cached_property
    def labels(self) -> tuple[Value, ...]:
        """The different labels that people gave, for which an attack can ask."""
        labels: dict[Value, None] = {}
        for case in self.gold.cases:
            labels.update(dict.fromkeys(case.labels))
        return tuple(labels)

    @cached_property
    def chosen(self) -> tuple[Case, ...]:
        """The cases that are attacked."""
        return tuple(spread_evenly(self.cases, self.case_limit))

    @property
    def notes(self) -> tuple[str, ...]:
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

    def askings(self) -> Iterator[Asking]:
        return iter(())  # the attacks follow from the answers to the rows as they are

    def fingerprint(self) -> dict[str, Any]:
        settings = super().fingerprint()
        settings["most"] = self.case_limit
        settings["field"] = self.attacked
        settings["suite"] = _hash_attacks(self.attacks)
        return settings

    def ask(self, job: PaidJob, on_case: Callable[[], None] = lambda: None) -> list[Answers]:
        if self.judge.artifact is not None:
            if self.store is not None:
                self.store.check_writable()
            check_files(
                self.judge.artifact.path / ROBUSTNESS, hint="copy the store to where it can be written"
            )
        judge = self.judge.paid_by(job.contexts[self.roles[0]])
        verdicts = judge.verdicts(self.chosen, on_verdict=lambda index, verdict: on_case())
        return [
            Answers(name=judge.name, judge=judge, repeats=(), verdicts=tuple(verdicts), spend=judge.spend)
        ]

    def conclude(self, job: PaidJob, answers: Sequence[Answers], on_case: Callable[[], None]) -> "Robustness":
        """Ask about the cases once more, and about each with each change, and count the answers that change."""
        judge = answers[0].judge
        verdicts = answers[0].verdicts
        changes = [_ChangedCases(AGAIN, "control", self._redraw_cases(judge))]
        for attack in self.attacks:
            changes.append(_ChangedCases(attack.name, attack.kind, self._attack_cases(attack, verdicts)))
        results: list[AttackResult] = []
        for change in changes:
            changed_verdicts = judge.verdicts(change.cases, on_verdict=lambda index, verdict: on_case())
            rows = self._compare_verdicts(verdicts, change.cases, changed_verdicts)
            answer_flips = count_flips(rows, judge.judge.comparison, judge.judge.answer.scale.category)
            results.append(AttackResult(name=change.name, kind=change.kind, flips=answer_flips))
        robustness = Robustness(
            judge=judge.name,
            model=judge.model.name,
            gold=self.gold.name,
            field=self.attacked,
            cases=len(self.chosen),
            suite=_hash_attacks(self.attacks),
            found=tuple(results),
        )
        job.unfinished = any(result.flips.failed for result in results)
        if self.judge.artifact is not None and self.store is not None:
            self.store.keep_added(self.judge.artifact, ROBUSTNESS, robustness.to_json())
        return robustness

    def _redraw_cases(self, judge: Contender) -> list[Case]:
        """Return the cases as they are, to be asked about with other draws."""
        cases: list[Case] = []
        for case in self.chosen:
            cases.append(dataclasses.replace(case, draw=judge.sampling.samples))
        return cases

    def _attack_cases(self, attack: Attack, verdicts: Sequence[Verdict]) -> list[Case]:
        """Return the cases with their text changed by one attack, which knows the verdicts on them."""
        cases: list[Case] = []
        for case, verdict in zip(self.chosen, verdicts, strict=True):
            cases.append(_attack_case(attack, self, case, verdict))
        return cases

    def _compare_verdicts(
        self, verdicts: Sequence[Verdict], changed_cases: Sequence[Case], changed_verdicts: Sequence[Verdict]
    ) -> list[JudgedRow]:
        """Return a row for each case: its values as gold, and those of the changed case as predictions."""
        rows: list[JudgedRow] = []
        for place, case in enumerate(self.chosen):
            rows.append(
                _make_row_of_change(
                    self.judge.judge, case, verdicts[place], changed_cases[place], changed_verdicts[place]
                )
            )
        return rows


class _ChangedCases(NamedTuple):
    """The attacked cases with one change: an attack, a probe or, for the control, other draws."""

    name: str
    kind: str
    cases: Sequence[Case]


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


@dataclass(frozen=True, kw_only=True, repr=False)
class Robustness(Shown):
    """The results of attacks and probes on a judge."""

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

    def parts(self) -> list[Table | str]:
        """Return how often the judge's answer changed under each attack."""
        record = RobustnessRecord.model_validate(self.to_json())
        return [robustness_table(record, f"{self.judge}, {robustness_about(record)}")]

    def records(self) -> list[dict[str, object]]:
        """Return a row for each attack or probe."""
        return [{"attack": result.name, **result.to_json()} for result in self.found]

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types; ``flips`` is by name."""
        parts = plain_fields(self, "found")
        parts["worst"] = self.worst.flips.rate.value
        parts["flips"] = {result.name: result.to_json() for result in self.found}
        return parts


def _attack_case(attack: Attack, work: Hardening, case: Case, verdict: Verdict) -> Case:
    """Return a case whose text asks for the label that is farthest from the judge's own answer."""
    answer = work.judge.judge.answer
    target = _find_farthest_label(work, verdict)
    names = {
        "wanted": answer.scale.text(target),
        "reply": json.dumps(_make_reply(work, case, verdict, target), ensure_ascii=False, default=str),
        "output": answer.fields[0],
        "input": work.attacked,
    }
    changed_input = _change_input(case.inputs[work.attacked], lambda text: attack.change_text(text, names))
    return dataclasses.replace(case, inputs={**case.inputs, work.attacked: changed_input}, spans=())


def _find_farthest_label(work: Hardening, verdict: Verdict) -> Value:
    """Return the label that is least similar to the values of a verdict."""
    comparison = work.judge.judge.comparison

    def sum_similarities(label: Value) -> float:
        similarity = 0.0
        for value in verdict.values:
            if value is not None:
                similarity += comparison.similarity(value, label)
        return similarity

    return min(work.labels, key=sum_similarities)


def _make_reply(work: Hardening, case: Case, verdict: Verdict, target: Value) -> object:
    """Return the data of a reply with the label that an attack asks for, or with each criterion's wrong value."""
    judge = work.judge.judge
    if not judge.answer.criteria:
        values = (target,) * len(verdict.values)
        return judge.as_reply(values, case.inputs)[judge.answer.field]
    wrong_values: list[Value | None] = []
    for value in verdict.values:
        wrong_values.append(None if value is None else judge.comparison.wrong(value))
    return judge.as_reply(tuple(wrong_values), case.inputs)


def _change_input(value: object, change: Callable[[str], str]) -> object:
    """Return an input with its text changed; of a list the last text."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple) and value and isinstance(value[-1], str):
        texts = list(value)
        texts[-1] = change(texts[-1])
        return texts
    raise UsageError(
        f"an input that is attacked holds text, not {json.dumps(value, default=str)[:60]}",
        hint="name another one with --field",
    )


def _make_row_of_change(
    judge: Judge, case: Case, verdict: Verdict, changed_case: Case, changed_verdict: Verdict
) -> JudgedRow:
    """Return the values of a case's units, as gold, beside those of the changed case; lost units have no value."""
    texts = judge.answer.units(case.inputs)
    changed_texts = judge.answer.units(changed_case.inputs)
    if len(texts) == len(changed_texts):
        places: Sequence[int | None] = range(len(texts))
    else:
        places = _find_texts(texts, changed_texts)
    values: list[Value | None] = []
    changed_values: list[Value | None] = []
    failed = "failed" in (verdict.status, changed_verdict.status)
    for place, value in zip(places, verdict.values, strict=True):
        values.append(None if place is None else value)
        if place is None or failed:
            changed_values.append(None)
        else:
            changed_values.append(changed_verdict.values[place])
    return JudgedRow(
        id=case.id,
        group=case.group,
        gold=tuple(values),
        predicted=tuple(changed_values),
        failed=failed,
    )


def _find_texts(texts: Sequence[str], changed_texts: Sequence[str]) -> list[int | None]:
    """Return the place of each unit's text after the change; ``None`` for a text that is gone."""
    places_of_text: dict[str, list[int]] = {}
    for place, text in enumerate(changed_texts):
        places_of_text.setdefault(text, []).append(place)
    places: list[int | None] = []
    for text in texts:
        remaining_places = places_of_text.get(text)
        places.append(remaining_places.pop(0) if remaining_places else None)
    return places


def _hash_attacks(attacks: Sequence[Attack]) -> str:
    """Return a hash of the templates of attacks, 16 hex digits."""
    templates = {attack.name: attack.template for attack in attacks}
    return hashlib.sha256(json.dumps(templates, sort_keys=True).encode()).hexdigest()[:16]
