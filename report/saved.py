"""Reports of saved results: what ``evaluate``, ``compare``, ``cascade`` and ``run`` wrote."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import JuristError, UsageError, why
from ..gold.files import scan
from .document import Cases, Document, Section, Tone, text_of
from .judged import case_value, note_json
from .scores import counts_line, joint_spend_line
from .table import table
from .views import cascade_sections, comparison_sections, evaluation_sections

_CASES: tuple[tuple[str, Tone, str], ...] = (
    ("wrong", "bad", "not judged as people judged it"),
    ("abstained", "open", "the model answered, and the answer is unusable"),
    ("failed", "open", "the machinery failed: network, quota"),
    ("wavering", "open", "the judge's own samples differ"),
    ("judged", "good", "it has a verdict"),
)
_RUN = {"id", "status", "units"}


def saved_report(path: Path) -> Document:
    """Return the report of a file."""
    refusal = JuristError(
        f"{path} is no result of a command",
        hint="give what --json or --output of evaluate or compare wrote, or the JSON lines of a run",
    )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path}: it cannot be read: {why(error)}", hint="name a judge, or a file of results"
        ) from error
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    try:
        if data is None or (isinstance(data, Mapping) and data.keys() >= _RUN):
            rows = [json.loads(line) for line in text.split("\n") if line.strip()]
            if not rows or not all(row.keys() >= _RUN for row in rows):
                raise refusal
            return _run(path, rows)
        if not isinstance(data, Mapping) or not data:
            raise refusal
        if "disagreements" in data:
            return _evaluation(path, data)
        if "steps" in data and "agree" in data:
            return cascade_report(data, f"from {path.name}")
        return _comparison(path, data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise refusal from error


def cascade_report(data: Mapping[str, Any], about: str) -> Document:
    """Return the report of a cascade, from its JSON; ``about`` says where that is from."""
    named = data["artifact"] or " and ".join(one["judge"] for one in data["judges"])
    return Document(
        subject=named,
        about=f"{data['cases']} labelled rows of {data['gold']}; {about}",
        headline="It can ship: those who answer agree with people often enough"
        if data["shown"]
        else "No reason to ship it yet: it is not shown to agree with people often enough",
        tone="good" if data["shown"] else "open",
        lead=[f"It {data['words']}." if data["shown"] else f"{data['words'].capitalize()}."],
        sections=cascade_sections(data),
    )


def _evaluation(path: Path, data: Mapping[str, Any]) -> Document:
    metric, judge = data["metric"], data["judge"]
    value = data["scores"][metric]
    cases = [_disagreement(judge, one) for one in data["disagreements"]]
    browsed = Section(
        "cases",
        "The disagreements",
        [Cases(systems=(judge,), kinds=_CASES, units={}, cases=cases)] if cases else (),
        intro="The worst first; of equals, those that the judge's own samples agreed on most.",
    )
    return Document(
        subject=judge,
        about=f"on {data['gold']}, answered by {data['model']}; from {path.name}",
        headline=f"{metric} {value['value']:.3f}",
        tone="open",
        lead=[
            f"Over all cases of the same kind it is likely to be between {value['low']:.3f} and {value['high']:.3f} "
            "(95 % interval).",
        ],
        sections=[*evaluation_sections(data, worst=0), browsed],
    )


def _disagreement(judge: str, one: Mapping[str, Any]) -> dict[str, Any]:
    status = one["status"]
    inputs = [[name, text_of(value)] for name, value in one["inputs"].items()]
    return case_value(
        one["id"],
        ["wrong", *([status] if status in ("abstained", "failed") else [])],
        source=one["source"],
        inputs=[["difference", one["wrong"]], *inputs],
        notes=[note_json(judge, one, None)],
    )


def _comparison(path: Path, data: Mapping[str, Any]) -> Document:
    judges, tests, metric = data["judges"], data["tests"], data["metric"]
    counted = [counts_line(one["name"], one["counts"]) for one in judges]
    shown = [one for one in tests if one["verdict"] in ("better", "worse")]
    headline = f"{metric} of {len(judges)} judges"
    if len(tests) == 1:
        (one,) = tests
        headline = f"{one['first']} is {one['verdict']} {'than' if shown else 'from'} {one['second']}"
    elif tests:
        headline = f"{len(shown)} of {len(tests)} differences are shown"
    return Document(
        subject=" and ".join(one["name"] for one in judges),
        about=f"on {data['gold']}, {data['cases']} cases, asked {data['repeats']} time(s); from {path.name}",
        headline=headline,
        tone="good" if shown else "open",
        lead=[one["words"] for one in tests],
        sections=[*comparison_sections(data), Section("counts", "What was answered", counted)],
    )


def _run(path: Path, rows: Sequence[Mapping[str, Any]]) -> Document:
    inputs = _inputs_of(rows)
    judge, cases = str(rows[0]["judge"]), [_judged(row, inputs) for row in rows]
    ended = Counter(str(row["status"]) for row in rows)
    said = Counter(unit["said"][0] or "no answer" for case in cases for unit in case["units"])
    usable, spent = ended["verdict"], joint_spend_line([row.get("usage") or {} for row in rows])
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
            Section("cost", "What it cost", [spent]),
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
    units = [
        {
            "text": unit["text"],
            "gold": "",
            "said": [text_of(value) if (value := unit.get("label", unit.get("value"))) is not None else ""],
            "became": "judged" if status == "verdict" else status,
        }
        for unit in row["units"]
    ]
    shares = [unit["agreement"] for unit in row["units"] if unit.get("agreement") is not None]
    wavers = ["wavering"] if min(shares, default=1.0) < 1 else []
    return case_value(
        str(row["id"]),
        wavers or [status if status in ("abstained", "failed") else "judged"],
        group=str(row.get("group") or ""),
        source=source,
        inputs=texts if same else (),
        units=units,
        notes=[note_json(row["judge"], row, min(shares, default=None))],
    )
