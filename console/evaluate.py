"""``jurist evaluate``."""

from ..arguments.compare import EvaluateOptions
from ..jobs.evaluating import Evaluating, evaluation_of
from ..jobs.foresee import foresee
from ..keeping.paying import paying
from ..report.document import flat
from ..report.views import evaluation_sections
from .common import budget_of, gold_of, loaded_of, start_of, store_of, write_json
from .compare import asked
from .printing import Result


def run(options: EvaluateOptions) -> Result:
    """Score one judge on gold."""
    store = store_of(options)
    loaded = loaded_of(options.judge, options, store)
    gold = gold_of(options.gold, loaded.judge, options)
    work = Evaluating(contenders=(loaded,), gold=gold, budget=budget_of(options))
    with paying(work, start_of(options, store)) as job:
        forecast = foresee(work)
        (answers,) = asked(work, job, forecast, yes=options.yes)
        found = evaluation_of(work, answers)
        data = {**found.to_json(), "forecast": forecast.to_json()}
        write_json(data, options.output)
    return Result(data=data, body=flat(evaluation_sections(data, options.worst)))
