"""``jurist training``."""

from ..arguments.table import TrainingOptions
from ..errors import GoldError
from ..exports.training import LEAST_EXAMPLES, Selection, make_training
from ..gold.goldset import Gold
from ..gold.writing import json_text
from ..keeping.loading import load_judge
from .common import progress, shares_of, store_of, write_text
from .printing import Result, remark


def run(options: TrainingOptions) -> Result:
    """Write a training file, and say what is in it and what is not."""
    loaded = load_judge(
        options.judge, store=store_of(options)
    )  # the prompt of the latest, whichever it is for
    if loaded.standing:
        remark(loaded.standing)
    chosen = Selection(
        part=options.part, seed=options.seed, shares=shares_of(options.split), max_tokens=options.max_tokens
    )
    gold = Gold.load(options.input, loaded.judge)
    with progress(len(gold.cases), f"writing examples for {loaded.name}") as step:
        made = make_training(loaded, gold, chosen, on_case=step)
    found = made.to_json()
    if gold.skipped:  # gold without any label is left out when it is read
        left_out = {**made.left_out, "unlabelled": made.left_out.get("unlabelled", 0) + gold.skipped}
        found["left_out"] = dict(sorted(left_out.items()))
    left = ", ".join(f"{count} {reason}" for reason, count in found["left_out"].items()) or "none"
    if not made.examples:
        raise GoldError(
            f"no example is left of {len(gold.cases) + gold.skipped} rows ({left})",
            path=options.input,
            hint="use --part all, a higher --max-tokens, or more rows",
        )
    write_text("".join(json_text(one.line) + "\n" for one in made.examples), options.output)
    tokens, labels = found["tokens"], ", ".join(f"{n} {name}" for name, n in found["labels"].items())
    parts = (
        f"{found['examples']} examples of {found['groups']} groups ({options.part})",
        f"{labels}",
        f"about {tokens['total']} tokens, {tokens['smallest']} to {tokens['largest']} an example",
        f"rows left out: {left}",
    )
    line = f"{loaded.name}: " + "; ".join(parts)
    notes = []
    if len(made.examples) < LEAST_EXAMPLES:
        notes.append(f"OpenAI's fine-tuning takes {LEAST_EXAMPLES} examples or more")
    if options.part == "all":
        notes.append("nothing is held back: score the tuned model on rows that are not in this file")
    if options.output == "-":  # standard output has the examples, and nothing else
        return Result(data={}, notes=[line, *notes])
    about = {"judge": loaded.name, "output": options.output, "part": options.part}
    return Result(data={**about, **found}, body=[line], notes=notes)
