"""What ``compile`` takes."""

from collections.abc import Mapping
from typing import ClassVar

from .command import Command
from .groups import (
    AllLimits,
    Common,
    Limits,
    ModelOptions,
    Resume,
    RowOptions,
    SamplingOptions,
    SplitOptions,
    StrictnessOptions,
    VerifierPromptOptions,
    name,
    some_gold,
)
from .options import flag, option, positional, repeated


class CompileOptions(
    RowOptions,
    ModelOptions,
    VerifierPromptOptions,
    Limits,
    AllLimits,
    Resume,
    SamplingOptions,
    SplitOptions,
    StrictnessOptions,
    Common,
):
    helps: ClassVar[Mapping[str, str]] = {
        "calls": "never make one call more, the proof included (default: 4000)"
    }

    judge: str = positional("JUDGE", help="a built-in judge, or path/to/file.py:judge")
    gold: str | None = some_gold(
        "labelled rows: a bundled name, a file, a folder, hf:org/name; default: the judge's bundled set"
    )
    optimizer: str | None = option(
        "--optimizer",
        metavar="NAME",
        help="race, opro, fewshot (or demos), threshold, optuna, contrastive, cfaith, opro-paper, bootstrap, copro, "
        "mipro, gepa, simba, infer-rules, dspy:CLASS, a plug-in's, or several joined by + (default: race)",
    )
    holdout: str | None = option(
        "--holdout",
        type=name,
        metavar="PATH|NAME",
        help="labelled rows that are the sealed test; train and dev are then all of --gold",
    )
    settings: tuple[str, ...] = repeated("--set", metavar="NAME=VALUE", help="a setting of the optimizer")
    prompt_model: str | None = option(
        "--prompt-model", metavar="M", help="model that writes prompts (default: the judge's)"
    )
    prompt_api_base: str | None = option(
        "--prompt-api-base",
        metavar="URL",
        help="address of that model (default: --api-base, where it is of the same provider)",
    )
    prompt_key_env: str | None = option(
        "--prompt-api-key-env", metavar="NAME", help="environment variable that holds the key of that model"
    )
    adapter: str = option(
        "--adapter", "chat", choices=("chat", "json", "xml"), help="DSPy's prompt format (default: chat)"
    )
    metric: str | None = option(
        "--metric", metavar="NAME", help="compile for another metric than the judge's own"
    )
    anyway: bool = flag("--anyway", help="go on where the test is too small for anything to be shown")
    force: bool = flag("--force", help="make it the latest version even if it is not shown to be better")


COMPILE = Command(
    name="compile",
    does="compile.run",
    options=CompileOptions,
    help="""\
Compile a judge against gold labels: split by conversation or document, let an optimizer rewrite the prompt on
train and choose on dev, prove basic against compiled on the sealed test, and keep the result as an artifact.
""",
    examples="""\
examples:
  jurist compile cognibench --gold cognibench-mini
  jurist compile fect --gold labels.csv --optimizer fewshot --seed 1
  jurist compile judge.py:judge --gold support-desk
  jurist compile fect --gold labels.csv --model openai/gpt-4.1-mini --max-calls 2000 --max-cost 3 --yes
  jurist compile fect --gold labels.csv --model openai/my-model --api-base http://localhost:8000/v1

The default model, "offline", is a text-overlap scorer, not an LLM, and needs no key and no network.
A limit holds for the whole job, the proof included. Calls, tokens and cost are estimated first; with a real model
and more than 1000 calls or 1 USD, you are asked, or have said --yes. After Ctrl-C or a crash, --resume continues
and pays for no answer twice that had arrived.
""",
)
