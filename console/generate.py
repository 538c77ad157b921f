"""``jurist generate dialogue``, ``jurist generate cognibench-l`` and ``jurist gold dynamics``."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import UsageError
from ..generating.generation import Generation, Made
from ..generating.making import make_dialogues, rejects_path
from ..generating.plans import DialogueSpec, range_of
from ..gold.documents import read_documents
from ..gold.goldset import Gold
from ..jobs.forecasting import foresee_dialogues
from ..keeping.loading import LoadedJudge, load_judge
from ..papers.cognibench.describing import describe_labelled
from ..papers.cognibench.dynamics import Dynamics, plot_dynamics
from ..papers.cognibench.dynamics import dynamics as dynamics_of
from ..papers.cognibench.making import Dataset, foresee_dataset, make_dataset
from ..papers.cognibench.turns import check_judge, labelled_gold
from ..programs.cognibench import COGNIBENCH
from ..programs.strictness import BELOW, DEFAULT
from .common import human, print_json, store_of, write_text
from .started import Started
from .tables import OFFLINE, Sheet, show_sheets

__all__ = ["below", "cognibench_l", "dialogue", "dynamics", "judge_of_options", "spend_line"]

_TEMPERATURE = 0.7
_OFFLINE = "engine: offline, which rearranges the document's sentences by rules and is not a language model"


def dialogue(arguments: Namespace) -> int:
    """Write dialogues; exit code 3 if too many were rejected."""
    console, job = human(), _generation(arguments)
    output = Path(arguments.output)
    with Started(arguments, [job.model], lambda: foresee_dialogues(job)) as begun:
        start = begun.begin(len(job.plans), "writing dialogues")
        made = make_dialogues(job, output, start, on_dialogue=begun.step)
    rejects = rejects_path(output) if made.rejected or made.failed else None
    if _say_made(console, arguments, made, begun, rejects, documents=len(job.documents)):
        return 0
    if job.model.offline:
        console.print(Text(_OFFLINE))
    return _code(console, made, arguments)


def cognibench_l(arguments: Namespace) -> int:
    """Make a labelled dataset; exit code 3 if too many dialogues were rejected or answers not labelled."""
    console, job, judge = human(), _generation(arguments), judge_of_options(arguments)
    folder = Path(arguments.output)
    if arguments.plots:
        _can_plot()
    if judge.note:
        console.print(Text(judge.note))
    with Started(arguments, [job.model, judge.model], lambda: foresee_dataset(job, judge)) as begun:
        found = make_dataset(
            job,
            judge,
            folder,
            begun.begin(len(job.plans), "writing dialogues"),
            on_dialogue=begun.step,
            on_answer=begun.step,
            on_labelling=lambda answers: begun.then(answers, f"labelling with {judge.name}"),
        )
    if arguments.plots and found.dynamics is not None:
        for path in plot_dynamics(found.dynamics, folder / "plots"):
            console.print(Text(f"drew {path}"))
    rejects = folder / "rejects.jsonl" if found.made.unusable else None
    if _say_made(console, arguments, found.made, begun, rejects, statistics=found.statistics):
        return 0
    return _say_dataset(console, arguments, found, job)


def dynamics(arguments: Namespace) -> int:
    """Print the dynamics of labelled gold."""
    if arguments.parts < 1:
        raise UsageError(f"--parts {arguments.parts} cuts nothing", hint="give 1 or more")
    if arguments.json and arguments.markdown:
        raise UsageError("--json and --markdown both write to standard output", hint="leave one out")
    console, gold = human(), Gold.load(arguments.gold, COGNIBENCH)
    labelled = labelled_gold(gold)
    positive = BELOW[arguments.strictness or DEFAULT]
    described = describe_labelled(labelled, positive=positive, seed=arguments.seed)
    found = dynamics_of(labelled, parts=arguments.parts, positive=positive, seed=arguments.seed)
    if arguments.csv:
        write_text(found.to_csv(), arguments.csv)
    if arguments.plots:
        for path in plot_dynamics(found, Path(arguments.plots)):
            console.print(Text(f"drew {path}"))
    if arguments.json:
        print_json({"gold": gold.name, "statistics": described, "dynamics": found.to_json()})
    sheets = [_statistics_sheet(described), _shares_sheet(described), *_dynamics_sheets(found)]
    if arguments.markdown or not arguments.json:
        show_sheets(console, sheets, markdown=arguments.markdown)
    return 0


def judge_of_options(arguments: Namespace) -> LoadedJudge:
    """Return who labels, with the model of the options.

    Raises:
        JudgeError, ArtifactError: there is no such judge. UsageError: it is of another kind.
    """
    store = store_of(arguments)
    wanted: dict[str, Any] = {
        "store": store,
        "samples": arguments.samples,
        "threshold": arguments.threshold,
        "concurrency": arguments.concurrency,
        "strictness": arguments.strictness,
    }
    # A version that was not shown to be better is kept and not the latest: nobody named it, so nobody means it.
    compiled = any(one.latest for one in store.list(COGNIBENCH.name))
    default = COGNIBENCH.name if compiled else f"{COGNIBENCH.name}:basic"
    loaded = load_judge(arguments.judge or default, **wanted)
    check_judge(loaded.judge)
    model = Model(
        name=arguments.judge_model,
        api_base=arguments.judge_api_base,
        temperature=arguments.judge_temperature,
        timeout=arguments.timeout,
        seed=arguments.seed,
    )
    return loaded.with_model(model)  # what is left open is left to the judge: samples, temperature


def _generation(arguments: Namespace) -> Generation:
    spec = DialogueSpec(
        turns=range_of(arguments.turns, "--turns"),
        words=range_of(arguments.words, "--words"),
        topics=tuple(topic.strip() for topic in arguments.topics.split(",")) if arguments.topics else (),
        language=arguments.language,
        copies=arguments.per_document,
    )
    model = Model(
        name=arguments.model,
        api_base=arguments.api_base,
        temperature=_TEMPERATURE if arguments.temperature is None else arguments.temperature,
        max_tokens=arguments.max_tokens,
        timeout=arguments.timeout,
        seed=arguments.seed,
    )
    if arguments.temperature is None and model.fixed_temperature:
        model = Model(name=model.name, api_base=model.api_base, timeout=model.timeout, seed=model.seed)
    if not 0 <= arguments.max_rejected <= 1:
        raise UsageError(f"--max-rejected {arguments.max_rejected} is no share", hint="give 0 to 1")
    if arguments.concurrency < 1:
        raise UsageError(f"--concurrency {arguments.concurrency} does nothing", hint="give 1 or more")
    return Generation(
        documents=read_documents(arguments.input),
        spec=spec,
        model=model,
        seed=arguments.seed,
        attempts=arguments.attempts,
        concurrency=arguments.concurrency,
        budget=Budget(calls=arguments.max_calls, cost=arguments.max_cost),
    )


def _say_made(
    console: Console, arguments: Namespace, made: Made, begun: Started, rejects: Path | None, **more: Any
) -> bool:
    """Print how the writing of dialogues ended; say whether it had been done before."""
    counts = made.to_json()
    if arguments.json:
        forecast = begun.estimate.to_json() if begun.estimate else None
        print_json({"output": arguments.output, **more, **counts, "forecast": forecast})
    if made.before:
        console.print(Text(f"{arguments.output} holds this very job already; nothing was asked"))
        return True
    parts = [
        f"{arguments.output}: {counts['kept']} of {counts['dialogues']} dialogues with {counts['turns']} turns",
        f"{counts['asked_again']} turns asked again",
    ]
    if rejects is not None:
        parts.append(
            f"{counts['rejected']} rejected and {counts['failed']} failed, with reasons in {rejects}"
        )
    console.print(Text("; ".join([*parts, spend_line(made.spend)])))
    return False


def _say_dataset(console: Console, arguments: Namespace, found: Dataset, job: Generation) -> int:
    statistics = found.statistics
    moving = [] if found.dynamics is None else _dynamics_sheets(found.dynamics)
    show_sheets(console, [_statistics_sheet(statistics), _shares_sheet(statistics), *moving], markdown=False)
    made = statistics["made"]
    console.print(
        Text(
            f"labelled by {made['judge']} with {made['judge_model']}: {statistics['sentences']} sentences labelled, "
            f"{statistics['unlabelled']} left unlabelled{below(made['strictness'])}"
        )
    )
    if job.model.offline or made["judge_model"] == "offline":
        console.print(OFFLINE)
    if found.failed:
        console.print(Text(f"{found.failed} answers failed; --resume asks them again"))
        return 3
    return _code(console, found.made, arguments)


def _code(console: Console, made: Made, arguments: Namespace) -> int:
    if made.failed:
        console.print(Text(f"{len(made.failed)} dialogues failed; --resume asks for them again"))
    if made.unusable > arguments.max_rejected:
        console.print(
            Text(
                f"{made.unusable:.1%} of the dialogues were rejected or failed; "
                f"{arguments.max_rejected:.1%} are allowed (--max-rejected)"
            )
        )
        return 3
    return 0


def _statistics_sheet(found: Mapping[str, Any]) -> Sheet:
    def spread(name: str) -> str:
        one = found[name]
        return "-" if one["min"] is None else f"{one['min']}-{one['max']} ({one['mean']:.2f})"

    return Sheet(
        title="statistics (as CogniBench Table 2; words min-max (mean))",
        columns=(
            "responses",
            "conversations",
            "documents",
            "labelled sentences",
            "context words",
            "words a response",
        ),
        rows=[
            [
                str(found["responses"]),
                str(found["conversations"]),
                str(found["documents"]),
                str(found["sentences"]),
                spread("context_words"),
                spread("words_per_response"),
            ]
        ],
    )


def _shares_sheet(found: Mapping[str, Any]) -> Sheet:
    rows = []
    for name, share in found["shares"].items():
        value, low, high = share["value"], share["low"], share["high"]
        between = "-" if low is None else f"[{low:.3f}, {high:.3f}]"
        counted = f"{share['count']:.0f} of {share['of']:.0f}"
        rows.append([name.replace("_", " "), "-" if value is None else f"{value:.3f}", between, counted])
    return Sheet(
        title="shares of sentences", columns=("share", "value", "95 % interval", "counted"), rows=rows
    )


def _dynamics_sheets(found: Dynamics) -> list[Sheet]:
    return [Sheet(title=title, columns=columns, rows=rows) for title, columns, rows in found.sheets()]


def below(strictness: str) -> str:
    """Return what counts as hallucinated, to put behind a sentence; empty for a judge without tiers."""
    return f"; hallucinated is what falls below {strictness}" if strictness else ""


def spend_line(spend: Mapping[str, Any]) -> str:
    """Return what was spent in words."""
    total = spend.get("total") or {}
    tokens = total.get("input_tokens", 0) + total.get("output_tokens", 0)
    replayed = f", {total['replayed']} paid before" if total.get("replayed") else ""
    return f"{total.get('calls', 0)} calls{replayed}, {tokens} tokens, {total.get('cost', 0.0):.4f} USD"


def _can_plot() -> None:
    """Find out before anything is paid."""
    import importlib.util

    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError(
            "--plots needs matplotlib, which is not installed", hint="pip install 'jurist[plots]'"
        )
