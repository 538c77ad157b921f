"""Where a compiled judge goes: each target system is a class, and every export is stamped with the artifact's hash."""

from collections.abc import Mapping
from typing import TypeGuard

from ..errors import UsageError, suggest_name
from ..programs.plugins import PluginKind, split_file_name
from .description import variables
from .portable_judge import filled
from .target import Exporter, Prompt, Subject, prompt_of

__all__ = [
    "EXPORTERS",
    "PLUGIN_EXPORTERS",
    "Exporter",
    "Prompt",
    "Subject",
    "export_targets",
    "exporter",
    "filled",
    "prompt_of",
    "variables",
]


def _is_exporter(value: object) -> TypeGuard[Exporter]:
    return isinstance(value, Exporter) and not isinstance(value, type)


PLUGIN_EXPORTERS = PluginKind(
    group="jurist.exports",
    noun="exporter",
    expected="a jurist.exports.Exporter (name, suffix, limits and render)",
    accepts=_is_exporter,
    error=UsageError,
)
"""Targets of the modules in ``targets/``, of Python files and of installed packages."""
EXPORTERS: Mapping[str, Exporter] = PLUGIN_EXPORTERS.load_modules("exports.targets")
"""The targets that come with jurist, by name."""


def export_targets() -> list[str]:
    """Return the names of all targets: jurist's own, then those of installed packages."""
    installed = [name for name in PLUGIN_EXPORTERS.installed_names() if name not in EXPORTERS]
    return list(EXPORTERS) + installed


def exporter(target: str) -> Exporter:
    """Return the target of a name that comes with jurist or an installed package, or of ``FILE.py:NAME``.

    Raises:
        UsageError: there is none, or the file or the package does not hold one.
    """
    path, attribute = split_file_name(target)
    if path is not None:
        return PLUGIN_EXPORTERS.from_file(path, attribute)
    if target in EXPORTERS:
        return EXPORTERS[target]
    plugin = PLUGIN_EXPORTERS.from_package(target)
    if plugin is None:
        raise UsageError(
            f"no export target is called {target!r}", hint=suggest_name(target, export_targets())
        )
    return plugin
