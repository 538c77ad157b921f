"""What ``generate`` with its kinds and ``assess`` take."""

from typing import Literal

from .groups import (
    Adapter,
    CompiledVerifiers,
    DocumentOptions,
    Endpoint,
    JudgeOptions,
    LanguageOption,
    ModelOptions,
    PaidOptions,
    Transport,
    VerifierOptions,
    allowed,
    nonempty_name,
    positive_integer,
)
from .options import choice, option, positional

_LIMIT = "hard limit on calls, all models together"


class ItemsOptions(
    Adapter,
    ModelOptions,
    VerifierOptions,
    CompiledVerifiers,
    LanguageOption,
    PaidOptions,
    command="generate NAME",
    does="generate.generate_items",
    helps={
        "model": 'who writes: "offline" or a DSPy model string (default: of a version its own, else offline)',
        "temperature": "of the writers, 0 to 2 (default: 0 for one attempt, 0.7 for several)",
        "concurrency": "documents in flight at once (default: 8)",
        "calls": _LIMIT,
    },
):
    """Write items from documents by any generator: those that pass every check go to the output, the others to
    F.rejects.jsonl with their reasons. See docs/generators.md for a generator of your own.

    examples:
      jurist generate quiz.py:generator:basic --input docs/ --output quiz.jsonl --model {MODEL}
      jurist generate quiz --input docs.jsonl --output quiz.jsonl --attempts 3 --model {MODEL} \\
        --judge-model {LARGER_MODEL} --max-cost 5
    """

    input: str = option(
        "DOCS", "rows with 'text', a folder of .txt and .md, hf:org/name, or gold with references"
    )
    output: str = option("F.jsonl", "the file to write, an item a line")
    max_rejected: float = allowed(0.5, "share of rejected and failed items above which the exit code is 3")
    generator: str = positional("NAME", "a generator: NAME[@VERSION], NAME:basic, path/to/file.py:generator")
    attempts: int = option(
        "N", "how often a document may be tried until what is written passes", 1, type=positive_integer
    )


class AssessOptions(
    JudgeOptions,
    Transport,
    PaidOptions,
    Endpoint,
    command="assess",
    does="generate.assess_command",
    helps={
        "temperature": "of the models, 0 to 2 (default: 1 with --top-p 0.7 as C-FAITH, 0.3 as FAITHQA, else 0.7)",
        "concurrency": "answers in flight at once (default: 8)",
        "calls": _LIMIT,
    },
):
    """Let models answer about references, and judge every sentence: shares of statement
    types and rates of hallucination (CogniBench, Figure 8), as the judge found them, and corrected for its own
    sensitivity and specificity, measured on gold that it was not compiled on.

    examples:
      jurist assess offline --benchmark dialogues
      jurist assess {MODEL} {LARGER_MODEL} --benchmark dialogues --judge cognibench@2 \\
        --judge-model {LARGER_MODEL} --calibration labels.jsonl --max-cost 5
      jurist assess openai/my-model --api-base http://localhost:8000/v1 --benchmark dialogues.jsonl --json

    A benchmark of jurist generate haluagent, or of C-FAITH's authors, is asked in its formats instead, zero-shot,
    and gives hallucination rates (C-FAITH, Tables 5 and 6, Figure 5); the judge is then qa-conflict, the
    calibration its own gold. One of jurist generate faithqa gives the rates of perfect responses and Constraint
    Scores (FAITHQA, Tables 3, 4 and 9 to 11, Figure 4); the judge is then satisfaction, and nothing is calibrated.
    --benchmark dialogues are the prompts of the bundled cognibench-mini; a file has rows with "turns" (as jurist
    generate dialogue writes them) or rows of the cognibench judge.
    """

    models: tuple[str, ...] = positional(
        "MODEL", '"offline", or a DSPy model string; one row each', nargs="+"
    )
    benchmark: str = option(
        "dialogues|FILE",
        "what is asked: the bundled prompts, rows, or a benchmark of jurist generate haluagent or faithqa",
    )
    judge: str | None = option(
        "JUDGE[@VERSION]",
        "who labels (default: the latest compiled cognibench, qa-conflict or satisfaction, as what is "
        "judged demands, else its basic prompt)",
    )
    judge_model: str | None = option(
        "M", 'the judge\'s model: "offline" or a model string (default: of a version its own, else offline)'
    )
    judge_api_base: str | None = option("URL", "address of an OpenAI-compatible server for the judge")
    samples: int | None = option(
        "K",
        "independent judgements a response (default: 5; of a version that words decide, those that it was proven with)",
        type=positive_integer,
    )
    threshold: int | None = option(
        "T", "votes for a hallucination (default: more than half)", type=positive_integer
    )
    calibration: str | None = option(
        "GOLD",
        "gold to measure the judge on (default: cognibench-mini); rows its artifact has seen are left out",
        type=nonempty_name,
    )
    fact_judge: str | None = option(
        "JUDGE[@VERSION]",
        "who checks the facts of hallucinated responses on a benchmark of jurist generate faithqa "
        "(default: the latest compiled fact-check, else fact-check:basic)",
    )
    limit: int | None = option("N", "the first N prompts only", type=positive_integer)
    per_cell: int | None = option(
        "N",
        "of a benchmark of jurist generate faithqa, N queries of each task, topic and difficulty at random (the "
        "paper: 150)",
        type=positive_integer,
    )
    unanswered: Literal["apart", "wrong"] = choice(
        "on a benchmark of jurist generate haluagent, replies without an answer are in no rate, or count "
        "as hallucinated, as in the paper",
        "apart",
    )
    rejects: str | None = option(
        "F.jsonl",
        "set rows of a benchmark of items that cannot be used aside in this file, with the reasons (default: "
        "refuse the whole)",
    )
    answers: str | None = option("F.jsonl", "write the labelled answers too")
    output: str | None = option("F.json", "write the JSON object to a file too")
    max_unusable: float = allowed(
        0.05, "share of prompts without a usable, labelled answer above which the exit code is 3"
    )


class DialogueOptions(
    ItemsOptions,
    command="generate dialogue",
    does="generate.generate_dialogues",
    helps={
        "model": 'the generator: "offline" or a DSPy model string (default: of a version its own, else offline)',
        "temperature": "of the generator, 0 to 2 (default: 0.7)",
        "concurrency": "dialogues in flight at once (default: 8)",
    },
):
    """Write conversations about documents, turn by turn: the user asks, the assistant answers from the document. Every
    turn is checked (uses the document, length, language, one speaker, nothing twice, no copy of the whole document) and
    asked again with the complaint; a dialogue that still fails goes to F.rejects.jsonl with its reasons.

    examples:
      jurist generate dialogue --input cognibench-mini --output dialogues.jsonl
      jurist generate dialogue --input docs.jsonl --output d.jsonl --turns 2-5 --words 60-150

    Documents are rows with a field "text" (and "id", "title", "topic" if you like), a folder of .txt and .md files,
    or the references of a gold set, such as the bundled cognibench-mini or the CogniBench authors' folder.
    jurist run cognibench labels what was written, sentence by sentence.
    """

    generator: str = option(
        "GENERATOR[@V]", "who writes: a compiled version, or the basic prompt (default)", "dialogue:basic"
    )
    turns: str = option("N|MIN-MAX", "exchanges a dialogue", "3")
    words: str = option("MIN-MAX", "length of every assistant turn; a Chinese character is a word", "40-200")
    per_topic: int | None = option(
        "N", "documents of each topic, drawn by lot with --seed (default: all)", type=positive_integer
    )


class BenchmarkOptions(
    ItemsOptions,
    command="generate faithqa",
    does="generate.generate_faithqa",
    helps={
        "input": "concepts and articles: rows with 'text' and 'topic', a folder of .txt and .md, or "
        "faithqa-documents"
    },
):
    """Build a benchmark of intent hallucination (FAITHQA, section 5): queries about facts and for creative writing with
    easy (up to 4) and hard (more) sets of conditions, and queries for evaluation and analysis of which exactly one part
    is removed. Every query is verified to be answerable, or not, by a verifier that no optimizer tunes, and mapped to
    its constraints; what fails goes to F.rejects.jsonl with its reasons.

    examples:
      jurist generate faithqa --input faithqa-documents --output benchmark.jsonl
      jurist generate faithqa --input docs.jsonl --output benchmark.jsonl --size 20000 --tasks fact,poem
      jurist generate faithqa --input docs/ --output b.jsonl --model {MODEL} --judge-model {LARGER_MODEL} \\
        --max-cost 5
    """

    size: int = option("N", "how many queries", 40, type=positive_integer)
    tasks: str | None = option(
        "A,B",
        "of fact, story, poem, evaluation, relationship, summary (default: all, as in the paper's Table 1)",
    )
    generator: str = option(
        "GENERATOR[@V]", "who writes: a compiled version, or the basic prompts (default)", "faithqa:basic"
    )
    attempts: int = option("N", "how often one query may be written", 3, type=positive_integer)


class HaluAgentOptions(
    ItemsOptions,
    DocumentOptions,
    command="generate haluagent",
    does="generate.generate_haluagent",
    helps={
        "input": "rows with 'text' (or the authors' with 'knowledge'), a folder of .txt and .md, or haluagent-docs"
    },
):
    """Make a benchmark of hallucination from documents (HaluAgent): a question of each of the six types with its
    correct answer, three hallucinated answers and their types, verified by three judges and by code, then aggregated
    into generative, single-choice and true-or-false items.

    examples:
      jurist generate haluagent --input haluagent-docs --output bench/
      jurist generate haluagent --input haluagent-docs --output bench/ --generator haluagent@1 --limit 20
      jurist generate haluagent --input haluagent-docs --output bench/ --types entity,relation --per-document 1
      jurist generate haluagent --input docs/ --output bench/ --model {MODEL} --judge-model {LARGER_MODEL}

    FOLDER gets benchmark.jsonl (all formats; jurist assess takes it), verified.jsonl, rejects with their reasons, and
    CARD.json with the share of items that pass each check, and the yield by type.
    """

    output: str = option("FOLDER", "the folder to write")
    generator: str = option(
        "NAME[@V]",
        "who writes, such as haluagent@1 or haluagent-zh:basic, with Chinese instructions (default: the "
        "latest compiled haluagent, else haluagent:basic)",
        "",
    )
    limit: int | None = option("N", "the first N documents only", type=positive_integer)
    max_rejected: float = allowed(1.0, "share of rejected and failed items above which the exit code is 3")
