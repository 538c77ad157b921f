"""``jurist run`` and ``run join``."""

import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments.run import JoinOptions, JudgedRows, RunOptions
from ..engines.ledger import Spend
from ..engines.meter import Budget
from ..errors import (
    CheckpointError,
    GoldError,
    Interrupted,
    JuristError,
    StoppedError,
    UsageError,
    answering_command_line,
    plural,
    signal_name,
)
from ..gold.new_rows import Source
from ..gold.sources import can_be_read_again
from ..jobs.estimate import CostEstimate, is_free
from ..jobs.measuring import count_redraws, make_ask, make_embedding_asks
from ..keeping.loading import LoadedJudge
from ..keeping.paying import PaidAnswers
from ..programs.judge import Judge
from ..report.scores import spend_in, taken_words
from ..runs.lines import read_line
from ..runs.outputs import (
    check_no_batches,
    checkpoint_of,
    claimed,
    earlier_files_of,
    keep_left_out,
    lines_in,
    shards_of,
)
from ..runs.row_language import in_language_of_rows, unread_language_note
from ..runs.runner import RunPlan, RunSettings, plan_of, run_judge
from ..runs.shards import WHOLE, Shard, cluster, join, judged_on_ray
from ..runs.summary import Summary
from .bars import Bar
from .inputs import loaded_of
from .printing import Result, print_notes, result_stream
from .questions import agree, approve, approve_keys
from .rows import mapping_of, store_of

if TYPE_CHECKING:
    from ..jobs.sharing import LabelShare
    from ..runs.canary import Canary


def run_command(options: RunOptions) -> Result:
    """Judge rows; exit code 3 if too many are unusable, 1 if a limit left some."""
    if options.shard is not None and options.output != "-":
        shard_output = Shard(*options.shard).path(Path(options.output))
        options = replace(options, output=str(shard_output))
    if options.output == "-" and options.resume:
        raise UsageError(
            "--resume needs an --output file: what standard output got cannot be read again",
            hint="name a file with --output",
        )
    if options.workers is not None and options.engine != "ray":
        raise UsageError("--workers are those of a cluster", hint="add --engine ray")
    loaded, source, settings = rows_of(options)
    with Bar() as bar:
        if options.canary:
            settings = replace(settings, canary=_canary(options, loaded, bar.step))

        estimate: CostEstimate | None = None

        def begin(plan: RunPlan) -> None:
            nonlocal estimate
            estimate = foreseen(loaded, plan, settings.budget, yes=options.yes)
            total = plan.rows
            if total is not None:
                total += len(plan.canary)
            bar.watch(plan.trouble)
            bar.begin("judging", total, meter=plan.meter)

        def foresee_again(spend: Spend) -> None:
            if estimate is not None:
                print_notes(estimate.describe_revision(spend))

        def begin_shards(written_paths: Sequence[Path]) -> None:
            begin(plan_of(loaded, source, settings, written_paths))

        if options.engine == "ray":
            summary = _run_on_ray(options, loaded.judge, begin_shards, bar.step)
        else:
            output = result_stream() if options.output == "-" else Path(options.output)
            summary = run_judge(
                loaded,
                source,
                output,
                settings=settings,
                on_begin=begin,
                on_row=bar.step,
                on_first_replies=foresee_again,
            )
    print_notes(*source.notes)
    return result_of(options, loaded, summary)


def judge_shard(options: RunOptions, joined_output: Path, on_row: Callable[[], None]) -> Summary:
    """Judge the rows of one shard, on a worker; rows whose lines stand in the joined output are done."""
    with answering_command_line():
        loaded, source, settings = rows_of(options)
        settings = replace(settings, before=earlier_files_of(joined_output))
        return run_judge(loaded, source, Path(options.output), settings=settings, on_row=on_row)


def _run_on_ray(
    options: RunOptions,
    judge: Judge,
    begin: Callable[[Sequence[Path]], None],
    on_row: Callable[[], None],
) -> Summary:
    """Judge the rows in shards on a Ray cluster, and join their lines.

    ``begin`` is given the files that have lines already.
    """
    _check_ray_options(options)
    output = Path(options.output)
    with (
        claimed(output, [options.input], going_on=options.resume, rival=checkpoint_of(output)),
        cluster() as cpus,
    ):
        check_no_batches(output, forget=options.fresh)
        folder = _shards_folder(options, cpus)
        shard_count = int(folder.name)
        paths = []
        works = []
        for number in range(1, shard_count + 1):
            shard_options = _shard_options(options, Shard(number, shard_count), folder)
            paths.append(Path(shard_options.output))
            works.append(partial(judge_shard, shard_options, output))
        earlier_files = earlier_files_of(output)
        begin(earlier_files + [path for path in paths if path.is_file()])
        with _keep_unjoined(folder, paths):
            ends = judged_on_ray(works, folder, on_row=on_row)
            _raise_first([end for end in ends if isinstance(end, JuristError | Interrupted)], folder.parent)
            for path in paths:
                path.touch()  # nothing of it was judged before a limit
            left_out = _keep_left_out(output, earlier_files, paths)
            join(paths, output)
    summary = Summary.of_shards(judge, [end for end in ends if isinstance(end, Summary)])
    return summary.with_left_out(left_out, output)


def _keep_left_out(output: Path, earlier_files: Sequence[Path], shard_paths: Sequence[Path]) -> int:
    """Keep the earlier lines on cases that no shard has a line on, and return how many there are."""
    if not earlier_files:
        return 0
    case_ids: set[str] = set()
    for path in shard_paths:
        for _, line in lines_in(path):
            key, _ = read_line(line)
            case_ids.add(key.case_id)
    return keep_left_out(output, earlier_files, lambda case_id: case_id not in case_ids)


def _check_ray_options(options: RunOptions) -> None:
    """Refuse an input that workers cannot read, and options that do not go with a cluster."""
    if not can_be_read_again(options.input):
        raise UsageError(f"workers cannot read {options.input}", hint="write the rows into a file first")
    refused_options = {
        "--shard": options.shard is not None,
        "--output -": options.output == "-",
        "--canary": options.canary,
    }
    for name, is_given in refused_options.items():
        if is_given:
            raise UsageError(f"{name} does not go with --engine ray", hint="leave one of them out")


def _raise_first(errors: Sequence[JuristError | Interrupted], folder: Path) -> None:
    """Raise first that a shard could not be judged at all, then that some were stopped."""
    if not errors:
        return
    error = min(errors, key=lambda error: isinstance(error, StoppedError | Interrupted))
    if not isinstance(error, Interrupted):
        raise error
    raise Interrupted(
        f"stopped by {signal_name(error.signal)}; what was paid for is kept in {folder}",
        hint="add --resume to go on without paying again",
        signal=error.signal,
    )


@contextmanager
def _keep_unjoined(folder: Path, paths: Sequence[Path]) -> Iterator[None]:
    """Remove the files of the shards after a block, unless there is more in them than the output has."""
    folder.mkdir(parents=True, exist_ok=True)
    is_joined = False
    try:
        yield
        is_joined = True
    finally:
        has_more = False
        for path in paths:
            if checkpoint_of(path).exists() or (not is_joined and path.exists()):
                has_more = True
        if not has_more:
            shutil.rmtree(folder.parent)


def _shards_folder(options: RunOptions, cpus: int) -> Path:
    """Return the folder of the shards, which bears their number."""
    root = shards_of(Path(options.output))
    if options.fresh and root.exists():
        shutil.rmtree(root)
    begun_counts = [int(folder.name) for folder in root.glob("[0-9]*")]
    workers = options.workers or cpus
    hint = f"name --workers {cpus}"
    if begun_counts:
        if not options.resume:
            hint = "add --resume to continue it without paying again, or --fresh to forget it"
            raise CheckpointError(f"an unfinished run of {options.output} is kept in {root}", hint=hint)
        workers = begun_counts[0]
        hint = f"start one of {workers} CPUs"
    if options.workers not in (None, workers):
        raise UsageError(f"this run was begun with {workers} workers", hint=f"name --workers {workers}")
    if workers > cpus:
        problem = f"{workers} workers take a CPU each, and the cluster has {cpus}"
        raise UsageError(problem, hint=hint)
    return root / str(workers)


def _shard_options(options: RunOptions, shard: Shard, folder: Path) -> RunOptions:
    """Return the options of one worker, with its share of the limits on all."""

    def share(name: str, limit: int | None) -> int | None:
        if limit is not None and limit < shard.of:
            problem = f"--{name} {limit} is less than one for each of {shard.of} workers"
            raise UsageError(problem, hint=f"allow {shard.of} or more, or name fewer --workers")
        if limit is None:
            return None
        # The first shards take one more each where the limit cannot be shared out evenly.
        takes_one_more = shard.number <= limit % shard.of
        return limit // shard.of + int(takes_one_more)

    output = Path(options.output)
    cost = options.cost
    if cost is not None:
        cost /= shard.of
    return replace(
        options,
        engine="local",
        shard=(shard.number, shard.of),
        output=str(shard.path(folder / "lines.jsonl")),
        rejects=options.rejects or str(output.with_name(f"{output.stem}.rejected.jsonl")),
        resume=True,
        fresh=False,
        calls=share("max-calls", options.calls),
        cost=cost,
        rpm=share("rpm", options.rpm),
    )


def rows_of(options: JudgedRows) -> tuple[LoadedJudge, Source, RunSettings]:
    """Return who judges which rows, and how; what is to be known of the judge is said."""
    mapping = mapping_of(options)
    loaded = loaded_of(options.judge, options, store_of(options))
    ask_settings = replace(loaded.settings, stopping=options.stopping, probabilities=options.probabilities)
    loaded = replace(loaded, settings=ask_settings)
    mapping.check(loaded.judge)
    proven_values = loaded.artifact.about.option_values if loaded.artifact else {}
    for option, value in loaded.judge.option_values.items():
        proven = proven_values.get(option, value)
        if proven != value:
            print_notes(
                f"{loaded.name} was proven for {option} {proven} and runs with {value}: "
                "its scores do not hold for that"
            )
    print_notes(loaded.note, loaded.ending)
    settings = RunSettings(budget=Budget.of(options), keep=_columns_to_keep(options.keep))
    if options.rejects is not None:
        settings = replace(settings, rejects=Path(options.rejects))
    if isinstance(options, RunOptions):
        shard = Shard(*options.shard) if options.shard else WHOLE
        settings = replace(settings, shard=shard, resume=options.resume, fresh=options.fresh)
    source = Source(name=options.input, judge=loaded.judge, mapping=mapping)
    print_notes(unread_language_note(loaded, source))
    loaded, source = in_language_of_rows(loaded, source)
    return loaded, source, settings


def _columns_to_keep(text: str) -> tuple[str, ...] | None:
    """Return the columns of ``--keep``, which output lines have, too; ``None`` for all of them."""
    columns = tuple(name.strip() for name in text.split(",") if name.strip())
    if columns == ("all",):
        return None
    if columns == ("none",):
        return ()
    return columns


def _canary(options: RunOptions, loaded: LoadedJudge, on_row: Callable[[], None]) -> "Canary":
    """Return the rows of the judge's proof, from where its gold is."""
    from ..gold.goldset import Gold
    from ..jobs.gold_origins import gold_source
    from ..runs.canary import Canary, canary_of

    gold = None
    try:
        if loaded.artifact:
            origin = loaded.artifact.about.gold
            gold = Gold.read_again(origin, loaded.judge, gold_source(origin, store_of(options)))
    except GoldError as error:
        hint = "put it where it was when the version was compiled"
        raise GoldError(f"the gold of {loaded.name}: {error.message}", hint=hint) from error
    rows = canary_of(loaded, gold.cases if gold else ())
    return Canary(rows=rows, on_row=on_row, tell=print_notes)


def foreseen(
    loaded: LoadedJudge, plan: RunPlan, budget: Budget, *, yes: bool, notes: Sequence[str] = ()
) -> CostEstimate | None:
    """Say what is about to be spent on a real model, ask above the limits, and return it, if it can be known."""
    if all(map(is_free, loaded.models)) or plan.to_ask == 0:
        return None
    if plan.to_ask is None:  # a pipe: nobody knows how much will come
        unpriced = [model.name for model in loaded.models if not model.has_price]
        approve(budget.calls, budget.cost, budget, yes=yes, unpriced=unpriced)
        approve_keys(loaded.models, yes=yes)
        return None
    fewest, most_questions = loaded.questions
    number = plan.to_ask * fewest, plan.to_ask * most_questions
    parts = [make_ask("judge", loaded.asker(), loaded.models, plan.shown, number)]
    parts += make_embedding_asks("judge", loaded.asker(), plan.to_ask, plan.shown)
    what = plural(plan.to_ask, "row")
    if plan.canary:
        number = len(plan.canary) * fewest, len(plan.canary) * most_questions
        parts.append(make_ask("canary", loaded.asker(), loaded.models, plan.canary, number))
        what += f" and a canary of {len(plan.canary)}"
    redraws = count_redraws(loaded, plan.to_ask)
    estimate = CostEstimate(what=what, asks=tuple(parts), budget=budget, redraws=redraws)
    agree(estimate, PaidAnswers(by_role={}), yes=yes, spent=plan.spent.calls, notes=notes)
    return estimate


def _ended(options: JudgedRows, summary: Summary) -> tuple[int, list[str]]:
    """Return the exit code, and the lines that say why it is not 0."""
    if summary.stopped:
        remaining = f"{summary.left} rows are left"
        if summary.unread:
            remaining = "the input was not read to its end"
        next_step = "--resume judges them"
        if options.output == "-":
            next_step = "start again with a new --output for them"
        if summary.signal:
            return 128 + summary.signal, [f"{summary.stopped}; {remaining}, {next_step}"]
        return 1, [f"stopped: {summary.stop_words}; {remaining}, {next_step}"]
    code = 0
    lines: list[str] = []
    if summary.drift is not None and summary.drift.shown:
        code = 3
        lines.append("the canary shows a change (exit code 3); the rows were judged all the same")
    failed = summary.verdicts.get("failed", 0)
    if summary.unusable <= options.max_unusable:
        if failed and options.output != "-":
            lines.append(f"{plural(failed, 'row')} failed; jurist run --resume asks the failed ones again")
        return code, lines
    line = (
        f"{summary.unusable:.1%} of the rows have no usable verdict; {options.max_unusable:.1%} are allowed "
        "(--max-unusable)"
    )
    if failed and options.output != "-":
        line += "; jurist run --resume asks the failed ones again"
    return 3, [*lines, line]


def in_brackets(counts: Mapping[str, int]) -> str:
    """Return counts by reason in brackets, the most frequent first; empty without any."""
    words = []
    for reason, count in sorted(counts.items(), key=lambda counted: -counted[1]):
        if count:
            words.append(f"{reason} {count}")
    if not words:
        return ""
    return f" ({', '.join(words)})"


def result_of(options: JudgedRows, loaded: LoadedJudge, summary: Summary) -> Result:
    """Return the result of a run that has ended: its counts, shares of labels and price."""
    counts = summary.to_json()
    output = Path(options.output)
    shares: Sequence[LabelShare] = ()
    if loaded.artifact and output.is_file() and not summary.stopped:  # a proof corrects the shares
        from ..jobs.sharing import label_shares

        shares = label_shares(output, loaded)

    resumed_words = f"{counts['resumed']} done before"
    if counts["abstained_before"]:
        reasons = in_brackets(summary.error_kinds_before)
        resumed_words += f", {counts['abstained_before']} of them abstained{reasons}"
    verdict_words = (
        f"{plural(counts['verdict'], 'verdict')}, {counts['abstained']} abstained, {counts['failed']} failed"
    )
    parts = [
        f"{plural(counts['rows'], 'row')} ({resumed_words})",
        verdict_words + in_brackets(summary.error_kinds),
    ]
    parts += summary.total_words
    if shares:
        parts.append(shares[0].words)
    parts += summary.lines
    parts.append(taken_words(spend_in(summary.spend)))
    if summary.seconds_per_row:
        parts.append(f"{summary.seconds_per_row:.2f} seconds a row")
    line = f"{loaded.name}: {'; '.join(parts)}"

    code, notes = _ended(options, summary)
    if options.output == "-":  # standard output has the rows, and nothing else
        return Result(data={}, notes=[line] + notes, code=code)
    data: dict[str, Any] = {"judge": loaded.name, "output": options.output, "note": loaded.note}
    data |= counts
    if shares:
        data["shares"] = [asdict(share) for share in shares]
    data["rejects"] = summary.rejects
    data["spend"] = summary.spend
    body = [line]
    is_shard = isinstance(options, RunOptions) and options.shard is not None
    if code == 0 and counts["rows"] and not is_shard:
        body.append(_step_after_run(output))
    return Result(data=data, body=body, notes=notes, code=code)


def _step_after_run(output: Path) -> str:
    """Return the command that comes after all rows are judged: their page."""
    return f"next: jurist report {shlex.quote(str(output))} (a page of the rows and their verdicts)"


def join_shards(options: JoinOptions) -> Result:
    """Join the outputs of shards; exit code 3 if one of them is unfinished."""
    shards = [Path(name) for name in options.shards]
    output = Path(options.output)
    with claimed(output, options.shards, going_on=False):
        rows = join(shards, output)
    unfinished = []
    notes = []
    for path in shards:
        if checkpoint_of(path).exists():
            unfinished.append(str(path))
            notes.append(f"{path} is not finished; run it with --resume, then join again")
    body = [f"{options.output}: {plural(rows, 'row')} of {plural(len(shards), 'shard')}"]
    if rows and not unfinished:
        body.append(_step_after_run(output))
    return Result(
        data={"output": options.output, "rows": rows, "shards": len(shards), "unfinished": unfinished},
        body=body,
        notes=notes,
        code=3 if unfinished else 0,
    )
