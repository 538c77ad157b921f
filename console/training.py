"""``jurist training``."""

from __future__ import annotations

from argparse import Namespace

from rich.text import Text

from ..errors import GoldError
from ..exports.training import LEAST_EXAMPLES, Selection, make_training
from ..gold.goldset import Gold
from ..gold.writing import json_text
from ..keeping.loading import load_judge
from .common import human, print_json, progress, shares_of, store_of, write_text

__all__ = ["run"]


def run(arguments: Namespace) -> None:
    """Write a training file, and say what is in it and what is not."""
    loaded = load_judge(arguments.judge, store=store_of(arguments))
    chosen = Selection(
        part=arguments.part,
        seed=arguments.seed,
        shares=shares_of(arguments.split),
        max_tokens=arguments.max_tokens,
    )
    gold = Gold.load(arguments.input, loaded.judge)
    with progress(len(gold.cases), f"writing examples for {loaded.name}") as bar:
        made = make_training(loaded, gold.cases, chosen, on_case=lambda: bar.advance(bar.task_ids[0]))
    found = made.to_json()
    if gold.skipped:  # gold without any label is left out when it is read
        left_out = {**made.left_out, "unlabelled": made.left_out.get("unlabelled", 0) + gold.skipped}
        found["left_out"] = dict(sorted(left_out.items()))
    left = ", ".join(f"{count} {reason}" for reason, count in found["left_out"].items()) or "none"
    if not made.examples:
        raise GoldError(
            f"no example is left of {len(gold.cases) + gold.skipped} rows ({left})",
            path=arguments.input,
            hint="use --part all, a higher --max-tokens, or more rows",
        )
    write_text("".join(json_text(one.line) + "\n" for one in made.examples), arguments.output)
    if arguments.json and arguments.output != "-":
        print_json({"judge": loaded.name, "output": arguments.output, "part": arguments.part, **found})
    tokens, labels = found["tokens"], ", ".join(f"{n} {name}" for name, n in found["labels"].items())
    console = human()
    parts = (
        f"{found['examples']} examples of {found['groups']} groups ({arguments.part})",
        f"{labels}",
        f"about {tokens['total']} tokens, {tokens['smallest']} to {tokens['largest']} an example",
        f"rows left out: {left}",
    )
    console.print(Text(f"{loaded.name}: " + "; ".join(parts)))
    if len(made.examples) < LEAST_EXAMPLES:
        console.print(Text(f"OpenAI's fine-tuning takes {LEAST_EXAMPLES} examples or more"))
    if arguments.part == "all":
        console.print(Text("nothing is held back: score the tuned model on rows that are not in this file"))
