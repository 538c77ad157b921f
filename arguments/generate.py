"""What ``generate`` and ``assess`` take."""

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
        "--input",
        required=True,
        metavar="DOCS|GOLD",
        help="rows with 'text', a folder of .txt and .md, or gold with references (cognibench-mini)",
    )
    turns: str = option("--turns", "3", metavar="N|MIN-MAX", help="exchanges a dialogue (default: 3)")
    words: str = option(
        "--words",
        "40-200",
        metavar="MIN-MAX",
        help="length of every assistant turn; a Chinese character is a word (default: 40-200)",
    )
    topics: str | None = option(
        "--topics", metavar="A,B", help="one dialogue for each document and topic (default: its title)"
    )
    language: Literal["auto", "en", "zh"] = option(
        "--language",
        "auto",
        help="refuse documents that are not in it (default: each document's own)",
    )
    per_document: int = option(
        "--per-document", 1, metavar="N", help="dialogues for each document and topic (default: 1)"
    )
    attempts: int = option(
        "--attempts", 3, metavar="N", help="how often one turn may be asked for (default: 3)"
    )
    max_rejected: float = allowed(
        "--max-rejected", 0.5, "share of rejected and failed dialogues above which the exit code is 3"
    )


class LabellerOptions(StrictnessOptions, Transport, PaidOptions):
    """Who labels what models wrote."""

    judge: str | None = option(
        "--judge",
        metavar="JUDGE[@VERSION]",
        help="who labels (default: the latest compiled cognibench, qa-conflict or satisfaction, as what is judged "
        "demands, else its basic prompt)",
    )
    judge_model: str = option(
        "--judge-model",
        "offline",
        metavar="M",
        help='the judge\'s model: "offline" (default) or a model string',
    )
    judge_api_base: str | None = option(
        "--judge-api-base", metavar="URL", help="address of an OpenAI-compatible server for the judge"
    )
    judge_temperature: float | None = option(
        "--judge-temperature",
        metavar="T",
        help="of the judge (default: 0.7, or 0 for one sample)",
    )
    samples: int = option("--samples", 5, metavar="K", help="independent judgements a response (default: 5)")
    threshold: int | None = option(
        "--threshold", metavar="T", help="votes for a hallucination (default: more than half)"
    )


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
        "--attempts",
        1,
        type=whole,
        metavar="N",
        help="how often a document may be tried until what is written passes (default: 1)",
    )


class DialogueOptions(GenerateOptions):
    output: str = option(
        "--output", required=True, metavar="F.jsonl", help="the file to write, a dialogue a line"
    )


class DatasetOptions(LabellerOptions, GenerateOptions):
    output: str = option("--output", required=True, metavar="FOLDER", help="the folder to write")
    plots: bool = flag("--plots", help="draw the figures into FOLDER/plots")


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
        "--benchmark",
        required=True,
        metavar="dialogues|FILE",
        help="what is asked: the bundled prompts, rows, or a benchmark of jurist generate haluagent or faithqa",
    )
    calibration: str | None = option(
        "--calibration",
        type=name,
        metavar="GOLD",
        help="gold to measure the judge on (default: cognibench-mini); rows its artifact has seen are left out",
    )
    fact_judge: str | None = option(
        "--fact-judge",
        metavar="JUDGE[@VERSION]",
        help="who checks the facts of hallucinated responses on a benchmark of jurist generate faithqa (default: the "
        "latest compiled fact-check, else fact-check:basic)",
    )
    limit: int | None = option("--limit", type=whole, metavar="N", help="the first N prompts only")
    words: str = option(
        "--words", "40-200", metavar="MIN-MAX", help="length the models are asked for (default: 40-200)"
    )
    unanswered: Literal["apart", "wrong"] = option(
        "--unanswered",
        "apart",
        choices=("apart", "wrong"),
        help="on a benchmark of jurist generate haluagent, replies without an answer are in no rate, or count as "
        "hallucinated, as in the paper; the other rates are printed too (default: apart)",
    )
    answers: str | None = option("--answers", metavar="F.jsonl", help="write the labelled answers too")
    output: str | None = option("--output", metavar="F.json", help="write the JSON object to a file too")
    max_unusable: float = allowed(
        "--max-unusable",
        0.05,
        "share of prompts without a usable, labelled answer above which the exit code is 3",
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
    does="assess.run",
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
