"""Checks as a JUnit file, which every CI system shows."""

from collections.abc import Sequence
from xml.etree import ElementTree

from ..errors import printable


def junit(suite: str, checks: Sequence[tuple[str, bool, str]]) -> str:
    """Return the XML of one suite."""
    failures = str(sum(not passed for _, passed, _ in checks))
    root = ElementTree.Element("testsuites")
    about = {"name": printable(suite), "tests": str(len(checks)), "failures": failures, "errors": "0"}
    tests = ElementTree.SubElement(root, "testsuite", about)
    for name, passed, words in checks:
        one = ElementTree.SubElement(
            tests, "testcase", {"classname": "jurist.gate", "name": printable(name), "time": "0"}
        )
        if passed:
            ElementTree.SubElement(one, "system-out").text = printable(words)
        else:
            ElementTree.SubElement(one, "failure", {"message": printable(words)})
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
