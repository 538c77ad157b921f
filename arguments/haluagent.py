"""What ``generate haluagent`` takes."""

from collections.abc import Mapping
from typing import ClassVar

from .command import Command
from .generate import ItemsOptions
from .groups import Printed, allowed, whole
from .options import option, positional


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


class PeopleOptions(Printed):
    benchmark: str = positional("FOLDER", help="what jurist generate haluagent --sample N wrote")
    people: str = option(
        "--people",
        required=True,
        metavar="FOLDER",
        help="the labelled sheets as jurist gold import writes them: answer-check.jsonl, hallucination-check.jsonl "
        "and label-check.jsonl",
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
PEOPLE = Command(
    name="table haluagent-2",
    does="haluagent.people",
    options=PeopleOptions,
    help="""\
C-FAITH's Table 2: how often people call items right, with and without verification, of the sample of a benchmark, with
intervals by document, and Krippendorff's alpha of the raters.
""",
    examples="""\
examples:
  jurist generate haluagent --input docs/ --output bench/ --sample 300
  jurist gold sheet answer-check bench/check/answer-check.jsonl --output ann.csv --rater ann
  jurist gold import answer-check ann.csv bea.csv cid.csv --output people/answer-check.jsonl --merge majority
  jurist table haluagent-2 bench/ --people people/

The sample holds as many items that passed as items that did not; without verification each counts by how many of its
kind were written. An item is right if people say yes to all three questions.
""",
)
