"""For a project's own tests: a judge that is not good enough fails the test.

>>> from jurist.testing import assert_judge                                              # doctest: +SKIP
>>> def test_the_judge():                                                                # doctest: +SKIP
...     assert_judge("fect", gold="labels.csv", minimum={"f1": 0.8}, not_worse_than="fect@prod")
"""

from typing import Any

from .api import gate
from .jobs.gating import Gate
from .jobs.surface import GoldLike


def assert_judge(judge: Any, gold: GoldLike, **criteria: Any) -> Gate:
    """Fail unless a judge passes a gate; takes what :func:`jurist.gate` takes, and returns what it returns.

    Raises:
        AssertionError: a check does not hold; its message has the numbers.
        What :func:`jurist.gate` raises.
    """
    __tracebackhide__ = True  # pytest shows the test, not this
    found = gate(judge, gold, **criteria)
    if not found.passed:
        raise AssertionError(found.words)
    return found
