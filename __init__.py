"""jurist: the compiler for LLM judges.

A judge is a DSPy program with a typed signature and an answer: a label, a score,
several labels, a set of objects, or a preference.
jurist compiles its prompt against human labels, proves the result on rows that
no optimizer saw, keeps it as a versioned artifact, and runs, compares and
exports it.

>>> import jurist
>>> gold = jurist.Gold.load("fect-mini", jurist.judge("fect"))       # doctest: +SKIP
>>> compiled = jurist.compile("fect", gold="fect-mini")              # doctest: +SKIP
>>> judge = jurist.load("fect")                                      # doctest: +SKIP
>>> judge(conversation="...", claim="...").label                     # doctest: +SKIP

Importing this package is cheap: DSPy and everything else that is heavy is
imported by the first call that needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .api import cascade, compare, compile, evaluate, gate, harden, judge, load
    from .cases import Case
    from .engines.meter import Budget
    from .engines.models import Model
    from .errors import JuristError, StoppedError
    from .evaluation.checked_items import Check
    from .evaluation.proof import Proof
    from .evaluation.votes import Sampling
    from .gold.goldset import Gold
    from .gold.mapping import RowMapping
    from .gold.rejects import Rejects
    from .jobs.cascading import Cascade
    from .jobs.comparing import Comparison
    from .jobs.compiling import Compiled
    from .jobs.public import export, prove, run, share
    from .keeping.artifact_card import Artifact
    from .keeping.artifacts import Store
    from .keeping.loading import LoadedJudge
    from .programs.answers.labels import OneLabel, Preference
    from .programs.answers.whole import LabelSet, ObjectSet, Score
    from .programs.frozen import frozen, verifier
    from .programs.generator import Generator
    from .programs.judge import Judge
    from .programs.verdicts import Verdict

    __version__: str

_NAMES = {
    "api": "cascade compare compile evaluate gate harden judge load",
    "cases": "Case",
    "engines.meter": "Budget",
    "engines.models": "Model",
    "errors": "JuristError StoppedError",
    "evaluation.checked_items": "Check",
    "evaluation.proof": "Proof",
    "evaluation.votes": "Sampling",
    "gold.goldset": "Gold",
    "gold.mapping": "RowMapping",
    "gold.rejects": "Rejects",
    "jobs.cascading": "Cascade",
    "jobs.comparing": "Comparison",
    "jobs.compiling": "Compiled",
    "jobs.public": "export prove run share",
    "keeping.artifact_card": "Artifact",
    "keeping.artifacts": "Store",
    "keeping.loading": "LoadedJudge",
    "programs.answers.labels": "OneLabel Preference",
    "programs.answers.whole": "LabelSet ObjectSet Score",
    "programs.frozen": "frozen verifier",
    "programs.generator": "Generator",
    "programs.judge": "Judge",
    "programs.verdicts": "Verdict",
}
"""Module -> the public names in it."""
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = [
    "Artifact",
    "Budget",
    "Cascade",
    "Case",
    "Check",
    "Comparison",
    "Compiled",
    "Generator",
    "Gold",
    "Judge",
    "JuristError",
    "LabelSet",
    "LoadedJudge",
    "Model",
    "ObjectSet",
    "OneLabel",
    "Preference",
    "Proof",
    "Rejects",
    "RowMapping",
    "Sampling",
    "Score",
    "StoppedError",
    "Store",
    "Verdict",
    "__version__",
    "cascade",
    "compare",
    "compile",
    "evaluate",
    "export",
    "frozen",
    "gate",
    "harden",
    "judge",
    "load",
    "prove",
    "run",
    "share",
    "verifier",
]


if not TYPE_CHECKING:  # whoever checks types would take any name for one of these

    def __getattr__(name):
        """Import what is asked for, and only that."""
        if name == "__version__":
            from importlib.metadata import version

            return version("jurist")
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'jurist' has no attribute {name!r}")
        return getattr(import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
