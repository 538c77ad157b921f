"""What ``artifacts`` with its actions and ``report`` take."""

from .groups import Details, Limits, Prices, Printed, Resume, Transport, gold_option, nonempty_name
from .options import file_name, flag, option, positional


def step_file(text: str) -> tuple[str, str]:
    """Return the step and the file of ``STEP=FILE``; of ``FILE`` alone the step is empty."""
    step, equals, file = text.partition("=")
    if not equals:
        return "", file_name(text)
    return step, file_name(file)


class ListOptions(Printed, command="artifacts list", does="listing.list_artifacts"):
    """List all versions, or those of a judge: origin, method and decision of each."""

    judge: str | None = positional("JUDGE", "default: all of them", nargs="?")
    shipped: bool = flag("those that come with jurist: the same as --store shipped")


class ShowOptions(Printed, command="artifacts show", does="artifacts.show_artifact"):
    """Show one version: prompt, scores, decision, origin.

    examples:
      jurist artifacts show fect
      jurist artifacts show fect@2 --history
      jurist artifacts show haluagent --rounds
    """

    artifact: str = positional("JUDGE[@VERSION]")
    history: bool = flag("every candidate that was tried", exclusive="part")
    rounds: bool = flag(
        "the best prompt of each round on dev, and the rate of each check of a generator (C-FAITH Table 3)",
        exclusive="part",
    )


class AddOptions(Printed, command="artifacts add", does="artifacts.add_written"):
    """Keep instructions that you wrote as the next version of a judge or generator. It is unproven, and does not
    become the latest: jurist evaluate and compare measure it, and jurist compile --start searches on from it.

    examples:
      jurist artifacts add fect --instruction my-prompt.txt --note "as our annotators are told"
      jurist artifacts add haluagent --instruction question=question.txt --instruction label=types.txt
    """

    judge: str = positional("JUDGE", "a judge or generator, by name or as FILE.py:judge")
    instruction: tuple[tuple[str, str], ...] = option(
        "[STEP=]FILE",
        "a text file with the instruction; of a judge of several steps, of this one (repeatable)",
        (),
        action="append",
        type=step_file,
    )
    note: str = option("TEXT", "a line on where it comes from, for the card", "")


class IndexOptions(Printed, command="artifacts index", does="store_index.index_artifacts"):
    """Write a Markdown page that lists the versions of a store, each with the link to its card: for a store in git.

    examples:
      jurist artifacts index -o compiled/README.md
    """

    output: str | None = option(
        "-o --output F.md", "write the page to a file (default: print it)", type=file_name
    )


class DiffOptions(Printed, command="artifacts diff", does="artifacts.diff_prompts"):
    """Show what changed from one prompt to another.

    examples:
      jurist artifacts diff fect:basic fect@2
    """

    first: str = positional("JUDGE[@VERSION]|JUDGE:basic")
    second: str = positional("JUDGE[@VERSION]|JUDGE:basic")


class TagOptions(Printed, command="artifacts tag", does="artifacts.tag_version"):
    """Give a version a name. The tag latest lets JUDGE alone mean it, with the model that it was proven with.

    examples:
      jurist artifacts tag fect@2 prod
      jurist artifacts tag fect@1 latest
    """

    artifact: str = positional("JUDGE@VERSION")
    tag: str = positional("TAG")


class CopyOptions(Printed, command="artifacts copy", does="artifacts.copy_version"):
    """Copy a version to another store, byte by byte, with all that it needs: the versions that it was made from or
    that verify for it, and the Python files of judges with code, which go beside that store. Their names go with them,
    latest too, unless that store uses a name for another version. jurist refuses a damaged version.

    examples:
      jurist artifacts copy fect@2 --to ../service/compiled
      jurist gate fect@2 --gold gate.csv --min f1=0.8 --store ../service/compiled
    """

    artifact: str = positional("JUDGE@VERSION")
    to: str = option("DIR", "the store to copy to", type=nonempty_name)


class ForgetOptions(Printed, command="artifacts forget", does="artifacts.forget_rows"):
    """Withdraw labelled rows from a version: the new version lacks their demonstrations, remembered rows and rules.
    jurist fits words that decide alone, and heads on questions, again without them. The new version is unproven until
    you run jurist prove, and does not become the latest.

    examples:
      jurist artifacts forget fect@2 9c1f0c93ab77de01
    """

    artifact: str = positional("JUDGE@VERSION")
    rows: tuple[str, ...] = positional("ROW", "ids of rows it was compiled on", nargs="+")


class VerifyOptions(Printed, command="artifacts verify", does="artifacts.verify_artifacts"):
    """Find any changed byte."""

    artifact: str | None = positional("JUDGE[@VERSION]", "default: all of them", nargs="?")


class RememberOptions(
    Prices,
    Transport,
    Limits,
    Resume,
    Printed,
    Details,
    command="artifacts remember",
    does="compile.remember_rows",
):
    """Give a version more labelled rows to show beside rows like them, without a search: a new version, held against
    the basic prompt and the version before on the same sealed test. Rows of that test, or near one of them, are left
    out. A row that it remembers already takes its new label.

    examples:
      jurist artifacts remember fect@2 new-labels.csv
      jurist compare fect@2 fect@3 --gold other-labels.csv

    The model, its settings and the split are those on the card. Only keys come from the environment.
    With a real model you are asked before more than 1000 calls or 1 USD, or pass --yes.
    """

    artifact: str = positional("JUDGE@VERSION")
    labels: str = positional("F", "labelled rows, with the columns of the gold set it was compiled on")
    gold: str | None = gold_option("the gold set it was compiled on (default: as named on the card)")
    api_base: str | None = option("URL", "address of the model (default: the card's)")
    margin: float | None = option(
        "M",
        "how much worse than the version before it may be to be made the latest (default: 0.05, of errors 0.05 of "
        "their range)",
    )
    force: bool = flag("make it the latest version even if it is not shown to be better")


class RefitOptions(
    Prices, Transport, Limits, Resume, Printed, command="artifacts refit", does="refitting.refit_rows"
):
    """Choose and fit again on all labelled rows, once the sealed test of a version has decided: the next version. The
    basic prompt and the version's are asked about each row once, and a threshold, weights of labels, and words alone or
    with the replies are fitted to that. The new version is not tested itself. It has seen every row of its gold:
    evaluate, compare, gate and prove leave them out.

    examples:
      jurist artifacts refit fect@2
      jurist artifacts refit fect@2 --use
      jurist artifacts refit fect@2 --same

    The model, its settings and the split are those on the card.
    With a real model you are asked before more than 1000 calls or 1 USD, or pass --yes.
    """

    artifact: str = positional("JUDGE@VERSION")
    gold: str | None = gold_option("the gold set it was compiled on (default: as named on the card)")
    api_base: str | None = option("URL", "address of the model (default: the card's)")
    use: bool = flag("let JUDGE alone mean the new version, untested as it is, where it means this one now")
    same: bool = flag("fit the version's own parts again, and choose nothing else")


class ReportOptions(Printed, command="report", does="artifacts.report_command"):
    """Write one page about a compiled judge, a result or a run. The page shows whether compiling helped, the evidence
    for it, the changes of the prompt, and every case of the sealed test to search and read. For a result of evaluate or
    compare it shows the scores, for the output of a run each row with its verdict. It needs no network.

    examples:
      jurist report fect
      jurist report fect@2 -o report.html
      jurist report fect@2 --by language
      jurist evaluate fect:basic --gold labels.csv --by language --output result.json && jurist report result.json
      jurist run fect --input new.jsonl --output judged.jsonl && jurist report judged.jsonl
      jurist report may-send --gold labels.csv -o report.html
    """

    subject: str = positional(
        "JUDGE[@VERSION]|F.json|F.jsonl|F.csv",
        "a compiled judge, the --output of evaluate or compare, or the output of jurist run",
        type=nonempty_name,
    )
    output: str | None = option("F.html", "the file to write (default: named after its subject)")
    gold: str | None = gold_option(
        "the gold set it was proven on, for the inputs of the cases (default: as named on the card)"
    )
    by: str = option(
        "COLUMN", "score the sealed rows with each value of this column, too, such as a language", ""
    )
