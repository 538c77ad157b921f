"""Reports of a run, from the lines that it wrote, and of a cascade."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import JuristError, UsageError, why
from ..gold.files import scan
from .document import Cases, Document, Section, Tone, text_of
from .judged import note_json
from .scores import joint_spend_line
from .table import table
from .views import cascade_judges, cascade_levels

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
        headline="It can ship: those who answer agree with people often enough",
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
    said = Counter(unit["said"][0] or "no answer" for case in cases for unit in case["units"])
    usages, usable = [row.get("usage") or {} for row in rows], ended["verdict"]
    tokens = sum(one.get("input_tokens", 0) + one.get("output_tokens", 0) for one in usages) / len(rows)
    dollars = 1000 * sum(one.get("cost", 0.0) for one in usages) / len(rows)
    price = f"a row takes {tokens:,.0f} tokens; 1,000 rows cost {dollars:.3g} USD"
    others = [f"{count} {status}" for status, count in ended.items() if status != "verdict"]
    return Document(
        subject=judge,
        about=f"answered by {rows[0].get('model')}; from {path.name}",
        headline=f"{usable} of {len(rows)} rows have a verdict",
        tone="good" if usable == len(rows) else "open",
        lead=[f"{', '.join(others)}."] if others else (),
        sections=[
            Section("verdicts", "Verdicts", [table("", ["verdict", "units"], said.most_common(30))]),
            Section("cases", "The rows", [Cases(systems=(judge,), kinds=_CASES, units={}, cases=cases)]),
            Section("cost", "What it cost", [joint_spend_line(usages), price]),
        ],
    )


def _inputs_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the rows of the input by the source that lines name, of files that are still there."""
    found: dict[str, Mapping[str, Any]] = {}
    for name in {str(row.get("source") or "").rpartition(":")[0] for row in rows}:
        if name and Path(name).is_file():
            with Path(name).open("rb") as file:
                for place, row in scan(file, name):
                    if isinstance(row, Mapping):
                        found[f"{name}:{place.line}"] = row
    return found


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
