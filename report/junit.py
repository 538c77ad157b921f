"""A report in JUnit's XML, which GitLab, Jenkins and most CI systems show beside the tests of a project."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree

from ..errors import printable

CheckOutcome = Literal["passed", "failed", "undecided"]
"""Whether a check holds; ``undecided`` where the rows cannot tell, or it could not run."""
_ELEMENTS: dict[CheckOutcome, str] = {"failed": "failure", "undecided": "error"}


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """The result of one check, which becomes a test case of the report."""

    name: str
    outcome: CheckOutcome
    words: str  # what was found


def junit_xml(suite: str, checks: Sequence[CheckResult], *, decision: str, seconds: float) -> str:
    """Return a report of one test suite with a test case for each check, as XML with a declaration.

    Args:
        suite: the name of the suite, such as ``jurist gate fect@1``.
        checks: the checks, in their order.
        decision: the decision in one line; it stands in the suite's output.
        seconds: how long all checks took together.
    """
    outcomes = [check.outcome for check in checks]
    totals = {
        "tests": str(len(checks)),
        "failures": str(outcomes.count("failed")),
        "errors": str(outcomes.count("undecided")),
        "time": f"{seconds:.3f}",
    }
    root = ElementTree.Element("testsuites", totals)
    # XML cannot hold control characters, and names and labels come from elsewhere.
    suite_name = printable(suite)
    suite_element = ElementTree.SubElement(root, "testsuite", {"name": suite_name, "skipped": "0", **totals})
    for check in checks:
        attributes = {"classname": suite_name, "name": printable(check.name), "time": "0"}
        case = ElementTree.SubElement(suite_element, "testcase", attributes)
        element = _ELEMENTS.get(check.outcome)
        if element is not None:
            message = printable(f"{check.name}: {check.words}")
            ElementTree.SubElement(case, element, {"message": message, "type": check.outcome}).text = message
    ElementTree.SubElement(suite_element, "system-out").text = printable(decision)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
