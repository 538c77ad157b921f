"""``jurist compare``."""

from collections.abc import Sequence

from ..arguments.compare import CompareOptions
from ..errors import UsageError
from ..evaluation.paired import wide
from ..gold.writing import check_files
from ..jobs.comparing import compare
from ..jobs.estimate import Estimate
from ..jobs.experiment import Answers, Experiment, scoring_judge
from ..jobs.foresee import foresee
from ..keeping.artifacts import Store
from ..keeping.paying import PaidJob, paying
from ..report.document import flat
from ..report.plotting import check_drawable, draw_densities
from ..report.views import comparison_sections
from .approving import agree
from .common import budget_of, gold_of, judge_for, models_of, progress, start_of, store_of, write_json
from .printing import Result, remark
from .strata import People

_DEVIATION = "mean_deviation"


def run(options: CompareOptions) -> Result:
    """Compare judges on gold."""
    store = store_of(options)
    experiment = _experiment(options, store)
    if options.plot:
        _check_plot(experiment, options.plot)
    with paying(experiment, start_of(options, store)) as job:
        forecast = foresee(experiment)
        contenders = len(experiment.contenders)
        tests = contenders - 1 if options.pairs == "first" else contenders * (contenders - 1) // 2
        answers = asked(experiment, job, forecast, yes=options.yes, tests=tests)
        comparison = compare(
            answers,
            gold=experiment.gold.name,
            left_out=experiment.left_out,
            pairs=options.pairs,
            seed=options.seed,
            look=experiment.look,
            references=experiment.references(options.seed),
        )
        people = People.of(experiment, answers)
        found = {**comparison.to_json(), **people.to_json(), "forecast": forecast.to_json()}
        write_json(found, options.output)
        if options.plot:
            _plot(answers, options.plot)
            remark(f"drew {options.plot}")
    return Result(data=found, body=flat(comparison_sections(found, *people.lines())))


def asked(
    experiment: Experiment, job: PaidJob, forecast: Estimate, *, yes: bool, tests: int = 0
) -> list[Answers]:
    """Say what is about to be spent and can be shown by it, ask a person where that is much, then ask the judges."""
    agree(forecast, job.paid, yes=yes, notes=_notes(experiment, tests))
    with progress(experiment.rows, "asking") as step:
        return experiment.ask(job, step)


def _experiment(options: CompareOptions, store: Store) -> Experiment:
    loaded = [judge_for(reference, options, store, options.names[0]) for reference in options.judges]
    contenders = [
        one
        for judge in loaded
        for one in judge.on(models_of(options, judge, options.seed), draws=options.repeats)
    ]
    return Experiment(
        contenders=tuple(contenders),
        gold=gold_of(options.gold, scoring_judge(contenders), options),
        repeats=options.repeats,
        budget=budget_of(options),
    )


def _notes(experiment: Experiment, tests: int) -> list[str]:
    notes = list(dict.fromkeys(one.note for one in experiment.contenders if one.note))
    named = list(zip(experiment.names, experiment.contenders, strict=True))
    for name, one in named:
        if name != (first := next(known for known, other in named if other.is_same(one))):
            notes.append(f"{name} is {first} once more")
    if experiment.repeats > 1 and any(one.model.temperature == 0 for one in experiment.contenders):
        notes.append("at temperature 0, repeats differ only by what the model itself still varies")
    look, comparison = experiment.look, experiment.scored.comparison
    single = tests if experiment.repeats == 1 else 0  # of repeats, no unit is simply right or wrong
    groups = len({case.group for case in experiment.cases})
    alone = len(experiment.contenders) == 1
    told = [wide(groups)] if alone else look.limits(experiment.cases, comparison, single)
    return [said for said in (*notes, look.words, *told) if said]


def _check_plot(experiment: Experiment, path: str) -> None:
    """Find out before anything is paid."""
    judge = experiment.contenders[0].judge
    if _DEVIATION not in judge.comparison.metrics:
        raise UsageError(
            f"--plot draws how far scores are from gold, and {judge.name} gives no scores",
            hint="leave it out, or compare judges of scores",
        )
    check_drawable(path)
    check_files(path)


def _plot(answers: Sequence[Answers], path: str) -> None:
    """Draw the density of answer minus gold, a line for each contender; missing answers are left out."""
    metric = answers[0].judge.judge.comparison.metrics[_DEVIATION]
    deviations = {
        one.name: [
            value - gold
            for rows in one.repeats
            for row in rows
            for gold, value in zip(row.gold, row.predicted, strict=True)
            if gold is not None and value is not None
        ]
        for one in answers
    }
    draw_densities(
        path,
        deviations,
        metric.low,
        metric.high,
        title="how far scores are from gold",
        x="deviation (answer less gold)",
    )
