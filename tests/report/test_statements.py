"""What is said of a version, by what the paired tests show: lines that must be said, and lines that never may be.

Every situation is proven by the functions that prove a compilation, on made-up answers; nothing is a recorded card.
"""

import re
import shlex
from dataclasses import dataclass
from typing import Any

import pytest

from jurist.cli import build_parser
from jurist.evaluation.checked_items import Check, CheckedItem
from jurist.evaluation.measured import score
from jurist.evaluation.proof import prove_improvement
from jurist.evaluation.rows import JudgedRow
from jurist.evaluation.scale import resolve
from jurist.evaluation.units import encode
from jurist.jobs.references import LEARNERS, Reference, References
from jurist.keeping.artifacts import Store
from jurist.keeping.card_parts import NOTHING_BETTER, CriterionCard, DecisionCard, ScoreCard
from jurist.programs.catalogue import find
from jurist.programs.fect import FECT
from jurist.programs.state import PromptState
from jurist.report.artifact import ArtifactReport
from jurist.report.document import Document, readable_text
from jurist.report.table import Table
from jurist.report.verdict import criteria_words, standing_table

GOLD = ("non_factual", "factual", "non_factual", "factual")
OTHER = {"non_factual": "factual", "factual": "non_factual"}
GROUPS = 40
USE = ("jurist run", "jurist serve", "jurist gate")


def rows(pattern: str) -> list[JudgedRow]:
    """Return the answers of forty groups: ``+`` is right, ``x`` wrong; patterns divided by a bar take turns."""
    patterns, answers = pattern.split("|"), []
    for group in range(GROUPS):
        signs = patterns[group % len(patterns)]
        said = tuple(gold if sign == "+" else OTHER[gold] for gold, sign in zip(GOLD, signs, strict=True))
        answers.append(JudgedRow(id=f"c{group}", group=f"g{group}", gold=GOLD, predicted=said))
    return answers


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What everybody answered, and what is then said."""

    basic: str
    compiled: str
    headline: str
    words: str = "xx++"  # what the regression on words answers
    constant: str = "+x+x"
    model: str = "openai/gpt-4.1-mini"
    store_option: str = ""
    said: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


HALF, BAD, GOOD = "++xx|xx++", "xxxx|x+xx", "++++|++++|++++|+++x"
SITUATIONS: dict[str, Situation] = {
    "better than basic, a constant and the references": Situation(
        basic=HALF,
        compiled=GOOD,
        headline="Better than the prompt you started with and than a constant answer (openai/gpt-4.1-mini)",
        # the gate that is proposed is one that the version passes, and a constant answer does not
        said=("jurist run fect@1", "jurist serve fect@1", "--gold labels.csv --min f1=0.9", "12.0 times"),
        never=("not told apart", "worse than"),
    ),
    "better, by the offline engine": Situation(
        basic=HALF,
        compiled=GOOD,
        model="offline",
        headline="Better than the prompt you started with and than a constant answer (offline text-overlap scorer, "
        "not a language model)",
    ),
    "better, and a regression answers as well": Situation(
        basic=HALF,
        compiled=GOOD,
        words="++++|++++|+++x|++++",
        headline="Better than the prompt you started with and than a constant answer (openai/gpt-4.1-mini)",
        said=("compiled is not told apart from logistic regression on words and overlap",),
        never=("compiled is worse than", "compiled is better than logistic"),
    ),
    "better, and a regression is shown to be better": Situation(
        basic=BAD,
        compiled="+++x",
        words="++++",
        headline="Better than the prompt you started with, but worse than logistic regression on words and overlap, "
        "which asks no language model (openai/gpt-4.1-mini)",
        said=("compiled is worse than logistic regression on words and overlap",),
    ),
    "better than basic, not than a constant": Situation(
        basic=BAD,
        compiled="+x++|+x+x|x+x+|++x+",
        words="xxxx",
        headline="Better than the prompt you started with, but not shown to be better than a constant answer "
        "(openai/gpt-4.1-mini)",
        said=("compiled is not shown to be better than that",),
        never=(*USE, "jurist prove"),
    ),
    "worse than a constant": Situation(
        basic=BAD,
        compiled=BAD,
        words="xxxx",
        headline="Worse than a constant answer (openai/gpt-4.1-mini)",
        said=("compiled is worse than that",),
        never=(*USE, "jurist prove"),
    ),
    "worse than basic": Situation(
        basic=GOOD,
        compiled=HALF,
        headline="Worse than the prompt you started with (openai/gpt-4.1-mini)",
        never=(*USE, "jurist prove"),
    ),
    "not shown, with a gain that few labels may show": Situation(
        basic="++++|++++|++++|++++|+++x|++++|++++|++++|++++|++++",
        compiled="++++",
        headline="Not shown to be better than the prompt you started with (openai/gpt-4.1-mini)",
        store_option=" --store kept",
        said=(
            "jurist prove fect@1 --rows new.jsonl --labels 40 --store kept",
            "40 labels on rows that nobody labelled",
            "40 labels on new rows, only where the two differ, will mostly tell",
        ),
        never=USE,
    ),
    "not shown, and more broken than corrected": Situation(
        basic=GOOD,
        compiled="++++|+++x|++++|+++x|++++|++++|++++",
        headline="Not shown to be better than the prompt you started with (openai/gpt-4.1-mini)",
        said=("jurist compile fect --gold labels.csv",),
        never=(*USE, "jurist prove", "will mostly tell"),
    ),
}
SITUATIONS["not shown, and a gain for which 200 labels are too few"] = Situation(
    basic="++x+|++x+|++++|+++x|++++|++++|x+++|++++|+x++|++++",
    compiled="++++|++++|+x++|++++|++x+|+++x|++++|x+++|++++|++++",
    headline="Not shown to be better than the prompt you started with (openai/gpt-4.1-mini)",
    said=("jurist compile fect --gold labels.csv",),
    never=(*USE, "jurist prove", "will mostly tell"),
)
NEVER = ("ship", "No language model is needed", "do not need this judge", "people said", "human ceiling")


def proof_lines(basic: list[JudgedRow], compiled: list[JudgedRow]) -> list[dict[str, Any]]:
    """Return the lines that keep the answers of both prompts on the sealed test."""
    lines = []
    for basic_row, compiled_row in zip(basic, compiled, strict=True):
        line: dict[str, Any] = {"case": basic_row.id, "group": basic_row.group, "gold": list(basic_row.gold)}
        for name, row in (("basic", basic_row), ("compiled", compiled_row)):
            votes = [{str(value): 1} for value in row.predicted]
            line[name] = {"status": "verdict", "values": list(row.predicted), "votes": votes}
        lines.append(line)
    return lines


def reported(situation: Situation) -> Document:
    """Return the report of a version that was proven on the answers of a situation."""
    basic, compiled = rows(situation.basic), rows(situation.compiled)
    constant = ('always "non_factual"', rows(situation.constant))
    proof = prove_improvement(basic, compiled, FECT.metric, FECT.comparison, constant=constant)
    metric = resolve(FECT.metric, FECT.comparison)
    answers = {"words": LEARNERS["words"]["label"], "constant": constant[0]}
    found = {
        name: Reference(
            answer=answer,
            rows=tuple(said),
            score=score(encode(FECT.comparison, said), metric),
        )
        for (name, answer), said in zip(answers.items(), (rows(situation.words), constant[1]), strict=True)
    }
    references = References(metric=metric.name, by_name=found).against(
        FECT, "compiled", compiled, ("words",), seed=0, level=0.025
    )
    card: dict[str, Any] = {
        **proof.to_card(),
        "created": "2026-01-01T00:00:00Z",
        "references": references.to_card(),
        "warnings": list(references.words("compiled")),
        "model": {"name": situation.model, "temperature": 0.0},
        "thresholds": {"samples": 1, "threshold": 1},
        "gold": {"name": "labels", "source": "labels.csv", "train": 80, "dev": 40, "test": GROUPS},
        "optimizer": {"name": "race", "candidates": 12},
        "tokens_per_row": {"basic": {"input": 100, "output": 0}, "compiled": {"input": 1200, "output": 0}},
        "spend": {"calls": 10, "tokens": 100, "cost": 0.0},
    }
    state = PromptState.of(FECT.basic())
    records = {"proof.jsonl": proof_lines(basic, compiled)}
    artifact = Store("compiled").save(FECT, state, card, [], make_latest=False, records=records)
    return ArtifactReport(
        artifact=artifact,
        judge=FECT,
        store=Store("compiled"),
        gold=None,
        store_option=situation.store_option,
    ).document()


def all_text(document: Document) -> str:
    """Return every text of a report."""
    texts = [document.headline, *document.lead]
    for section in (*document.front, *document.sections):
        texts += [section.title, section.intro]
        for part in section.parts:
            if isinstance(part, Table):
                texts += [cell for row in part.rows for cell in row]
            else:
                texts.append(part if isinstance(part, str) else readable_text(repr(part)))
    return "\n".join(texts)


def check_commands(document: Document, store_option: str) -> None:
    """Check that each command of a report is complete, and looks into the store of the version."""
    commands = []
    for section in document.front:
        for part in section.parts:
            if isinstance(part, Table) and part.layout == "commands":
                commands += [row[1] for row in part.rows]
    assert commands
    for command in commands:
        program, *words = shlex.split(command)
        assert program == "jurist"
        assert build_parser().parse_args(words).command  # ends the test where something is missing
        assert store_option in command


@pytest.mark.parametrize("name", SITUATIONS)
def test_what_is_said_was_tested(name: str) -> None:
    situation = SITUATIONS[name]
    document = reported(situation)
    check_commands(document, situation.store_option)
    assert document.headline == situation.headline
    text = all_text(document)
    for line in situation.said:
        assert line in text
    for line in (*situation.never, *NEVER):
        assert line not in text


def test_the_report_of_a_generator_counts_documents_and_names_no_label() -> None:
    judge = find("haluagent")
    scale: Any = judge.answer.scale
    passing = CheckedItem("{}", tuple(Check(verdict="yes") for _ in scale.checks))
    failing = CheckedItem("{}", tuple(Check(verdict="no") for _ in scale.checks))
    right, wrong = (passing,) * scale.items, (failing,) * scale.items
    values = [wrong if number < 4 else right for number in range(30)]
    answers = [
        JudgedRow(id=f"c{number}", group=f"g{number}", gold=(scale.expected,), predicted=(value,))
        for number, value in enumerate(values)
    ]
    proof = prove_improvement(answers, answers, judge.metric, judge.comparison)
    lines = []
    for row in answers:
        told = {
            "status": "verdict",
            "values": [scale.to_json(row.predicted[0])],
            "votes": [],
            "agreement": [None],
            "drawn": 1,
        }
        gold = [scale.to_json(scale.expected)]
        lines.append({"case": row.id, "group": row.group, "gold": gold, "basic": told, "compiled": told})
    card: dict[str, Any] = {
        **proof.to_card(),
        "created": "2026-01-01T00:00:00Z",
        "model": {"name": "offline", "temperature": 0.0},
        "gold": {"name": "documents", "train": 12, "dev": 6, "test": 30},
        "optimizer": {"name": "race", "candidates": 12},
        "spend": {"calls": 10, "tokens": 100, "cost": 0.0},
    }
    artifact = Store("compiled").save(
        judge, PromptState.of(judge.basic()), card, [], make_latest=False, records={"proof.jsonl": lines}
    )
    text = all_text(
        ArtifactReport(artifact=artifact, judge=judge, store=Store("compiled"), gold=None).document()
    )
    assert "of 30 documents, all items of 26 pass all checks." in text
    assert "30 sealed documents" in text
    assert not re.search(r"\bof 0\b|labelled *$|judged ,", text, re.MULTILINE)
    for line in ("of 0 units", "no answer, labelled", "units corrected", *USE, *NEVER):
        assert line not in text


@pytest.mark.parametrize("optimizer", ["race", "teach", "cfaith"])
@pytest.mark.parametrize("name", ["fect", "haluagent"])
def test_where_nothing_better_was_found_the_report_names_whole_commands(name: str, optimizer: str) -> None:
    judge = find(name)
    card: dict[str, Any] = {
        "created": "2026-01-01T00:00:00Z",
        "decision": {"verdict": NOTHING_BETTER},
        "model": {"name": "offline", "temperature": 0.0},
        "gold": {"name": "labels", "source": "labels.csv", "train": 12, "dev": 6, "test": 30},
        "optimizer": {"name": optimizer, "candidates": 3},
    }
    artifact = Store("kept").save(judge, PromptState.of(judge.basic()), card, [], make_latest=False)
    report = ArtifactReport(
        artifact=artifact, judge=judge, store=Store("kept"), gold=None, store_option=" --store kept"
    )
    document = report.document()
    check_commands(document, " --store kept")
    text = all_text(document)
    assert f"jurist compile {name} --gold labels.csv --max-calls 8000" in text
    assert f"--optimizer {optimizer} " not in text


def test_a_score_of_answered_units_alone_is_called_that() -> None:
    whole = ScoreCard(value=0.9, low=0.8, high=1.0, worst=0.9, best=0.9)
    partial = ScoreCard(value=0.9, low=0.8, high=1.0, worst=0.6, best=0.93)
    assert standing_table("f1", {"a": {"f1": whole}}, {}, {}).columns[1].name == "f1 [95 % interval]"
    said = standing_table("f1", {"a": {"f1": whole}, "b": {"f1": partial}}, {}, {})
    assert said.columns[1].name == "f1 of answered units [95 % interval]"
    assert said.main_rows == (0,)


def test_compiled_stands_first_and_references_last() -> None:
    situation = SITUATIONS["better than basic, a constant and the references"]
    document = reported(situation)
    tables = [part for section in document.front for part in section.parts if isinstance(part, Table)]
    names = [row[0] for row in tables[0].rows]
    assert names[:2] == ["compiled", "basic"]
    assert all(":" in name for name in names[2:])
    assert tables[0].main_rows == (0,)


def test_each_of_several_criteria_has_its_own_verdict() -> None:
    figures = {
        "metric": "f1",
        "basic": 0.5,
        "compiled": 0.5,
        "difference": 0.0,
        "low": 0.0,
        "high": 0.0,
        "units": 9,
    }
    verdicts = {"tone": "", "commits": "better", "supported": "worse"}
    criteria = {name: CriterionCard(**figures, shown=shown) for name, shown in verdicts.items()}
    said = "by criterion: tone not shown to differ, commits better, supported worse"
    assert criteria_words(DecisionCard(criteria=criteria)) == said
    assert criteria_words(DecisionCard()) == ""
