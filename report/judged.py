"""Judged cases as a page shows them: those of a proof, with what became of each, and those of a run or a cascade."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import ValidationError

from ..cases import Case, Value
from ..errors import JuristError, UsageError, as_data, system_message
from ..evaluation.measured import UNANSWERED
from ..evaluation.rows import JudgedRow
from ..gold.scanning import scan
from ..gold.sources import file_of_rows
from ..keeping.artifact_card import Artifact, read_proof_rows
from ..keeping.card_parts import CascadeFound
from ..keeping.part import fault_words
from ..keeping.records import AnswerRecord, ProofRecord
from ..keeping.spend_card import PurposeSpend
from ..programs.answers.base import Answer
from .document import (
    AnswerNote,
    CaseEntry,
    Cases,
    Document,
    KindTone,
    Section,
    UnitEntry,
    readable_input,
    readable_text,
)
from .scores import joint_spend_line
from .table import table
from .verdict import engine_words
from .views import cascade_judges, cascade_levels

_Line: TypeAlias = Mapping[str, Any]
"""A line of a run, and an object in it, as JSON."""
SYSTEMS = ("basic", "compiled")
"""The two prompts that answer in a proof."""
KINDS: tuple[tuple[str, KindTone, str], ...] = (
    ("corrected", "good", "wrong before, right after compiling"),
    ("nearer", "good", "nearer to the gold label after compiling"),
    ("broken", "bad", "right before, wrong after compiling"),
    ("farther", "bad", "farther from the gold label after compiling"),
    ("still wrong", "bad", "wrong before and after"),
    ("no nearer", "bad", "off before and after, by as much"),
    ("abstained", "open", "a model answered, and the answer is unusable"),
    ("failed", "open", "the machinery failed: network, quota"),
    ("right", "good", "right before and after"),
    ("unlabelled", "open", "nobody labelled it"),
)
"""All that can have become of a unit or a case; of what can not happen with a kind of answer, nothing is shown."""
_ORDER = [name for name, _, _ in KINDS]
_BECAME = {
    (False, False): "still wrong",
    (False, True): "corrected",
    (True, False): "broken",
    (True, True): "right",
}
"""Whether a unit was right before compiling and is right after it -> the kind that it is of."""


def paired_cases(
    answer: Answer, proof: Sequence[ProofRecord], cases_by_id: Mapping[str, Case], note: str = ""
) -> Cases:
    """Return the cases of a proof, the most telling first."""
    basic_rows = read_proof_rows(answer, proof, "basic")
    compiled_rows = read_proof_rows(answer, proof, "compiled")
    cases: list[CaseEntry] = []
    units: Counter[str] = Counter()
    for record, basic, compiled in zip(proof, basic_rows, compiled_rows, strict=True):
        entry = _paired_case(answer, record, basic, compiled, cases_by_id.get(record.case))
        for unit in entry["units"]:
            units[unit["became"]] += 1
        cases.append(entry)
    cases.sort(key=_first_kind)
    return Cases(systems=SYSTEMS, kinds=KINDS, units=units, cases=cases, note=note)


def _first_kind(case: CaseEntry) -> int:
    """Return the place in :data:`KINDS` of the most telling kind of a case."""
    return min(map(_ORDER.index, case["kinds"]))


def _paired_case(
    answer: Answer, record: ProofRecord, basic: JudgedRow, compiled: JudgedRow, case: Case | None
) -> CaseEntry:
    """Return a line of a proof: of each unit what people and both prompts said, and what became of it."""
    texts: Sequence[str] = [""] * len(record.gold)
    source = ""
    inputs: list[list[str]] = []
    if case is not None:
        texts = answer.units(case.inputs)
        source = case.source
        inputs = _readable_inputs(case.inputs)
    units = _paired_units(answer, record, basic, compiled, texts)
    names = {unit["became"] for unit in units}
    notes: list[AnswerNote] = []
    for system in SYSTEMS:
        names.add(record.answer_of(system).status)
        notes.append(_answer_note(system, record.answer_of(system)))
    return {
        "id": record.case,
        "group": record.group,
        "source": source,
        "kinds": _kinds_of_case(names),
        "inputs": inputs,
        "units": units,
        "notes": notes,
    }


def _kinds_of_case(names: Collection[str]) -> list[str]:
    """Return the names of kinds of a case in the order of :data:`KINDS`; ``right`` alone where there is no other."""
    kinds: list[str] = []
    for name in _ORDER:
        if name in names and name != "right":
            kinds.append(name)
    return kinds or ["right"]


def _readable_inputs(inputs: Mapping[str, object]) -> list[list[str]]:
    """Return inputs as pages show them: a name and a text, or an image."""
    texts: list[list[str]] = []
    for name, value in inputs.items():
        texts.append(readable_input(name, value))
    return texts


def _paired_units(
    answer: Answer, record: ProofRecord, basic: JudgedRow, compiled: JudgedRow, texts: Sequence[str]
) -> list[UnitEntry]:
    """Return the units of a line of a proof, each with its text of ``texts``."""
    basic_sureness = _sureness(answer, record.basic)
    compiled_sureness = _sureness(answer, record.compiled)
    is_generator = answer.scale.row_type is type(None)
    units: list[UnitEntry] = []
    for place, text in enumerate(texts):
        gold = compiled.gold[place]
        basic_value = basic.predicted[place]
        compiled_value = compiled.predicted[place]
        label = gold
        if is_generator:
            label = None  # nobody said what is expected of a generator, which is the same for every document
        if len(texts) == 1:
            text = ""  # the text of a single unit is one of the inputs
        units.append(
            {
                "text": text,
                "gold": _value_text(answer, label),
                "said": [_value_text(answer, basic_value), _value_text(answer, compiled_value)],
                "names": [
                    _category_name(answer, label, ""),
                    _category_name(answer, basic_value, UNANSWERED),
                    _category_name(answer, compiled_value, UNANSWERED),
                ],
                "sure": [basic_sureness[place], compiled_sureness[place]],
                "became": _became(answer, gold, basic_value, compiled_value),
            }
        )
    return units


def _value_text(answer: Answer, value: Value | None) -> str:
    """Return a value as text; empty for none."""
    if value is None:
        return ""
    return answer.scale.text(value)


def _category_name(answer: Answer, value: Value | None, missing: str) -> str:
    """Return the name under which a value is counted in the tables of what was taken for what."""
    if value is None:
        return missing
    return answer.scale.category(value)


def _sureness(answer: Answer, record: AnswerRecord) -> list[float | None]:
    """Return how sure each answer is, 0 to 1: by the probability of its side, or by the votes of several samples."""
    if not record.probability:
        if record.drawn > 1:
            return list(record.agreement)
        return [None] * len(record.values)
    scale = answer.scale
    sureness: list[float | None] = []
    for label, probability in zip(record.values, record.probability, strict=True):
        if probability is None:
            sureness.append(None)
            continue
        is_positive = label is not None and scale.probability({scale.of_json(label): 1.0}) == 1
        if not is_positive:
            probability = 1 - probability
        sureness.append(round(probability, 3))
    return sureness


def _became(
    answer: Answer, gold: Value | None, basic_value: Value | None, compiled_value: Value | None
) -> str:
    """Return the name of the kind of :data:`KINDS` that a unit is of, by its values before and after compiling."""
    if gold is None:
        return "unlabelled"
    scale = answer.scale
    if scale.right(gold, gold) is not None:
        was_right = basic_value is not None and bool(scale.right(gold, basic_value))
        is_right = compiled_value is not None and bool(scale.right(gold, compiled_value))
        return _BECAME[was_right, is_right]
    credit_before = scale.credit(gold, basic_value)
    credit_after = scale.credit(gold, compiled_value)
    if credit_after > credit_before:
        return "nearer"
    if credit_after < credit_before:
        return "farther"
    if credit_after == 1:
        return "right"
    return "no nearer"


def _answer_note(system: str, record: AnswerRecord) -> AnswerNote:
    """Return a system's answer to a whole case."""
    return {
        "system": system,
        "status": record.status,
        "reasoning": record.reasoning or "",
        "error": record.error or "",
    }


_WITHOUT_VERDICT: tuple[tuple[str, KindTone, str], ...] = (
    ("abstained", "open", "the model answered, and the answer is unusable"),
    ("failed", "open", "the machinery failed: network, quota"),
    ("wavering", "open", "the judge's own samples differ"),
)
_OTHER = "another verdict"
_MOST_VERDICTS = 20
"""Different verdicts by which a page filters rows; with more of them, rows are sorted and searched."""
_RUN_NAMES = {"id", "status", "units"}
"""Names that every line of a run has."""
_GIVE_RUN = "give what jurist run wrote"


def saved_report(path: Path, lines: Iterable[_Line]) -> Document:
    """Return the report of the lines of a run, of that file."""
    try:
        rows = list(lines)
    except (OSError, UnicodeDecodeError) as error:
        hint = "name a judge, or the lines of a run"
        raise UsageError(f"{as_data(path)}: it cannot be read: {system_message(error)}", hint=hint) from error
    if not rows or not all(_is_run_line(row) for row in rows):
        raise JuristError(f"{as_data(path)} holds no lines of a run", hint=_GIVE_RUN)
    with naming_broken_field(path, _GIVE_RUN):
        return _run_report(path, rows)


@contextmanager
def naming_broken_field(path: Path, hint: str) -> Iterator[None]:
    """Raise ``JuristError`` with the broken field where the block meets a value that jurist does not write."""
    try:
        yield
    except ValidationError as error:
        raise JuristError(
            f"{as_data(path)} has a broken field: {fault_words(error).removeprefix(': ')}", hint=hint
        ) from error
    except KeyError as error:
        raise JuristError(f"{as_data(path)} lacks the field {error.args[0]!r}", hint=hint) from error
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise JuristError(f"{as_data(path)} has a broken field: {error}", hint=hint) from error


def cascade_report(artifact: Artifact, chosen: CascadeFound) -> Document:
    """Return the report of a cascade that was kept: what is kept was shown to agree often enough."""
    return Document(
        subject=artifact.ref,
        about=f"{chosen.cases} labelled rows of {chosen.gold}; {artifact.about.created[:10]}",
        headline=f"Where it answers, it agrees with the gold labels in {chosen.agree:.0%} of the rows or more",
        tone="good",
        lead=[f"It {chosen.words}."],
        sections=[
            Section("judges", "Who answers", cascade_judges(chosen)),
            Section("levels", "Levels", cascade_levels(chosen)),
        ],
    )


def _is_run_line(line: object) -> bool:
    """Whether a line has the names that every line of a run has."""
    return isinstance(line, Mapping) and line.keys() >= _RUN_NAMES


def _run_report(path: Path, rows: Sequence[_Line]) -> Document:
    """Return the report of the lines of a run. Raises ``ValueError`` and the like for a broken value."""
    inputs = _inputs_by_source(rows)
    judge = str(rows[0]["judge"])
    verdicts: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    usages: list[_Line] = []
    for row in rows:
        for unit in row["units"]:
            verdicts[_verdict_of(unit) or "no answer"] += 1
        statuses[str(row["status"])] += 1
        usages.append(row.get("usage") or {})
    filters = [verdict for verdict, _ in verdicts.most_common() if verdict != "no answer"]
    if len(filters) > _MOST_VERDICTS:
        filters = []
    cases = [_judged_case(row, inputs, filters) for row in rows]
    kinds = list(_WITHOUT_VERDICT)
    for verdict in filters:
        kinds.append((verdict, "plain", f"the verdict is {verdict}"))
    kinds.append((_OTHER, "plain", "it has a verdict"))
    without_verdict = []
    for status, count in statuses.items():
        if status != "verdict":
            without_verdict.append(f"{count} {status}{_error_kinds(rows, status)}")
    lead = []
    if without_verdict:
        lead.append(f"{', '.join(without_verdict)}.")
    count_rows = []
    for verdict, count in verdicts.most_common(30):
        count_rows.append([verdict, count, f"{count / verdicts.total():.1%}"])
    judged = statuses["verdict"]
    return Document(
        subject=judge,
        about=f"from {path.name}",
        headline=f"{judged} of {len(rows)} rows have a verdict ({engine_words(rows[0].get('model'))})",
        tone="good" if judged == len(rows) else "open",
        lead=lead,
        sections=[
            Section("verdicts", "Verdicts", [table("", ["verdict", "units", "share"], count_rows)]),
            Section(
                "cases", "The rows", [Cases(systems=(judge,), kinds=tuple(kinds), units={}, cases=cases)]
            ),
            Section("cost", "What it cost", [joint_spend_line(usages), _row_price(usages)]),
        ],
    )


def _row_price(usages: Sequence[_Line]) -> str:
    """Return the price of a row, in words."""
    usage = PurposeSpend.sum_of([PurposeSpend.model_validate(usage) for usage in usages])
    price = f"1,000 rows cost {1000 * usage.cost / len(usages):.3g} USD"
    if usage.unpriced:
        price = "its price is unknown"
    return f"a row takes {usage.all_tokens / len(usages):,.0f} tokens; {price}"


def _error_kinds(rows: Iterable[_Line], status: str) -> str:
    """Return why rows have no verdict, in brackets with their counts; empty where lines do not say it."""
    kinds: Counter[str] = Counter()
    for row in rows:
        if row["status"] == status and row.get("error_kind"):
            kinds[str(row["error_kind"])] += 1
    words = []
    for kind, count in kinds.most_common():
        words.append(f"{kind} {count}")
    if not words:
        return ""
    return f" ({', '.join(words)})"


def _inputs_by_source(rows: Sequence[_Line]) -> dict[str, _Line]:
    """Return the rows of the input by the source that lines name, of files that are still there."""
    inputs: dict[str, _Line] = {}
    names: set[str] = set()
    for line in rows:
        names.add(str(line.get("source") or "").rpartition(":")[0])
    for name in names:
        path = file_of_rows(name)
        if path is None:
            continue
        with path.open("rb") as file:
            for place, row in scan(file, name):
                if isinstance(row, Mapping):
                    inputs[f"{name}:{place.line}"] = row
    return inputs


def _judged_case(row: _Line, inputs: Mapping[str, _Line], filters: Collection[str]) -> CaseEntry:
    """Return a line of a run as a case; ``filters`` are the verdicts by which the page filters rows."""
    status, source = row["status"], str(row.get("source") or "")
    texts = _readable_inputs(inputs.get(source, {}))
    if not all(_is_in_inputs(unit, texts) for unit in row["units"]):
        texts = []  # a file that was changed meanwhile is not shown as what was judged
    units: list[UnitEntry] = []
    kinds: list[str] = []
    if status != "verdict":
        kinds.append(status)
    elif any(unit.get("agreement") is not None and unit["agreement"] < 1.0 for unit in row["units"]):
        kinds.append("wavering")
    for unit in row["units"]:
        entry = _judged_unit(unit, status, is_sampled=row.get("drawn", 1) > 1)
        if status == "verdict":
            entry["became"] = entry["said"][0] if entry["said"][0] in filters else _OTHER
            if entry["became"] not in kinds:
                kinds.append(entry["became"])
        units.append(entry)
    return {
        "id": str(row["id"]),
        "group": str(row.get("group") or ""),
        "source": source,
        "kinds": kinds or [_OTHER],
        "inputs": texts,
        "units": units,
        "notes": [
            {
                "system": row["judge"],
                "status": status,
                "reasoning": row.get("reasoning") or "",
                "error": row.get("error") or "",
            }
        ],
    }


def _is_in_inputs(unit: _Line, inputs: Iterable[Sequence[str]]) -> bool:
    """Say whether the text of a unit stands in one of the inputs."""
    return any(unit["text"] in shown_input[1] for shown_input in inputs)


def _judged_unit(unit: _Line, status: str, *, is_sampled: bool) -> UnitEntry:
    """Return a unit of a line of a run, with its text, and with how sure its verdict is.

    That is the probability of its label, else the share of several samples that agree on it.
    """
    verdict = _verdict_of(unit)
    sureness = unit.get("agreement") if is_sampled else None
    probability = (unit.get("probabilities") or {}).get(verdict)
    if probability is not None:
        sureness = round(float(probability), 3)
    return {"text": unit["text"], "gold": "", "said": [verdict], "sure": [sureness], "became": status}


def _verdict_of(unit: _Line) -> str:
    """Return the verdict on a unit of a line of a run as text; empty if it has none."""
    value = unit.get("label", unit.get("value"))
    if value is None:
        return ""
    return readable_text(value)
