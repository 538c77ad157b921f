"""The parsers of ``generate`` and ``gold dynamics``."""

from __future__ import annotations

from typing import Any

from .shared import (
    add,
    common_options,
    endpoint_options,
    gold_option,
    handler,
    limit_options,
    seed_option,
    strictness_option,
    yes_option,
)

__all__ = ["add_dynamics", "add_generate", "judge_options"]

_DIALOGUE = """\
Write conversations about documents, turn by turn: the user asks, the assistant answers from the document. Every turn
is checked (uses the document, length, language, one speaker, nothing twice, no copy of the whole document) and asked
again with the complaint; a dialogue that still fails goes to F.rejects.jsonl with its reasons.
"""
_DIALOGUE_EXAMPLES = """\
examples:
  jurist generate dialogue --input cognibench-mini --output dialogues.jsonl
  jurist generate dialogue --input docs/ --output dialogues.jsonl
  jurist generate dialogue --input docs.jsonl --output d.jsonl --turns 2-5 --words 60-150 --topics history,economy
  jurist generate dialogue --input docs/ --output d.jsonl --model openai/gpt-4.1-mini --max-cost 2

Documents are rows with a field "text" (and "id", "title", "topic" if you like), a folder of .txt and .md files, or the
references of a gold set, such as the bundled cognibench-mini or the CogniBench authors' folder. With a real model, the
calls, tokens and cost to be expected are printed first; above 1000 calls or 1 USD you are asked. The default model,
"offline", rearranges sentences by rules. It is not a language model. After Ctrl-C, a limit or a crash, --resume
continues, pays nothing twice, and ends in the same file.
"""
_L = """\
Make a labelled dataset of documents (CogniBench-L): dialogues, then a label for every sentence of every assistant
turn by a judge with several samples and a vote. Written in the authors' format and for load_dataset, with statistics
(Table 2) and dynamics (Figures 5 and 7).
"""
_L_EXAMPLES = """\
examples:
  jurist generate cognibench-l --input cognibench-mini --output dataset/ --samples 1
  jurist generate cognibench-l --input docs/ --output dataset/
  jurist generate cognibench-l --input docs/ --output dataset/ --judge cognibench@2 --samples 5 --plots
  jurist generate cognibench-l --input docs.jsonl --output dataset/ --model openai/gpt-4.1-mini \\
    --judge-model openai/gpt-4.1 --max-cost 10

The labels are the judge's, not people's. Sentences on which it gives no usable answer stay unlabelled and are counted.
"""
_DYNAMICS = (
    "How statements and hallucinations change by turn and by position in the answer (Figures 5 and 7)."
)
_DYNAMICS_EXAMPLES = """\
examples:
  jurist gold dynamics --gold cognibench-mini
  jurist gold dynamics --gold dataset/ --plots figures/ --csv dynamics.csv
"""


def add_generate(commands: Any) -> None:
    """Add ``jurist generate`` and its kinds."""
    command = commands.add_parser("generate", help="make dialogues and labelled datasets from documents")
    kinds = command.add_subparsers(title="what to make", metavar="KIND", required=True)
    dialogue = add(kinds, "dialogue", _DIALOGUE, handler("generate", "dialogue"), _DIALOGUE_EXAMPLES)
    dialogue.add_argument(
        "--output", required=True, metavar="D.jsonl", help="the file to write, a dialogue a line"
    )
    dataset = add(kinds, "cognibench-l", _L, handler("generate", "cognibench_l"), _L_EXAMPLES)
    dataset.add_argument("--output", required=True, metavar="FOLDER", help="the folder to write")
    judge_options(dataset)
    dataset.add_argument(
        "--plots", action="store_true", help="draw the figures into FOLDER/plots (needs matplotlib)"
    )
    for kind in (dialogue, dataset):
        _spec_options(kind)
        _generator_options(kind)
        limit_options(kind, over=", all models together")
        yes_option(kind)
        kind.add_argument(
            "--max-rejected",
            type=float,
            default=0.5,
            metavar="SHARE",
            help="share of rejected and failed dialogues above which the exit code is 3 (default: 0.5)",
        )
        common_options(kind)


def _spec_options(command: Any) -> None:
    command.add_argument(
        "--input",
        required=True,
        metavar="DOCS|GOLD",
        help="rows with 'text', a folder of .txt and .md, or gold with references (cognibench-mini)",
    )
    command.add_argument(
        "--turns", default="3", metavar="N|MIN-MAX", help="exchanges a dialogue (default: 3)"
    )
    command.add_argument(
        "--words",
        default="40-200",
        metavar="MIN-MAX",
        help="length of every assistant turn; a Chinese character is a word (default: 40-200)",
    )
    command.add_argument(
        "--topics", metavar="A,B", help="one dialogue for each document and topic (default: its title)"
    )
    command.add_argument(
        "--language",
        choices=("auto", "en", "zh"),
        default="auto",
        help="refuse documents that are not in it (default: each document's own)",
    )
    command.add_argument(
        "--per-document",
        type=int,
        default=1,
        metavar="N",
        help="dialogues for each document and topic (default: 1)",
    )


def _generator_options(command: Any) -> None:
    command.add_argument(
        "--model",
        default="offline",
        metavar="M",
        help='the generator: "offline" (default) or a DSPy model string',
    )
    endpoint_options(
        command, temperature="of the generator, 0 to 2 (default: 0.7)", flight="dialogues or rows"
    )
    command.add_argument(
        "--attempts",
        type=int,
        default=3,
        metavar="N",
        help="how often one turn may be asked for (default: 3)",
    )


def judge_options(command: Any) -> None:
    """Add who labels."""
    command.add_argument(
        "--judge",
        default=None,
        metavar="JUDGE[@V]",
        help="who labels the sentences (default: the latest compiled cognibench, else cognibench:basic)",
    )
    command.add_argument(
        "--judge-model",
        default="offline",
        metavar="M",
        help='the judge\'s model: "offline" (default) or a model string',
    )
    command.add_argument(
        "--judge-api-base", metavar="URL", help="address of an OpenAI-compatible server for the judge"
    )
    command.add_argument(
        "--judge-temperature",
        type=float,
        metavar="T",
        help="of the judge (default: 0.7, or 0 for one sample)",
    )
    command.add_argument(
        "--samples", type=int, default=5, metavar="K", help="independent judgements a response (default: 5)"
    )
    command.add_argument(
        "--threshold", type=int, metavar="T", help="votes for a hallucination (default: more than half)"
    )
    strictness_option(command)


def add_dynamics(actions: Any) -> None:
    """Add ``jurist gold dynamics``."""
    command = add(actions, "dynamics", _DYNAMICS, handler("generate", "dynamics"), _DYNAMICS_EXAMPLES)
    gold_option(command, "labelled rows of the cognibench judge, or a dataset folder")
    command.add_argument(
        "--parts", type=int, default=5, metavar="N", help="into how many parts an answer is cut (default: 5)"
    )
    strictness_option(command)
    seed_option(command, "the bootstrap")
    command.add_argument("--csv", metavar="F.csv", help="write the tables as CSV too")
    command.add_argument("--plots", metavar="DIR", help="draw the figures into a folder (needs matplotlib)")
    command.add_argument(
        "--markdown", action="store_true", help="print the tables as Markdown on standard output"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object")
