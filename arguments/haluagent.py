"""What ``generate haluagent`` takes."""

from collections.abc import Mapping
from typing import ClassVar

from .command import Command
from .generate import ItemsOptions
from .groups import allowed, whole
from .options import option


class HaluAgentOptions(ItemsOptions):
    helps: ClassVar[Mapping[str, str]] = {
        **ItemsOptions.helps,
        "input": "rows with 'text' (or the authors' with 'knowledge'), a folder of .txt and .md, or haluagent-docs",
    }

    output: str = option("--output", required=True, metavar="FOLDER", help="the folder to write")
    generator: str = option(
        "--generator",
        "",
        metavar="NAME[@V]",
        help="who writes, such as haluagent@1 or haluagent-zh:basic, with Chinese instructions "
        "(default: the latest compiled haluagent, else haluagent:basic)",
    )
    sample: int = option(
        "--sample",
        0,
        metavar="N",
        help="write N items that passed and N that did not for people to check (default: none)",
    )
    limit: int | None = option("--limit", type=whole, metavar="N", help="the first N passages only")
    max_rejected: float = allowed(
        "--max-rejected", 1.0, "share of rejected and failed items above which the exit code is 3"
    )


HALUAGENT = Command(
    name="generate haluagent",
    does="haluagent.make",
    options=HaluAgentOptions,
    help="""\
Make a benchmark of hallucination from documents (HaluAgent): a question with its correct answer from each passage,
three hallucinated answers and their types, verified by three judges and by code, then aggregated into generative,
single-choice and true-or-false items.
""",
    examples="""\
examples:
  jurist generate haluagent --input haluagent-docs --output bench/
  jurist generate haluagent --input haluagent-docs --output bench/ --generator haluagent@1 --sample 20
  jurist generate haluagent --input docs/ --output bench/ --model openai/gpt-4.1-mini --judge-model openai/gpt-4.1

FOLDER gets benchmark.jsonl (all formats; jurist assess takes it), generative_qa.jsonl and single_choice_qa.jsonl in the
authors' format, verified.jsonl, rejects with their reasons, and CARD.json with acceptance rates. The default model,
"offline", leaves figures out of sentences. It is a text-overlap scorer, not an LLM. After Ctrl-C, a limit or a crash,
--resume continues, pays nothing twice, and ends in the same files.
""",
)
