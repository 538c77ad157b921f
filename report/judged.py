"""Judged cases as a page shows them: those of a proof, with what became of each, and those of a run or a cascade."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..cases import Case, Value
from ..errors import JuristError, UsageError, why
from ..evaluation.measured import UNANSWERED
from ..evaluation.rows import Row
from ..gold.files import scan
from ..keeping.artifact_card import Artifact, rows_of
from ..keeping.card_parts import CascadeFound, PurposeSpend
from ..keeping.records import AnswerRecord, ProofRecord
from ..programs.answers.base import Answer
from .document import Cases, Document, Section, Tone, text_of
from .scores import joint_spend_line
from .table import table
from .views import cascade_judges, cascade_levels

SYSTEMS = ("basic", "compiled")
"""Who answered in a proof."""
KINDS: tuple[tuple[str, Tone, str], ...] = (
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


def paired_cases(
    answer: Answer, proof: Sequence[ProofRecord], cases_by_id: Mapping[str, Case], note: str = ""
) -> Cases:
    """Return the cases of a proof, the most telling first."""
    basic_rows, compiled_rows = (rows_of(answer, proof, system) for system in SYSTEMS)
    cases = []
    for record, basic, compiled in zip(proof, basic_rows, compiled_rows, strict=True):
        cases.append(_paired_case(answer, record, basic, compiled, cases_by_id.get(record.case)))
    units = Counter(unit["became"] for case in cases for unit in case["units"])
    cases.sort(key=lambda case: min(map(_ORDER.index, case["kinds"])))
    return Cases(systems=SYSTEMS, kinds=KINDS, units=units, cases=cases, note=note)


def _paired_case(
    answer: Answer, record: ProofRecord, basic: Row, compiled: Row, case: Case | None
) -> dict[str, Any]:
    """Return a line of a proof: of each unit what people and both prompts said, and what became of it."""
    texts: Sequence[str] = [""] * len(record.gold)
    if case is not None:
        texts = answer.units(case.inputs)
    sureness = [_sureness(answer, record.answer_of(system)) for system in SYSTEMS]
    is_generator = answer.scale.row_type is type(None)
    units = []
    for place, text in enumerate(texts):
        gold, values = compiled.gold[place], (basic.predicted[place], compiled.predicted[place])
        # What is expected of a generator is the same for every document, and nobody said it.
        label = None if is_generator else gold
        units.append(
            {
                # The text of a single unit is one of the inputs, and stands there.
                "text": text if len(texts) > 1 else "",
                "gold": _text(answer, label),
                "said": [_text(answer, value) for value in values],
                "names": [_name(answer, label, ""), *(_name(answer, value, UNANSWERED) for value in values)],
                "sure": [shares[place] for shares in sureness],
                "became": _became(answer, gold, *values),
            }
        )
    kinds = {unit["became"] for unit in units}
    kinds |= {record.answer_of(system).status for system in SYSTEMS}
    return {
        "id": record.case,
        "group": record.group,
        "source": case.source if case is not None else "",
        "kinds": [name for name in _ORDER if name in kinds and name != "right"] or ["right"],
        "inputs": [[name, text_of(value)] for name, value in case.inputs.items()] if case else [],
        "units": units,
        "notes": [note_of(system, record.answer_of(system)) for system in SYSTEMS],
    }


def _text(answer: Answer, value: Value | None) -> str:
    return "" if value is None else answer.scale.text(value)


def _name(answer: Answer, value: Value | None, none: str) -> str:
    """Return the name under which a value is counted in the tables of what was taken for what."""
    return none if value is None else answer.scale.category(value)


def _sureness(answer: Answer, record: AnswerRecord) -> list[float | None]:
    """Return how sure each answer is, 0 to 1: by the probability of its side, or by the votes of several samples."""
    if not record.probability:
        return list(record.agreement) if record.drawn > 1 else [None] * len(record.values)
    scale = answer.scale
    sureness: list[float | None] = []
    for label, probability in zip(record.values, record.probability, strict=True):
        if probability is None:
            sureness.append(None)
            continue
        is_positive = label is not None and scale.probability({scale.of_json(label): 1.0}) == 1
        sureness.append(round(probability if is_positive else 1 - probability, 3))
    return sureness


def _became(answer: Answer, gold: Value | None, before: Value | None, after: Value | None) -> str:
    """Return the name of the kind of :data:`KINDS` that a unit is of."""
    if gold is None:
        return "unlabelled"
    scale = answer.scale
    if scale.right(gold, gold) is not None:
        was_right = before is not None and bool(scale.right(gold, before))
        is_right = after is not None and bool(scale.right(gold, after))
        if is_right:
            return "right" if was_right else "corrected"
        return "broken" if was_right else "still wrong"
    credit_before, credit_after = scale.credit(gold, before), scale.credit(gold, after)
    if credit_before == credit_after:
        return "right" if credit_before == 1 else "no nearer"
    return "nearer" if credit_after > credit_before else "farther"


def note_of(system: str, record: AnswerRecord) -> dict[str, Any]:
    """Return a system's answer to a whole case as JSON values for :class:`Cases`."""
    return {
        "system": system,
        "status": record.status,
        "reasoning": record.reasoning or "",
        "error": record.error or "",
    }


_CASES: tuple[tuple[str, Tone, str], ...] = (
    ("abstained", "open", "the model answered, and the answer is unusable"),
    ("failed", "open", "the machinery failed: network, quota"),
    ("wavering", "open", "the judge's own samples differ"),
    ("judged", "good", "it has a verdict"),
)
_RUN = {"id", "status", "units"}


def saved_report(path: Path, lines: Iterable[Any]) -> Document:
    """Return the report of the lines of a run, of that file."""
    try:
        rows = list(lines)
        if rows and all(row.keys() >= _RUN for row in rows):
            return _run_report(path, rows)
    except (OSError, UnicodeDecodeError) as error:
        hint = "name a judge, or the lines of a run"
        raise UsageError(f"{path}: it cannot be read: {why(error)}", hint=hint) from error
    except (ValueError, KeyError, TypeError, AttributeError):
        pass  # refused below, as what holds other lines
    raise JuristError(f"{path} holds no lines of a run", hint="give what jurist run wrote")


def cascade_report(artifact: Artifact, found: CascadeFound) -> Document:
    """Return the report of a cascade that was kept: what is kept was shown to agree often enough."""
    return Document(
        subject=artifact.ref,
        about=f"{found.cases} labelled rows of {found.gold}; {artifact.about.created[:10]}",
        headline=f"Where it answers, it agrees with the gold labels in {found.agree:.0%} of the rows or more",
        tone="good",
        lead=[f"It {found.words}."],
        sections=[
            Section("judges", "Who answers", cascade_judges(found)),
            Section("levels", "Levels", cascade_levels(found)),
        ],
    )


def _run_report(path: Path, rows: Sequence[Mapping[str, Any]]) -> Document:
    """Return the report of the lines of a run. Raises ``ValueError`` and the like for other lines."""
    inputs = _inputs_of(rows)
    judge = str(rows[0]["judge"])
    cases = [_judged_case(row, inputs) for row in rows]
    statuses = Counter(str(row["status"]) for row in rows)
    answers = Counter(unit["said"][0] or "no answer" for case in cases for unit in case["units"])
    usages = [row.get("usage") or {} for row in rows]
    without_verdict = []
    for status, count in statuses.items():
        if status != "verdict":
            without_verdict.append(f"{count} {status}{_error_kinds(rows, status)}")
    verdicts = statuses["verdict"]
    return Document(
        subject=judge,
        about=f"answered by {rows[0].get('model')}; from {path.name}",
        headline=f"{verdicts} of {len(rows)} rows have a verdict",
        tone="good" if verdicts == len(rows) else "open",
        lead=[f"{', '.join(without_verdict)}."] if without_verdict else (),
        sections=[
            Section("verdicts", "Verdicts", [table("", ["verdict", "units"], answers.most_common(30))]),
            Section("cases", "The rows", [Cases(systems=(judge,), kinds=_CASES, units={}, cases=cases)]),
            Section("cost", "What it cost", [joint_spend_line(usages), _row_price(usages)]),
        ],
    )


def _row_price(usages: Sequence[Mapping[str, Any]]) -> str:
    """Return the price of a row, in words."""
    usage = PurposeSpend.sum_of([PurposeSpend.model_validate(usage) for usage in usages])
    price = f"1,000 rows cost {1000 * usage.cost / len(usages):.3g} USD"
    if usage.unpriced:
        price = "its price is unknown"
    return f"a row takes {usage.all_tokens / len(usages):,.0f} tokens; {price}"


def _error_kinds(rows: Iterable[Mapping[str, Any]], status: str) -> str:
    """Return why rows have no verdict, in brackets with their counts; empty where lines do not say it."""
    kinds: Counter[str] = Counter()
    for row in rows:
        if row["status"] == status and row.get("error_kind"):
            kinds[str(row["error_kind"])] += 1
    words = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    return f" ({words})" if words else ""


def _inputs_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the rows of the input by the source that lines name, of files that are still there."""
    inputs: dict[str, Mapping[str, Any]] = {}
    names = {str(row.get("source") or "").rpartition(":")[0] for row in rows}
    for name in names:
        if not name or not Path(name).is_file():
            continue
        with Path(name).open("rb") as file:
            for place, row in scan(file, name):
                if isinstance(row, Mapping):
                    inputs[f"{name}:{place.line}"] = row
    return inputs


def _judged_case(row: Mapping[str, Any], inputs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return a line of a run as JSON values for :class:`Cases`."""
    status, source = row["status"], str(row.get("source") or "")
    texts = [[name, text_of(value)] for name, value in inputs.get(source, {}).items()]
    # A file that was changed meanwhile is not shown as what was judged.
    is_same = all(any(unit["text"] in text for _, text in texts) for unit in row["units"])
    # The text of a single unit is one of the inputs.
    is_shown_above = bool(texts) and is_same and len(row["units"]) == 1
    has_samples = row.get("drawn", 1) > 1
    units = []
    least_agreement = 1.0
    for unit in row["units"]:
        value, agreement = unit.get("label", unit.get("value")), unit.get("agreement")
        if agreement is not None:
            least_agreement = min(least_agreement, agreement)
        units.append(
            {
                "text": "" if is_shown_above else unit["text"],
                "gold": "",
                "said": ["" if value is None else text_of(value)],
                "sure": [agreement if has_samples else None],
                "became": "judged" if status == "verdict" else status,
            }
        )
    kind = status
    if status not in ("abstained", "failed"):
        kind = "wavering" if least_agreement < 1 else "judged"
    note = {"system": row["judge"], "status": status}
    note |= {name: row.get(name) or "" for name in ("reasoning", "error")}
    return {
        "id": str(row["id"]),
        "group": str(row.get("group") or ""),
        "source": source,
        "kinds": [kind],
        "inputs": texts if is_same else [],
        "units": units,
        "notes": [note],
    }
