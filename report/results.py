"""The report of a result of ``evaluate`` or ``compare``: scores, classes, disagreements and tests, from its JSON."""

from collections.abc import Iterable

from .by_column import column_section, scores_by_name
from .document import Document, Part, Section
from .plots import ScoreBar, forest_plot
from .proof_plots import reference_bars
from .scores import (
    OFFLINE_LINE,
    ResultData,
    class_table,
    confusion_table,
    differing_words,
    joint_spend_line,
    reference_tables,
    references_in,
    rows_words,
    scores_in,
    scores_table,
    spend_in,
    spend_line,
    warning_lines,
)
from .verdict import comparison_card, engine_words, evaluation_card
from .views import answer_table, comparison_scores, disagreement_tables, paired_test_tables

_EVALUATION = {"judge", "model", "gold", "metric", "scores", "classes", "disagreements", "counts", "spend"}
_COMPARISON = {"judges", "gold", "metric", "tests", "repeats", "cases"}


def is_result(data: object) -> bool:
    """Say whether JSON is the result of an evaluation or of a comparison."""
    return isinstance(data, dict) and (data.keys() >= _EVALUATION or data.keys() >= _COMPARISON)


def result_report(data: ResultData, origin: str = "") -> Document:
    """Return the report of a result; ``origin`` says where it is from, and may be empty."""
    about = rows_words(data)
    if origin:
        about += f"; from {origin}"
    if "judges" in data:
        return _comparison_report(data, about)
    return _evaluation_report(data, about)


def _evaluation_report(data: ResultData, about: str) -> Document:
    """Return the report of the scores of one judge."""
    judge = data["judge"]
    metric = data["metric"]
    card = evaluation_card(data, next_step="", is_full=True)
    score_parts: list[Part] = list(forest_plot(metric, _score_bars(data, {judge: data}), judge, "rows"))
    score_parts.append(scores_table("", {judge: scores_in(data["scores"])}, metric))
    score_parts += reference_tables(references_in(data.get("references")), metric, " on the same rows")
    class_parts: list[Part] = list(class_table("each class against the rest", data["classes"]))
    class_parts += confusion_table(judge, data["confusion"])
    cost: list[Part] = [spend_line(spend_in(data["spend"]))]
    if data["model"] == "offline":
        cost.append(OFFLINE_LINE)
    sections = [Section("scores", "Scores", score_parts)]
    sections += column_section(scores_by_name(data), judge)
    sections.append(Section("classes", "Classes", class_parts))
    sections.append(Section("disagreements", "Where it differs from people", disagreement_tables(data)))
    sections.append(Section("cost", "What it cost", cost))
    return Document(
        subject=judge,
        about=about,
        headline=f"{card.decision} ({engine_words(data['model'])})",
        tone=card.tone,
        lead=_sentences((differing_words(data), *warning_lines(data))),
        sections=sections,
    )


def _comparison_report(data: ResultData, about: str) -> Document:
    """Return the report of several judges on the same rows."""
    judges = data["judges"]
    metric = data["metric"]
    first = judges[0]["name"]
    card = comparison_card(data, [], "")
    judge_of_name = {judge["name"]: judge for judge in judges}
    score_parts: list[Part] = list(forest_plot(metric, _score_bars(data, judge_of_name), first, "rows"))
    score_parts += comparison_scores(data)
    score_parts += reference_tables(references_in(data.get("references")), metric, " on the same rows")
    lines = [test["words"] for test in data["tests"][1:]]
    lines += warning_lines(data, *data["tests"])
    cost: list[Part] = [answer_table(data), joint_spend_line([judge["spend"] for judge in judges])]
    if all(judge["model"] == "offline" for judge in judges):
        cost.append(OFFLINE_LINE)
    subject = f"{first} and others"
    if len(judges) < 3:
        subject = " and ".join(judge_of_name)
    sections = [Section("scores", "Scores", score_parts)]
    sections += column_section(scores_by_name(data), first)
    sections.append(Section("tests", "Paired tests", paired_test_tables(data)))
    sections.append(Section("cost", "Answers, and what they cost", cost))
    return Document(
        subject=subject,
        about=about,
        headline=card.decision,
        tone=card.tone,
        lead=_sentences(lines),
        sections=sections,
    )


def _sentences(lines: Iterable[str]) -> list[str]:
    """Return lines as sentences, with a capital and a full stop; empty lines are left out."""
    return [f"{line[0].upper()}{line[1:]}." for line in lines if line]


def _score_bars(data: ResultData, judges: ResultData) -> list[ScoreBar]:
    """Return the score of each judge, by the metric of the result, and of each reference, with its interval."""
    metric = data["metric"]
    bars: list[ScoreBar] = []
    for name, judge in judges.items():
        score = scores_in(judge["scores"])[metric]
        if score is not None:
            bars.append(
                ScoreBar(name=name, value=score.value, low=score.low, high=score.high, is_main=not bars)
            )
    return bars + reference_bars(references_in(data.get("references")))
