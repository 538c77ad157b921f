"""The public functions that hold judges against labelled rows: ``evaluate``, ``compare``, ``gate`` and so on.

>>> import jurist                                                                        # doctest: +SKIP
>>> def test_the_judge():                                                                # doctest: +SKIP
...     jurist.assert_judge("fect", "labels.csv", minimum={"f1": 0.8}, not_worse_than="fect@prod")
"""

from collections.abc import Callable, Sequence
from typing import Any, Unpack

from ..errors import Count, Seed, checked
from .cascading import Cascade, Cascading
from .comparing import Comparing, Comparison, Evaluating, Evaluation
from .gating import Gate, GateCriteria, Gating, Limits, limits_of
from .hardening import Hardening, Robustness
from .judges import JudgeLike, load_cascade, load_contenders
from .surface import Asking, GoldLike, ModelLike, resolve_asking


@checked
def evaluate(
    judge: JudgeLike,
    gold: GoldLike,
    *,
    by: str = "",
    model: ModelLike | None = None,
    **asking: Unpack[Asking],
) -> Evaluation:
    """Score a judge on gold: every metric with its 95 % interval, scores by class, and what to read first.

    Args:
        judge, gold, asking: as for :func:`compare`.
        by: the name of a column of the gold, such as a language, with 50 values at most: the rows with each value are
            scored, too, in ``by_column``; default: none.
        model: the model that answers; default: of a version, and of a judge that was loaded, its own, else
            ``offline``.

    Returns:
        The scores of the judge by metric, most of them from 0 to 1: ``evaluation["f1"]`` has ``value`` and
        ``interval``. ``records()`` has a row for each metric and each value of the column.

    Raises:
        UsageError: no row has the column ``by``, or the column has more than 50 values.
        JuristError: as :func:`compare`.
    """
    evaluation: Evaluation = _measured(Evaluating, [judge], model, gold, asking, column=by)
    return evaluation


def _measured(
    work: Callable[..., Any],
    judges: JudgeLike | Sequence[JudgeLike],
    models: ModelLike | Sequence[ModelLike] | None,
    gold: GoldLike,
    asking: Asking,
    *,
    title: str = "",
    load: Callable[..., Any] = load_contenders,
    **settings: Any,
) -> Any:
    """Load judges and gold, ask the judges as a job, and return its result.

    Args:
        work: makes the job, such as :class:`Comparing`.
        title: names the job in its progress; empty: the first judge does.
        load: makes contenders of ``judges``.
        settings: further arguments of ``work``.
    """
    surface, limits, options = resolve_asking(asking)
    contenders = load(judges, models, surface.store, options, settings.get("repeats", 1))
    contenders, labelled = surface.held_against(contenders, gold)
    job = work(contenders=contenders, gold=labelled, budget=limits, store=surface.store, **settings)
    return surface.measured(job, title or contenders[0].name)


@checked
def harden(
    judge: JudgeLike,
    gold: GoldLike,
    *,
    only: Sequence[str] = (),
    cases: Count = 100,
    field: str = "",
    model: ModelLike | None = None,
    **asking: Unpack[Asking],
) -> Robustness:
    """Attack a judge, and measure how often its answer changes where it must not; an artifact of the store keeps this.

    Args:
        judge, gold, asking: as for :func:`compare`.
        only: attacks or probes by name, such as ``fake-verdict``; default: all.
        cases: the most cases that are attacked.
        field: the input that is attacked; default: the judged text.
        model: as for :func:`evaluate`.

    Raises:
        UsageError: the field cannot be attacked.
        JuristError: as :func:`compare`.
    """
    how: dict[str, Any] = {"only": tuple(only), "case_limit": cases, "field": field}
    robustness: Robustness = _measured(Hardening, [judge], model, gold, asking, **how)
    return robustness


@checked
def compare(
    judges: JudgeLike | Sequence[JudgeLike],
    gold: GoldLike,
    *,
    models: ModelLike | Sequence[ModelLike] | None = None,
    repeats: Count = 1,
    by: str = "",
    seed: Seed = 0,
    **asking: Unpack[Asking],
) -> Comparison:
    """Score judges on the same gold, judges x models x repeats, and test the first against each other one (Holm).

    Args:
        judges: see :data:`JudgeLike`; all of them have the same inputs and give the same kind of values.
        gold: labelled rows; see :data:`GoldLike`. Rows that an artifact was compiled on are left out, and counted.
        models: the models with each of which every judge that is given by name is asked; default: of a version its
            own, of a basic prompt that of the first version, else ``offline``.
        repeats: the number of times that everything is asked, 1 or more, with other draws each (FECT section 3.1: 10).
        by: as for :func:`evaluate`.
        seed: the seed of the permutation test.
        asking: ``budget``, hard limits for everything together; ``mapping``, what the gold calls columns and labels;
            ``raters`` and ``merge``, the columns of several raters and the rule that merges them;
            ``store``, the folder of artifacts (default ``$JURIST_STORE``, else ``./compiled``); ``fresh``, to ask
            anew: otherwise the same call continues an interrupted run, and answers of finished ones are used again, so
            that nothing is paid twice; and, of judges given by name, as for :func:`load`: ``samples``, ``threshold``,
            ``concurrency``, ``strictness``, ``verifier``, ``verifiers``, ``adapter``, ``redraws``.

    Raises:
        UsageError: they cannot be compared.
        JudgeError, ArtifactError: as :func:`load`.
        GoldError: the gold cannot be used.
        CheckpointError: there is an unfinished run, and ``resume=False``.
        StoppedError: a limit; paid answers are kept.
        Interrupted: Ctrl-C; they are kept, too.
        ModelError: a model cannot be used at all.
    """
    how: dict[str, Any] = {"repeats": repeats, "column": by, "seed": seed}
    comparison: Comparison = _measured(Comparing, judges, models, gold, asking, title="comparing", **how)
    return comparison


@checked
def cascade(
    judges: JudgeLike | Sequence[JudgeLike],
    gold: GoldLike,
    *,
    agree: float = 0.9,
    risk: float = 0.1,
    models: ModelLike | Sequence[ModelLike] | None = None,
    seed: Seed = 0,
    **asking: Unpack[Asking],
) -> Cascade:
    """Choose on gold how sure each of several judges must be to answer; the next one is asked where it is not.

    The level is the lowest at which the rows that are answered agree with people to ``agree``, but for ``risk``: by
    fixed-sequence testing (Jung et al. 2024). It is kept as the next version of the last judge, if it was shown and
    no judge is a log.

    Args:
        judges: in the order in which they are asked; each gives one answer a row.
        gold, asking: as for :func:`compare`.
        agree: the share of the answered rows on which people must say the same, above 0 and below 1.
        risk: how probable it may be at most that they do not, above 0 and below 1.
        models: one for all judges that are given by name, or one for each; default: as for :func:`compare`.
        seed: of the parts of the gold in which rows tell of each other.

    Raises:
        UsageError: a judge gives several answers a row, or other labels.
        JuristError: as :func:`compare`.
    """
    how: dict[str, Any] = {"load": load_cascade, "agree": agree, "risk": risk, "seed": seed}
    chosen: Cascade = _measured(Cascading, judges, models, gold, asking, title="asking", **how)
    return chosen


@checked
def gate(
    judge: JudgeLike,
    gold: GoldLike,
    *,
    minimum: Limits = (),
    maximum: Limits = (),
    not_worse_than: JudgeLike | None = None,
    margin: float | None = None,
    sure: bool = False,
    max_unusable: float = 0.05,
    at_least: Count = 20,
    model: ModelLike | None = None,
    seed: Seed = 0,
    **asking: Unpack[Asking],
) -> Gate:
    """Say whether a judge is good enough on gold, and not worse than another version.

    Args:
        judge, gold, seed, asking: as for :func:`compare`.
        minimum: metric -> the lowest value that passes; pairs for several of one metric.
        maximum: metric -> the highest value that passes, of an error.
        not_worse_than: another one; fails if the judge is shown to be worse.
        margin: how much worse it may be: the interval must show that it is not worse by more. Default: 0.05, and of
            errors 0.05 of their range.
        sure: hold the worse end of the 95 % interval against the limits.
        max_unusable: the largest share of labelled units without an answer, and of rows of the gold that are set aside.
        at_least: labelled units that must be left once rows are left out, in six groups or more.
        model: as for :func:`evaluate`.

    Raises:
        UsageError: a limit is of a metric that there is not.
        JuristError: as :func:`compare`; or the rows that are left are too few, or of one class.
    """
    limits = limits_of(minimum, maximum)
    criteria = GateCriteria(
        limits=limits, sure=sure, margin=margin, max_unusable=max_unusable, at_least=at_least
    )
    judges = [judge] if not_worse_than is None else [judge, not_worse_than]
    how: dict[str, Any] = {"criteria": criteria, "seed": seed}
    decided: Gate = _measured(Gating.of, judges, model, gold, asking, title="judging", **how)
    return decided


def assert_judge(judge: JudgeLike, gold: GoldLike, **criteria: Any) -> Gate:
    """Fail a test unless a judge passes a gate; takes what :func:`gate` takes, and returns what it returns.

    Raises:
        AssertionError: a check does not hold; its message has the numbers.
        JuristError: as :func:`gate`.
    """
    __tracebackhide__ = True  # pytest shows the test, not this
    decided = gate(judge, gold, **criteria)
    if not decided.passed:
        raise AssertionError(decided.words)
    return decided
