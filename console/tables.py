"""``jurist table cognibench-2``: what CogniBench's Table 2 and Figures 5 to 7 count."""

from ..arguments.scoring import StatisticsOptions
from ..jobs.recorded import read_logs_beside
from ..papers.cognibench.statistics import DatasetStatistics
from ..programs.cognibench import COGNIBENCH
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
