"""``jurist gate``."""

from ..arguments.gate import GateOptions
from ..gold.writing import check_files
from ..jobs.foresee import foresee
from ..jobs.gating import Criteria, Gate, Gating, against, gate_of, limits_of
from ..keeping.paying import paying
from ..report.junit import junit
from ..report.scores import OFFLINE
from ..report.table import table
from .common import budget_of, gold_of, loaded_of, progress, start_of, store_of, write_json, write_text
from .compare import asked
from .printing import Part, Result


def run(options: GateOptions) -> Result:
    """Hold a judge against limits and another version; exit code 3 if it does not pass."""
    check_files(options.junit)
    other, reference = against(options.not_worse_than)
    criteria = _criteria(options, reference)
    store = store_of(options)
    names = [options.judge, *([_other(options)] if other else [])]
    judges = [loaded_of(name, options, store) for name in names]
    gold = gold_of(options.gold, judges[0].judge, options)
    work = Gating.of(judges, gold=gold, budget=budget_of(options), criteria=criteria)
    with paying(work, start_of(options, store)) as job:
        answers = asked(work, job, foresee(work), yes=options.yes)
        with progress(work.attacked_rows, "attacking") as step:
            robustness = work.attack(answers, step)
        found = gate_of(work, answers, robustness, seed=options.seed)
        write_json(found.to_json(), options.output)
        if options.junit:
            checks = [(one.name, one.passed, one.words) for one in found.checks]
            write_text(junit(f"{found.judge} on {found.gold}", checks), options.junit)
    return _result(found, offline=all(one.model.offline for one in judges))


def _result(found: Gate, *, offline: bool) -> Result:
    rows = [["pass" if one.passed else "FAIL", one.name, one.words] for one in found.checks]
    body: list[Part] = [table("", ["", "check", "found"], rows), found.words, *([OFFLINE] if offline else [])]
    return Result(data=found.to_json(), body=body, code=0 if found.passed else 3)


def _criteria(options: GateOptions, reference: str) -> Criteria:
    return Criteria.of(options, limits=limits_of(options.minimum, options.maximum), reference=reference)


def _other(options: GateOptions) -> str:
    named = str(options.not_worse_than)
    return options.judge.partition("@")[0].removesuffix(":basic") + named if named[:1] in "@:" else named
