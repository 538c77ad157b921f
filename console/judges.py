"""``jurist judges``: the judges and generators that have names. It imports neither DSPy nor NumPy."""

from collections.abc import Sequence

from ..arguments.groups import Form
from ..programs.builtin import Description, builtin_descriptions
from ..programs.plugins import installed_plugins
from ..report.table import Table, table
from .printing import Result


def list_judges(options: Form) -> Result:
    """List the judges and generators that come with jurist, and the names of those in installed packages."""
    plugins = installed_plugins("jurist.judges")
    judges = builtin_descriptions("judges")
    generators = builtin_descriptions("generators")
    data: dict[str, object] = {
        "judges": [judge.data for judge in judges],
        "generators": [generator.data for generator in generators],
    }
    body = [
        _catalogue_table("judge", "what it decides", judges),
        _catalogue_table("generator", "what it writes", generators),
    ]
    if plugins:
        entries = []
        rows = []
        for plugin in plugins:
            entries.append({"name": plugin.name, "package": plugin.package})
            rows.append([plugin.name, plugin.package])
        data["installed"] = entries
        body.append(table("", ["of other packages", "package"], rows))
    return Result(data=data, body=body)


def _catalogue_table(kind: str, purpose: str, entries: Sequence[Description]) -> Table:
    """Return a row for each judge, or generator, with its answers and its metric."""
    rows = []
    for entry in entries:
        rows.append(
            [entry.data["name"], entry.data["description"], ", ".join(entry.answers), entry.data["metric"]]
        )
    return table("", [kind, purpose, "answers", "metric"], rows)
