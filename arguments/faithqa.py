"""What ``generate faithqa`` takes."""

from collections.abc import Mapping
from typing import ClassVar

from .command import Command
from .generate import ItemsOptions
from .groups import whole
from .options import option


class BenchmarkOptions(ItemsOptions):
    helps: ClassVar[Mapping[str, str]] = {
        **ItemsOptions.helps,
        "input": "concepts and articles: rows with 'text' and 'topic', a folder of .txt and .md, or faithqa-documents",
    }

    size: int = option("--size", 40, type=whole, metavar="N", help="how many queries (default: 40)")
    tasks: str | None = option(
        "--tasks",
        metavar="A,B",
        help="of fact, story, poem, evaluation, relationship, summary (default: all, as in the paper's Table 1)",
    )
    generator: str = option(
        "--generator",
        "faithqa:basic",
        metavar="GENERATOR[@V]",
        help="who writes: a compiled version, or the basic prompts (default)",
    )
    attempts: int = option(
        "--attempts", 3, type=whole, metavar="N", help="how often one query may be written (default: 3)"
    )


BENCHMARK = Command(
    name="generate faithqa",
    does="faithqa.generate",
    options=BenchmarkOptions,
    help="""\
Build a benchmark of intent hallucination (FAITHQA, section 5): queries about facts and for creative writing with easy
(up to 4) and hard (more) sets of conditions, and queries for evaluation and analysis of which exactly one part is
removed. Every query is verified to be answerable, or not, by a verifier that no optimizer tunes, and mapped to its
constraints; what fails goes to F.rejects.jsonl with its reasons.
""",
    examples="""\
examples:
  jurist generate faithqa --input faithqa-documents --output benchmark.jsonl
  jurist generate faithqa --input docs.jsonl --output benchmark.jsonl --size 20000 --tasks fact,poem
  jurist generate faithqa --input docs/ --output b.jsonl --model openai/gpt-4.1-mini --judge-model openai/gpt-4.1 \\
    --max-cost 5

With a real model, the calls, tokens and cost to be expected are printed first; above 1000 calls or 1 USD you are asked.
The default model, "offline", fills set phrases. It is a text-overlap scorer, not an LLM. After Ctrl-C, a limit or a
crash, --resume continues, pays nothing twice, and ends in the same file.
""",
)
