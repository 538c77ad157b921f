"""The share of what a judge sends that each export target sends, too, under the target's own loader.

    PYTHONPATH=tests/helpers python benchmarks/targets.py

It needs jurist[targets], and promptfoo on the PATH as .ci/promptfoo has it. The rows are the traps of
``tests/helpers/parity.py`` for ``fect:basic``, a prompt that every target holds. Sent exactly:
the messages are equal, byte for byte. Neutralised: equal but for what the target would obey in a value, which was taken
out, or cuts by design. Held: the built-in judges whose basic prompt the target takes; the others it refuses.
"""

import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version

from parity import nasty_cases, parity, rows_of  # type: ignore[import-not-found]

from jurist.errors import UsageError
from jurist.exports import EXPORTERS, Exporter, Subject
from jurist.jobs.exporting import subject_of
from jurist.programs.catalogue import CATALOGUE, find
from jurist.programs.judge import Judge
from jurist.programs.state import PromptState
from jurist.report.render import render_markdown
from jurist.report.table import table

LOADERS = {
    "inspect": "inspect-ai",
    "phoenix": "arize-phoenix-evals",
    "python": "openai",
    **{name: name for name in ("mlflow", "autoevals", "pydantic-evals", "deepeval", "opik")},
}
"""Target -> the package that loads its files; promptfoo's is a program, and the others have none."""


def subject(judge: Judge) -> Subject:
    """Return the basic prompt of a judge."""
    return subject_of(PromptState.of(judge.basic()), judge)


def loaded_by(target: str) -> str:
    """Return the loader and its version; empty if nothing loads the target's files, or it is not here."""
    if target == "promptfoo" and (program := shutil.which("promptfoo")):
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        return f"promptfoo {said.split()[-1]}"
    try:
        return f"{LOADERS[target]} {version(LOADERS[target])}" if target in LOADERS else ""
    except PackageNotFoundError:
        return ""


def held(target: Exporter) -> int:
    """Return how many of the built-in judges' basic prompts a target holds."""
    count = 0
    for judge in CATALOGUE.values():
        try:
            target.render(subject(judge))
        except UsageError:
            continue
        count += 1
    return count


def line(target: Exporter, fect: Subject) -> list[str]:
    """Return a row of the table."""
    loader, judges = loaded_by(target.name), f"{held(target)} of {len(CATALOGUE)}"
    if target.name == "markdown" or (not loader and target.name != "messages"):
        return [target.name, loader or "-", "-", judges]
    rows = rows_of(fect, nasty_cases(fect.judge))
    different = parity(target.name, fect, rows)
    return [target.name, loader or "-", f"{len(rows) - len(different)} of {len(rows)}", judges]


def main() -> None:
    """Print the table."""
    fect = subject(find("fect"))
    columns = ["target", "loaded by", "rows sent exactly", "built-in judges held"]
    print(render_markdown(table("", columns, [line(one, fect) for one in EXPORTERS.values()])))


if __name__ == "__main__":
    main()
