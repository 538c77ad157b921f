"""What ``judges``, ``new`` and ``export`` with its action take."""

from typing import Literal

from .groups import (
    Common,
    CompiledVerifiers,
    Form,
    LanguageOption,
    Printed,
    Rule,
    SplitOptions,
    asked_judge,
    column_pair,
    pair,
    raters_option,
)
from .names import list_module_names
from .options import choice, option, positional, repeated


class ExportOptions(
    LanguageOption, CompiledVerifiers, Printed, command="export JUDGE", does="catalogue.export_command"
):
    """Write a judge's prompt for another system.

    examples:
      jurist export fect --to messages --output fect.json
      jurist export cognibench@1 --to markdown
      jurist export haluagent@1 --to markdown --verifier label-check@2
    """

    judge: str = asked_judge()
    target: str = option(
        "--to FORMAT",
        f"the target, as in docs/exports.md: {', '.join(list_module_names('exports.targets'))}; FILE.py:NAME, or the "
        "name that an installed package brings",
    )
    output: str | None = option("F", "the file to write (default: standard output)")


class JudgesOptions(Form, command="judges", does="judges.list_judges"):
    """List the built-in judges."""


class NewOptions(Form, command="new", does="catalogue.new_judge"):
    """Make a judge of a prompt that you have: text, or messages in JSON. Its variables
    become the inputs, its text the instruction; the file is yours to read and change. With --gold the file
    also keeps how to read your labels: which column holds which input, the label and the group, and what labels mean.

    examples:
      jurist new may-answer --from prompt.md --gold labels.csv
      jurist new may-answer --from prompt.md --gold labels.csv --column Verdict=label --column Chat=group
      jurist new may-answer --from prompt.md --gold labels.csv --raters 'label_*'
      jurist new may-answer --from prompt.md --labels yes,no --positive no
      jurist new helpful --from prompt.md --score 1-5
      jurist new better --from pair.md --prefer reply_a,reply_b
      jurist compile may_answer.py:judge --gold labels.csv
      jurist compare may-answer may-answer:basic --gold labels.csv      # against the prompt that you had
      jurist export may-answer --to messages
    """

    name: str = positional("NAME", "name of the judge: lower-case letters, digits and hyphens")
    source: str = option("--from PROMPT", "the prompt file")
    labels: str | None = option(
        "A,B", "the labels that it answers with, with commas between", exclusive="asked"
    )
    score: str | None = option(
        "LOW-HIGH", "it answers with a number: 1-5 is whole, 0.0-1.0 is not", exclusive="asked"
    )
    prefer: str | None = option("A,B", "it says which of these two inputs is better", exclusive="asked")
    positive: str = option(
        "B", "the positive class (default: the last of two labels; with three or more there is none)", ""
    )
    gold: str | None = option(
        "LABELLED", "labelled rows that the judge is made for: a file, a folder, hf:..."
    )
    columns: tuple[tuple[str, str], ...] = repeated(
        "--column THEIRS=OURS",
        "a column of --gold is this input, the label or the group, as answer=reply or Verdict=label",
        type=column_pair,
    )
    names: tuple[tuple[str, str], ...] = repeated(
        "--map THEIRS=OURS",
        "a label of --gold means this label; with nothing after =, its rows are skipped",
        type=pair,
    )
    raters: tuple[str, ...] = raters_option(
        "columns of --gold with the labels of one rater each, with commas between, or a pattern as 'label_*' "
        "(default: found by their names)"
    )
    merge: Rule | None = choice(
        "the rule that merges the labels of raters, kept in the file (default: majority, and of scores mean)"
    )
    rejects: str | None = option(
        "F.jsonl",
        "set rows of --gold that cannot be used aside in this file, with the reasons (default: count them, and refuse "
        "a file with rows that cannot be read)",
    )
    unit: str = option("INPUT", "the input that is judged (default: the last one)", "")
    output: str | None = option("F.py", "the file to write (default: NAME.py)")


class TrainingOptions(
    SplitOptions,
    Common,
    command="export training",
    does="catalogue.write_training",
    helps={"seed": "seed of the split (default: 0)"},
):
    """Write a training file for fine-tuning a judge: labelled rows as chat messages, one JSON line each.

    Each line holds the messages that the judge itself would send for a row, and the reply that says its labels.
    OpenAI's fine-tuning and TRL's SFTTrainer take the file as it is. Only groups of the train part of the split are in
    it, so that what "jurist compile" with the same seed and shares tests on is never trained on.

    examples:
      jurist export training --input cognibench-mini --output train.jsonl
      jurist export training --input cognibench-l.jsonl --output dev.jsonl --part dev
      jurist export training --input labels.csv --judge fect:basic --output train.jsonl --part all

    docs/finetune.md has the next steps: a fine-tuning script, and how to run the judge with the tuned model.
    """

    input: str = option("LABELLED", "labelled rows: a bundled name, a file, a folder, hf:...")
    output: str = option("F.jsonl", "the file; - is standard output")
    judge: str = option("JUDGE[@VERSION]", "whose prompt and reply; it must ask once", "detector:basic")
    part: Literal["train", "dev", "all"] = choice(
        "groups to take: train (default), dev for a validation file, or all, which holds nothing back",
        "train",
    )
