"""What ``table`` and ``training`` take."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from .command import Command
from .groups import (
    Checkpoints,
    Common,
    GoldOptions,
    Limits,
    ModelsOptions,
    SamplingOptions,
    SplitOptions,
    StrictnessOptions,
    whole,
)
from .options import option, repeated


class DetectorOptions(
    SamplingOptions, GoldOptions, ModelsOptions, StrictnessOptions, Limits, Checkpoints, Common
):
    helps: ClassVar[Mapping[str, str]] = {
        "gold": "labelled responses",
        "calls": "never make one call more, over all lines and models",
    }

    detectors: tuple[str, ...] = repeated(
        name="--detector",
        metavar="JUDGE[@VERSION]|KIND:MODEL",
        help="a judge, version or variant, or a detector with its model (KIND: nli, nli-contradiction, lettuce, fava, "
        "ragtruth, selfcheck); the first is tested against the "
        "others (default: cognibench:basic and detector:basic)",
    )


class TrainingOptions(SplitOptions, Common):
    helps: ClassVar[Mapping[str, str]] = {"seed": "of the split (default: 0)"}

    input: str = option(
        required=True, metavar="LABELLED", help="labelled rows: a bundled name, a file, a folder, hf:..."
    )
    output: str = option(required=True, metavar="F.jsonl", help="the file; - is standard output")
    judge: str = option(
        "detector:basic", metavar="JUDGE[@VERSION]", help="whose prompt and reply; it must ask once"
    )
    part: Literal["train", "dev", "all"] = option(
        "train",
        help="groups to take: train (default), dev for a validation file, or all, which holds nothing back",
    )
    max_tokens: int | None = option(
        type=whole, help="leave out longer examples; an estimate, about four letters a token"
    )


THREE = Command(
    name="table cognibench-3",
    does="papers.three",
    options=DetectorOptions,
    help="""\
CogniBench's Table 3 on any gold: detectors of hallucinated sentences side by side, factual, cognitive, their macro
average and overall, by sentences and by words, with 95 % intervals clustered by dialogue or document, and paired
tests against the first.
""",
    examples="""\
examples:
  jurist table cognibench-3 --gold cognibench-mini
  jurist table cognibench-3 --gold labels.jsonl --detector cognibench --detector detector:basic --detector nli:ORG/MODEL
  jurist table cognibench-3 --gold labels.jsonl --detector cognibench:basic --model openai/gpt-4.1 --samples 5 --yes

A sentence's kind is what its gold label says; it is detected when it gets any hallucinated label. Responses on which
an artifact was compiled are left out for all. After Ctrl-C, a limit or a crash, --resume continues and pays nothing
twice.
""",
)
TRAINING = Command(
    name="training",
    does="catalogue.training",
    options=TrainingOptions,
    help="""\
Write a training file for fine-tuning a judge: labelled rows as chat messages, one JSON line each.

Each line holds the messages that the judge itself would send for a row, and the reply that says its labels. OpenAI's
fine-tuning and TRL's SFTTrainer take the file as it is. Only groups of the train part of the split are in it, so
that what "jurist compile" with the same seed and shares tests on is never trained on.
""",
    examples="""\
examples:
  jurist training --input cognibench-mini --output train.jsonl
  jurist training --input cognibench-l --output train.jsonl --max-tokens 8000
  jurist training --input cognibench-l --output dev.jsonl --part dev
  jurist training --input labels.csv --judge fect:basic --output train.jsonl --part all

docs/finetune.md goes on from there: a fine-tuning script, and how to run the judge with the tuned model.
""",
)
