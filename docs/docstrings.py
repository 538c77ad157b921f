"""Docstrings on the page of Python: names in roles of Sphinx become links to that page, or code."""

import re

import griffe

import jurist

_ROLE = re.compile(r":[a-z]+:`~?([\w.]+)`")


class RolesToLinks(griffe.Extension):
    """Rewrites the docstring of every object before the page shows it."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        """Replace the roles of one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub(_link, obj.docstring.value)


def _link(role: re.Match[str]) -> str:
    """Return a link to a public name, or to that of which it is a member; of any other name its last part as code."""
    path = role[1].removeprefix("jurist.")
    name = path.partition(".")[0]
    if name in dir(jurist):
        return f"[`{path}`](#jurist.{name})"
    return f"`{path.rpartition('.')[2]}`"
