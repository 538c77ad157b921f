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
from ..keeping.artifact_card import rows_of
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
    answer: Answer, proof: Sequence[Mapping[str, Any]], known: Mapping[str, Case], note: str = ""
) -> Cases:
    """Return the cases of a proof, the most telling first."""
    befores, afters = (rows_of(answer, proof, system) for system in SYSTEMS)
    cases = [
        _paired_case(answer, line, before, after, known.get(after.id))
        for line, before, after in zip(proof, befores, afters, strict=True)
    ]
    units = Counter(unit["became"] for case in cases for unit in case["units"])
    cases.sort(key=lambda case: min(map(_ORDER.index, case["kinds"])))
    return Cases(systems=SYSTEMS, kinds=KINDS, units=units, cases=cases, note=note)


def _paired_case(
    answer: Answer, line: Mapping[str, Any], before: Row, after: Row, case: Case | None
) -> dict[str, Any]:
    """Return a line of a proof: of each unit what people and both prompts said, and what became of it."""
    texts = answer.units(case.inputs) if case is not None else ("",) * len(after.gold)
    sure = [_sure(answer, line[system]) for system in SYSTEMS]
    units = []
    for place, text in enumerate(texts):
        gold, both = after.gold[place], (before.predicted[place], after.predicted[place])
        # what is wanted of a generator is the same for every document, and nobody said it
        people = None if answer.scale.row_type is type(None) else gold
        units.append(
            {
                # a single unit's text is one of the inputs, and stands there
                "text": text if len(texts) > 1 else "",
                "gold": _text(answer, people),
                "said": [_text(answer, value) for value in both],
                "names": [_name(answer, people, ""), *(_name(answer, value, UNANSWERED) for value in both)],
                "sure": [shares[place] for shares in sure],
                "became": _became(answer, gold, *both),
            }
        )
    kinds = {unit["became"] for unit in units} | {line[system]["status"] for system in SYSTEMS}
    return {
        "id": after.id,
        "group": after.group,
        "source": case.source if case is not None else "",
        "kinds": [name for name in _ORDER if name in kinds - {"right"}] or ["right"],
        "inputs": [[name, text_of(value)] for name, value in case.inputs.items()] if case else [],
        "units": units,
        "notes": [note_json(system, line[system]) for system in SYSTEMS],
    }


def _text(answer: Answer, value: Value | None) -> str:
    return "" if value is None else answer.scale.text(value)


def _name(answer: Answer, value: Value | None, none: str) -> str:
    """Return the name under which a value is counted in the tables of what was taken for what."""
    return none if value is None else answer.scale.category(value)


def _sure(answer: Answer, line: Mapping[str, Any]) -> list[float | None]:
    """Return how sure each answer is, 0 to 1: by the probability of its side, or by the votes of several samples."""
    if not line.get("probability"):
        return list(line["agreement"]) if line["drawn"] > 1 else [None] * len(line["values"])
    scale, sure = answer.scale, list[float | None]()
    for label, probability in zip(line["values"], line["probability"], strict=True):
        value = None if label is None else scale.of_json(label)
        positive = value is not None and scale.probability({value: 1.0}) == 1
        sure.append(None if probability is None else round(probability if positive else 1 - probability, 3))
    return sure


def _became(answer: Answer, gold: Value | None, before: Value | None, after: Value | None) -> str:
    if gold is None:
        return "unlabelled"
    if (kind := answer.scale).right(gold, gold) is not None:
        first, second = (value is not None and bool(kind.right(gold, value)) for value in (before, after))
        return {(0, 1): "corrected", (1, 0): "broken", (0, 0): "still wrong", (1, 1): "right"}[first, second]
    near, nearer = answer.scale.credit(gold, before), answer.scale.credit(gold, after)
    if near == nearer:
        return "right" if near == 1 else "no nearer"
    return "nearer" if nearer > near else "farther"


def note_json(system: str, line: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a system said of a whole case as JSON values for :class:`Cases`."""
    words = {name: line.get(name) or "" for name in ("reasoning", "error")}
    return {"system": system, "status": line["status"], **words}


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
            return _run(path, rows)
    except (OSError, UnicodeDecodeError) as error:
        hint = "name a judge, or the lines of a run"
        raise UsageError(f"{path}: it cannot be read: {why(error)}", hint=hint) from error
    except (ValueError, KeyError, TypeError, AttributeError):
        pass  # refused below, as what holds other lines
    raise JuristError(f"{path} holds no lines of a run", hint="give what jurist run wrote")


def cascade_report(data: Mapping[str, Any], created: str) -> Document:
    """Return the report of a cascade that was kept, from its JSON: what is kept was shown to agree often enough."""
    return Document(
        subject=data["artifact"],
        about=f"{data['cases']} labelled rows of {data['gold']}; {created[:10]}",
        headline=f"Where it answers, it agrees with the gold labels in {data['agree']:.0%} of the rows or more",
        tone="good",
        lead=[f"It {data['words']}."],
        sections=[
            Section("judges", "Who answers", cascade_judges(data)),
            Section("levels", "Levels", cascade_levels(data)),
        ],
    )


def _run(path: Path, rows: Sequence[Mapping[str, Any]]) -> Document:
    inputs = _inputs_of(rows)
    judge, cases = str(rows[0]["judge"]), [_judged(row, inputs) for row in rows]
    ended = Counter(str(row["status"]) for row in rows)
    answers = Counter(unit["said"][0] or "no answer" for case in cases for unit in case["units"])
    usages, usable = [row.get("usage") or {} for row in rows], ended["verdict"]
    tokens = sum(usage.get("input_tokens", 0) + usage.get("output_tokens", 0) for usage in usages) / len(rows)
    dollars = f"1,000 rows cost {1000 * sum(usage.get('cost', 0.0) for usage in usages) / len(rows):.3g} USD"
    unknown = any(usage.get("unpriced") for usage in usages)
    price = f"a row takes {tokens:,.0f} tokens; {'its price is unknown' if unknown else dollars}"
    others = [
        f"{count} {status}{_kinds_of_errors(rows, status)}"
        for status, count in ended.items()
        if status != "verdict"
    ]
    return Document(
        subject=judge,
        about=f"answered by {rows[0].get('model')}; from {path.name}",
        headline=f"{usable} of {len(rows)} rows have a verdict",
        tone="good" if usable == len(rows) else "open",
        lead=[f"{', '.join(others)}."] if others else (),
        sections=[
            Section("verdicts", "Verdicts", [table("", ["verdict", "units"], answers.most_common(30))]),
            Section("cases", "The rows", [Cases(systems=(judge,), kinds=_CASES, units={}, cases=cases)]),
            Section("cost", "What it cost", [joint_spend_line(usages), price]),
        ],
    )


def _kinds_of_errors(rows: Iterable[Mapping[str, Any]], status: str) -> str:
    """Return why rows have no verdict, in brackets with their counts; empty where lines do not say it."""
    kinds = Counter(str(row.get("error_kind") or "") for row in rows if row["status"] == status)
    del kinds[""]
    words = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    return f" ({words})" if words else ""


def _inputs_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the rows of the input by the source that lines name, of files that are still there."""
    inputs: dict[str, Mapping[str, Any]] = {}
    for name in {str(row.get("source") or "").rpartition(":")[0] for row in rows}:
        if name and Path(name).is_file():
            with Path(name).open("rb") as file:
                for place, row in scan(file, name):
                    if isinstance(row, Mapping):
                        inputs[f"{name}:{place.line}"] = row
    return inputs


def _judged(row: Mapping[str, Any], inputs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    status, source = row["status"], str(row.get("source") or "")
    texts = [[name, text_of(value)] for name, value in inputs.get(source, {}).items()]
    # a file that was changed meanwhile is not shown as what was judged
    same = all(any(unit["text"] in text for _, text in texts) for unit in row["units"])
    shown_above = bool(texts) and same and len(row["units"]) == 1  # the text of the unit is one of the inputs
    units, shares = [], [1.0]
    for unit in row["units"]:
        value, agreement = unit.get("label", unit.get("value")), unit.get("agreement")
        if agreement is not None:
            shares.append(agreement)
        units.append(
            {
                "text": "" if shown_above else unit["text"],
                "gold": "",
                "said": ["" if value is None else text_of(value)],
                "sure": [agreement if row.get("drawn", 1) > 1 else None],
                "became": "judged" if status == "verdict" else status,
            }
        )
    answered = "wavering" if min(shares) < 1 else "judged"
    return {
        "id": str(row["id"]),
        "group": str(row.get("group") or ""),
        "source": source,
        "kinds": [status if status in ("abstained", "failed") else answered],
        "inputs": texts if same else [],
        "units": units,
        "notes": [note_json(row["judge"], row)],
    }
