"""What ``evaluate``, ``evaluate harden``, ``compare`` and ``gate`` take."""

import argparse
from typing import Any

from .groups import (
    AskedOptions,
    Checkpoints,
    Common,
    Details,
    Form,
    GoldOptions,
    JudgeOptions,
    Limits,
    ModelsOptions,
    PanelOptions,
    SamplingOptions,
    ScoringOptions,
    allowed,
    asked_judge,
    positive_integer,
)
from .options import Options, file_name, flag, option, positional, repeated


def column_option() -> Any:
    """Return the field of the column by whose values rows are scored."""
    return option("COLUMN", "score the rows with each value of this column, too, such as a language", "")


class CompareOptions(
    ModelsOptions,
    PanelOptions,
    ScoringOptions,
    Details,
    command="compare",
    does="scoring.compare_command",
    helps={"calls": "hard limit on calls, over all judges and models"},
):
    """Score several judges on the same rows: judges x models x repeats, with 95 % intervals over rows and
    over repeats, self-consistency, and paired tests of the first judge against each other one, corrected together
    (Holm).

    examples:
      jurist compare fect fect:basic --gold labels.csv
      jurist compare fect:basic fect@2 --gold labels.csv --repeats 10 --json
      jurist compare fect:basic fect@2 --gold labels.csv --by language
      jurist compare fect:basic fect --gold labels.csv --repeats 10 \\
        --model {LARGER_MODEL} --model {MODEL} --max-cost 5 --yes --output result.json

    jurist leaves out rows that one of the judges was compiled on, and counts them. The tests compare whole groups, such
    as conversations.
    """

    judges: tuple[str, ...] = positional(
        "JUDGE[@VERSION]|JUDGE:basic",
        "judges, versions and variants with the same labels; each is asked with each model",
        nargs="+",
    )
    repeats: int = option("N", "ask everything N times, with other draws", 1, type=positive_integer)
    by: str = column_option()


class CascadeOptions(
    ModelsOptions,
    ScoringOptions,
    Details,
    command="cascade",
    does="scoring.cascade_command",
    helps={"calls": "hard limit on calls, over all judges"},
):
    """Let a cheap judge answer easy rows, a costly one the harder ones: jurist learns on gold how sure is enough, so
    that the answers agree with people often enough. Rows of which no judge is sure are left to people.

    examples:
      jurist cascade may-send@1 may-send@2 --gold labels.csv --agree 0.9 --risk 0.1
      jurist cascade may-send:basic may-send@2 --model {MODEL} --model {LARGER_MODEL} --gold labels.csv
      jurist cascade may-send@1 recorded:production.csv --gold labels.csv      # what would it save?

    One --model is for all judges; several are for the judges in their order. Without any, jurist asks a version with
    the model of its proof.
    The cascade becomes the next version of the last judge: run, serve, evaluate and gate take it as any other. Rows of
    which no judge is sure are abstained: label them with jurist review. A log cannot answer new rows, so no version is
    kept then.
    """

    judges: tuple[str, ...] = positional(
        "JUDGE[@VERSION]|JUDGE:basic|recorded:FILE", "in the order in which they are asked", nargs="+"
    )
    agree: float = option(
        "SHARE", "the share of answered rows on which people must agree with the answer", 0.9
    )
    risk: float = option("SHARE", "the highest probability of missing that share", 0.1)


class EvaluateOptions(
    AskedOptions, ScoringOptions, Details, command="evaluate JUDGE", does="scoring.evaluate_command"
):
    """Score one judge on labelled rows: every metric with its 95 % interval, and the share without an answer. --verbose
    adds each class and the worst disagreements. jurist leaves out rows that the judge was compiled on, and counts them.

    examples:
      jurist evaluate fect:basic --gold fect-mini
      jurist evaluate fect@2 --gold labels.csv --verbose
      jurist evaluate fect:basic --gold labels.csv --by language
      jurist evaluate fect:basic --gold labels.csv --model {MODEL} --max-calls 500 --json
    """

    judge: str = asked_judge()
    by: str = column_option()


def _parse_limit(text: str) -> tuple[str, float]:
    """Return the metric and the value of a limit such as ``f1=0.8``."""
    metric, _, value = text.partition("=")
    try:
        return metric.strip(), float(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} has no number: write METRIC=NUMBER, as f1=0.8") from error


class CriteriaOptions(Options, group=True):
    """The criteria of a gate beside the limits of metrics."""

    sure: bool = flag("not only the value but the worse end of the 95 %% interval must pass --min and --max")
    margin: float | None = option(
        "M",
        "with --not-worse-than: how much worse it may be; the interval must show that it is not worse by more "
        "(default: 0.05, of errors 0.05 of their range)",
    )
    max_unusable: float = allowed(
        0.05, "largest share of units without an answer, and of rows of the gold that are set aside"
    )
    at_least: int = option(
        "N",
        "labelled units that must be left once rows are left out, in six groups or more",
        20,
        type=positive_integer,
    )


class GateOptions(
    CriteriaOptions, AskedOptions, ScoringOptions, Details, command="gate", does="scoring.gate_command"
):
    """Pass or fail a judge in CI: limits of its metrics on gold, and not worse than another version in a paired test.

    examples:
      jurist gate fect --gold labels.csv --min f1=0.8 --not-worse-than @prod
      jurist gate fect@3 --gold labels.csv --min f1=0.75 --sure --markdown >> $GITHUB_STEP_SUMMARY
      jurist gate fect@3 --gold labels.csv --min f1=0.75 --junit gate.xml
      jurist gate reply-score --gold labels.csv --max mae=0.5

    Exit code 0 if every check holds, 3 if one fails, 1 if the rows cannot tell or the gate could not run. jurist leaves
    out rows that the judge was compiled on, and near copies of them. The rows cannot tell with fewer than 20 units or 6
    groups, or fewer than 5 units of a class that a limited metric (F1, balanced accuracy) is of.
    In pytest: jurist.assert_judge.
    """

    judge: str = asked_judge("judge to check")
    minimum: tuple[tuple[str, float], ...] = repeated(
        "--min METRIC=VALUE", "the lowest value that passes", type=_parse_limit
    )
    maximum: tuple[tuple[str, float], ...] = repeated(
        "--max METRIC=VALUE", "the highest value that passes, for errors such as mae", type=_parse_limit
    )
    not_worse_than: str | None = option(
        "@TAG|JUDGE@V", "pass only if the judge is shown to be worse than this one by no more than --margin"
    )
    junit: str | None = option(
        "FILE", "write a JUnit XML report, which CI systems show: a test case for each check", type=file_name
    )


class HardenOptions(AskedOptions, ScoringOptions, command="evaluate harden", does="scoring.harden_command"):
    """Attack a judge: how often its answer changes when the judged text forges verdicts, roles, delimiters and fields
    or gives instructions, and under probes for biases (length, position, formatting, authority, self-praise), in
    English and Chinese. The flip rates, each with a 95 % interval, are kept beside the card of the artifact.

    examples:
      jurist evaluate harden fect:basic --gold fect-mini
      jurist evaluate harden fect@2 --gold labels.csv --cases 300 --only instruction --only role

    jurist asks every case twice as it is, and once for each change. It leaves out rows that the judge was compiled on,
    and compares no labels, so no sealed test is opened.
    """

    judge: str = asked_judge("judge to attack")
    cases: int = option("N", "attack N cases at most, evenly spread", 100, type=positive_integer)
    field: str = option("INPUT", "the input to attack (default: the judged one)", "")
    only: tuple[str, ...] = repeated("NAME", "one attack or probe in its languages, such as fake-verdict")


class DetectorOptions(
    SamplingOptions,
    GoldOptions,
    ModelsOptions,
    JudgeOptions,
    Limits,
    Checkpoints,
    Common,
    command="table cognibench-3",
    does="scoring.detectors_command",
    helps={"gold": "labelled responses", "calls": "hard limit on calls, over all lines and models"},
):
    """CogniBench's Table 3 on any gold: detectors of hallucinated sentences side by side, factual, cognitive, their
    macro average and overall, by sentences and by words, with 95 % intervals clustered by dialogue or document, and
    paired tests against the first.

    examples:
      jurist table cognibench-3 --gold cognibench-mini
      jurist table cognibench-3 --gold labels.jsonl --detector cognibench --detector detector:basic \\
        --detector recorded:verdicts.jsonl
      jurist table cognibench-3 --gold labels.jsonl --detector cognibench:basic --model {LARGER_MODEL} --samples 5 --yes

    A sentence's gold label gives its kind; it is detected if it gets any hallucinated label. jurist leaves out, for all
    detectors, responses that one of them was compiled on.
    """

    detectors: tuple[str, ...] = repeated(
        "--detector JUDGE[@VERSION]|recorded:FILE",
        "a judge of responses, version or variant, or the verdicts of any detector; the first is tested against "
        "the others (default: cognibench:basic and detector:basic)",
    )


class StatisticsOptions(
    GoldOptions,
    Form,
    command="table cognibench-2",
    does="tables.statistics_command",
    helps={"gold": "responses, labelled or not: a bundled name, a file, a folder, hf:org/name"},
):
    """CogniBench's Table 2 and Figures 5 to 7 and 11 on any responses: words, labels, topics, and by turn and place in
    the response how many sentences of each type there are and how many of them are hallucinated.

    examples:
      jurist table cognibench-2 --gold cognibench-mini
      jurist run cognibench --input dialogues.jsonl --output labels.jsonl --samples 5
      jurist table cognibench-2 --gold dialogues.jsonl --labels recorded:labels.jsonl --json

    jurist asks no model.
    """

    verdicts: str | None = option(
        "--labels recorded:FILE",
        "count these verdicts of a judge on the same responses (default: the labels of gold)",
    )
    output: str | None = option("F.json", "keep the JSON object in this file, too")


class DeviationOptions(
    GoldOptions,
    Form,
    command="table faithqa-3",
    does="tables.deviations_command",
    helps={"gold": "responses with scores of people: a bundled name, a file, a folder, hf:org/name"},
):
    """FAITHQA's Figure 3 in numbers: how far scores of judges lie from those of people, mean, standard deviation, mean
    squared error, and the density of the deviations.

    examples:
      jurist run constraint-score:basic --input faithqa-mini --output scores.jsonl
      jurist run intent-baseline:basic --input faithqa-mini --output ratings.jsonl
      jurist table faithqa-3 --gold faithqa-mini --scores recorded:scores.jsonl --scores recorded:ratings.jsonl

    jurist asks no model.
    """

    scores: tuple[str, ...] = repeated(
        "--scores recorded:FILE", "scores of a judge on these responses", required=True
    )
    output: str | None = option("F.json", "keep the JSON object in this file, too")
