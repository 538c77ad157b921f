"""What ``generate`` with its kinds and ``assess`` take."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from .command import Command
from .groups import (
    Endpoint,
    ModelOptions,
    PaidOptions,
    StrictnessOptions,
    Transport,
    WritingOptions,
    allowed,
    name,
    whole,
)
from .options import flag, option, positional

_LIMIT = "never make one call more, all models together"


class GenerateOptions(ModelOptions, PaidOptions):
    """Of every kind of ``jurist generate``."""

    helps: ClassVar[Mapping[str, str]] = {
        "model": 'the generator: "offline" (default) or a DSPy model string',
        "temperature": "of the generator, 0 to 2 (default: 0.7)",
        "concurrency": "dialogues or rows in flight at once (default: 8)",
        "calls": _LIMIT,
    }

    input: str = option(
        required=True,
        metavar="DOCS|GOLD",
        help="rows with 'text', a folder of .txt and .md, or gold with references (cognibench-mini)",
    )
    turns: str = option("3", metavar="N|MIN-MAX", help="exchanges a dialogue")
    words: str = option(
        "40-200", metavar="MIN-MAX", help="length of every assistant turn; a Chinese character is a word"
    )
    topics: str | None = option(
        metavar="A,B", help="one dialogue for each document and topic (default: its title)"
    )
    language: Literal["auto", "en", "zh"] = option(
        "auto", help="refuse documents that are not in it (default: each document's own)"
    )
    per_document: int = option(1, help="dialogues for each document and topic")
    attempts: int = option(3, help="how often one turn may be asked for")
    max_rejected: float = allowed(
        0.5, "share of rejected and failed dialogues above which the exit code is 3"
    )


class LabellerOptions(StrictnessOptions, Transport, PaidOptions):
    """Who labels what models wrote."""

    judge: str | None = option(
        metavar="JUDGE[@VERSION]",
        help="who labels (default: the latest compiled cognibench, qa-conflict or satisfaction, as what is judged "
        "demands, else its basic prompt)",
    )
    judge_model: str = option(
        "offline", metavar="M", help='the judge\'s model: "offline" (default) or a model string'
    )
    judge_api_base: str | None = option(
        metavar="URL", help="address of an OpenAI-compatible server for the judge"
    )
    judge_temperature: float | None = option(
        metavar="T", help="of the judge (default: 0.7, or 0 for one sample)"
    )
    samples: int = option(5, metavar="K", help="independent judgements a response")
    threshold: int | None = option(metavar="T", help="votes for a hallucination (default: more than half)")


class ItemsOptions(WritingOptions):
    helps: ClassVar[Mapping[str, str]] = {
        "model": 'who writes: "offline" (default) or a DSPy model string',
        "temperature": "of the writers, 0 to 2 (default: 0 for one attempt, 0.7 for several)",
        "concurrency": "documents in flight at once (default: 8)",
        "calls": _LIMIT,
    }

    generator: str = positional(
        "NAME", help="a generator: NAME[@VERSION], NAME:basic, path/to/file.py:generator"
    )
    attempts: int = option(
        1, type=whole, help="how often a document may be tried until what is written passes"
    )


class DialogueOptions(GenerateOptions):
    output: str = option(required=True, metavar="F.jsonl", help="the file to write, a dialogue a line")


class DatasetOptions(LabellerOptions, GenerateOptions):
    output: str = option(required=True, metavar="FOLDER", help="the folder to write")
    plots: bool = flag(help="draw the figures into FOLDER/plots")


class AssessOptions(LabellerOptions, Endpoint):
    helps: ClassVar[Mapping[str, str]] = {
        "temperature": "of the models, 0 to 2 (default: 0.7)",
        "concurrency": "answers in flight at once (default: 8)",
        "calls": _LIMIT,
    }

    models: tuple[str, ...] = positional(
        "MODEL", nargs="+", help='"offline", or a DSPy model string; one row each'
    )
    benchmark: str = option(
        required=True,
        metavar="dialogues|FILE",
        help="what is asked: the bundled prompts, rows, or a benchmark of jurist generate haluagent or faithqa",
    )
    calibration: str | None = option(
        type=name,
        metavar="GOLD",
        help="gold to measure the judge on (default: cognibench-mini); rows its artifact has seen are left out",
    )
    fact_judge: str | None = option(
        metavar="JUDGE[@VERSION]",
        help="who checks the facts of hallucinated responses on a benchmark of jurist generate faithqa (default: the "
        "latest compiled fact-check, else fact-check:basic)",
    )
    limit: int | None = option(type=whole, help="the first N prompts only")
    words: str = option("40-200", metavar="MIN-MAX", help="length the models are asked for")
    unanswered: Literal["apart", "wrong"] = option(
        "apart",
        help="on a benchmark of jurist generate haluagent, replies without an answer are in no rate, or count as "
        "hallucinated, as in the paper; the other rates are printed too",
    )
    answers: str | None = option(metavar="F.jsonl", help="write the labelled answers too")
    output: str | None = option(metavar="F.json", help="write the JSON object to a file too")
    max_unusable: float = allowed(
        0.05, "share of prompts without a usable, labelled answer above which the exit code is 3"
    )


DIALOGUE = Command(
    name="generate dialogue",
    does="generate.dialogue",
    options=DialogueOptions,
    help="""\
Write conversations about documents, turn by turn: the user asks, the assistant answers from the document. Every turn
is checked (uses the document, length, language, one speaker, nothing twice, no copy of the whole document) and asked
again with the complaint; a dialogue that still fails goes to F.rejects.jsonl with its reasons.
""",
    examples="""\
examples:
  jurist generate dialogue --input cognibench-mini --output dialogues.jsonl
  jurist generate dialogue --input docs/ --output dialogues.jsonl
  jurist generate dialogue --input docs.jsonl --output d.jsonl --turns 2-5 --words 60-150 --topics history,economy
  jurist generate dialogue --input docs/ --output d.jsonl --model openai/gpt-4.1-mini --max-cost 2

Documents are rows with a field "text" (and "id", "title", "topic" if you like), a folder of .txt and .md files, or the
references of a gold set, such as the bundled cognibench-mini or the CogniBench authors' folder. With a real model, the
calls, tokens and cost to be expected are printed first; above 1000 calls or 1 USD you are asked. The default model,
"offline", copies sentences. It is a text-overlap scorer, not an LLM. After Ctrl-C, a limit or a crash, --resume
continues, pays nothing twice, and ends in the same file.
""",
)
ITEMS = Command(
    name="generate NAME",
    does="generate.items",
    options=ItemsOptions,
    help="""\
Write items from documents by any generator: those that pass every check go to the output, the others to
F.rejects.jsonl with their reasons. See docs/generators.md for a generator of your own.
""",
    examples="""\
examples:
  jurist generate quiz.py:generator:basic --input docs/ --output quiz.jsonl --model openai/gpt-4.1-mini
  jurist generate quiz --input docs.jsonl --output quiz.jsonl --attempts 3 --model openai/gpt-4.1-mini \\
    --judge-model openai/gpt-4.1 --max-cost 5

With a real model, the calls, tokens and cost to be expected are printed first; above 1000 calls or 1 USD you are asked.
After Ctrl-C, a limit or a crash, --resume continues, pays nothing twice, and ends in the same file.
""",
)
DATASET = Command(
    name="generate cognibench-l",
    does="generate.cognibench_l",
    options=DatasetOptions,
    help="""\
Make a labelled dataset of documents (CogniBench-L): dialogues, then a label for every sentence of every assistant
turn by a judge with several samples and a vote. Written in the authors' format and for load_dataset, with statistics
(Table 2) and dynamics (Figures 5 and 7).
""",
    examples="""\
examples:
  jurist generate cognibench-l --input cognibench-mini --output dataset/ --samples 1
  jurist generate cognibench-l --input docs/ --output dataset/
  jurist generate cognibench-l --input docs/ --output dataset/ --judge cognibench@2 --samples 5 --plots
  jurist generate cognibench-l --input docs.jsonl --output dataset/ --model openai/gpt-4.1-mini \\
    --judge-model openai/gpt-4.1 --max-cost 10

The labels are the judge's, not people's. Sentences on which it gives no usable answer stay unlabelled and are counted.
""",
)
ASSESS = Command(
    name="assess",
    does="assess.assess_",
    options=AssessOptions,
    help="""\
Let models answer about references, and label every sentence of their answers with a judge: shares of statement types
and rates of hallucination (CogniBench, Figure 8), as the judge found them, and corrected for its own sensitivity and
specificity, measured on gold that it was not compiled on.
""",
    examples="""\
examples:
  jurist assess offline --benchmark dialogues
  jurist assess openai/gpt-4.1-mini openai/gpt-4.1 --benchmark dialogues --judge cognibench@2 \\
    --judge-model openai/gpt-4.1 --calibration labels.jsonl --max-cost 5
  jurist assess openai/my-model --api-base http://localhost:8000/v1 --benchmark dialogues.jsonl --json

With a real model, the calls, tokens and cost to be expected are printed first; above 1000 calls or 1 USD you are asked.
A benchmark of jurist generate haluagent, or of C-FAITH's authors, is asked in its formats instead, zero-shot, and gives
hallucination rates (C-FAITH, Tables 5 and 6, Figure 5); the judge is then qa-conflict, the calibration its own gold.
One of jurist generate faithqa gives the rates of perfect responses and Constraint Scores (FAITHQA, Tables 3, 4 and 9 to
11, Figure 4); the judge is then satisfaction, and nothing is calibrated.
--benchmark dialogues are the prompts of the bundled cognibench-mini; a file has rows with "turns" (as jurist generate
dialogue writes them) or rows of the cognibench judge. After Ctrl-C, a limit or a crash, --resume continues and pays
nothing twice.
""",
)


class BenchmarkOptions(ItemsOptions):
    helps: ClassVar[Mapping[str, str]] = {
        **ItemsOptions.helps,
        "input": "concepts and articles: rows with 'text' and 'topic', a folder of .txt and .md, or faithqa-documents",
    }

    size: int = option(40, type=whole, help="how many queries")
    tasks: str | None = option(
        metavar="A,B",
        help="of fact, story, poem, evaluation, relationship, summary (default: all, as in the paper's Table 1)",
    )
    generator: str = option(
        "faithqa:basic",
        metavar="GENERATOR[@V]",
        help="who writes: a compiled version, or the basic prompts (default)",
    )
    attempts: int = option(3, type=whole, help="how often one query may be written")


BENCHMARK = Command(
    name="generate faithqa",
    does="generate.faithqa",
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


class HaluAgentOptions(ItemsOptions):
    helps: ClassVar[Mapping[str, str]] = {
        **ItemsOptions.helps,
        "input": "rows with 'text' (or the authors' with 'knowledge'), a folder of .txt and .md, or haluagent-docs",
    }

    output: str = option(required=True, metavar="FOLDER", help="the folder to write")
    generator: str = option(
        "",
        metavar="NAME[@V]",
        help="who writes, such as haluagent@1 or haluagent-zh:basic, with Chinese instructions "
        "(default: the latest compiled haluagent, else haluagent:basic)",
    )
    sample: int = option(
        0, help="write N items that passed and N that did not for people to check (default: none)"
    )
    limit: int | None = option(type=whole, help="the first N passages only")
    max_rejected: float = allowed(1.0, "share of rejected and failed items above which the exit code is 3")


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
