"""Tables that ask nothing: CogniBench's Table 2 and Figures 5 to 7 and 11, and FAITHQA's Figure 3 in numbers."""

from ..arguments.scoring import DeviationOptions, StatisticsOptions
from ..jobs.recorded import read_logs_beside
from ..papers.cognibench.statistics import DatasetStatistics
from ..papers.faithqa.deviations import Deviations, DeviationTable
from ..programs.cognibench import COGNIBENCH
from ..programs.faithqa.judges import CONSTRAINT_SCORE
from .printing import Result, write_json
from .rows import gold_of


def statistics_command(options: StatisticsOptions) -> Result:
    """Count responses, sentences, words and labels."""
    gold = gold_of(options.gold, COGNIBENCH, options, labelled=False)
    log = None
    if options.verdicts:
        (log,) = read_logs_beside([options.verdicts], gold)
    statistics = DatasetStatistics.of(gold, log)
    data = statistics.to_json()
    write_json(data, options.output)
    body = list(statistics.sheets())
    return Result(data=data, body=body)


def deviations_command(options: DeviationOptions) -> Result:
    """Hold scores against those of people."""
    gold = gold_of(options.gold, CONSTRAINT_SCORE, options)
    judges = []
    for log in read_logs_beside(options.scores, gold):
        judges.append(Deviations.of(gold, log))
    deviations = DeviationTable(gold=gold.name, judges=tuple(judges))
    data = deviations.to_json()
    write_json(data, options.output)
    body = list(deviations.sheets())
    return Result(data=data, body=body)
