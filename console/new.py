"""``jurist new``."""

from pathlib import Path
from tempfile import TemporaryDirectory

from ..arguments.new import NewOptions
from ..errors import UsageError
from ..exports.incoming import (
    Asked,
    IncomingPrompt,
    judge_source,
    labels_asked,
    preference_asked,
    read_prompt,
    score_asked,
)
from ..programs.catalogue import find
from .common import write_text
from .printing import Result


def run(options: NewOptions) -> Result:
    """Write the file of a judge, once a draft of it could be loaded as one."""
    prompt = read_prompt(Path(options.source))
    asked = _asked(options, prompt)
    text = judge_source(options.name, Path(options.source).name, prompt, asked, options.unit)
    output = Path(options.output or f"{options.name.replace('-', '_')}.py")
    if output.exists():
        raise UsageError(f"{output} exists", hint="name another file with --output, or remove it")
    with TemporaryDirectory() as folder:
        draft = Path(folder) / "judge.py"
        draft.write_text(text, "utf-8")
        judge = find(f"{draft}:judge")
    write_text(text, str(output))
    inputs = list(prompt.inputs)
    about = {
        "judge": judge.name,
        "output": str(output),
        "inputs": inputs,
        "labels": list(judge.answer.scale.choices),
    }
    return Result(
        data={**about, "answers": asked.words},
        body=[f"{judge.name} written to {output}: inputs {', '.join(inputs)}; {asked.words}"],
        notes=[
            f"next: jurist compile {output}:judge --gold GOLD, with a column for each input and "
            f"one for {judge.answer.field}"
        ],
    )


def _asked(options: NewOptions, prompt: IncomingPrompt) -> Asked:
    if options.labels is None and options.positive:
        raise UsageError("--positive needs --labels", hint="name the labels, or leave it out")
    if options.prefer is not None:
        return preference_asked(_listed(options.prefer), prompt.inputs)
    if options.score is not None:
        return score_asked(options.score)
    if options.labels is not None:
        return labels_asked(_listed(options.labels), _listed(options.positive))
    raise UsageError(
        "nothing says what it answers",
        hint="give --labels yes,no, --score 1-5, or --prefer with the two inputs that are compared",
    )


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
