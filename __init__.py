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

from importlib import import_module

MODULES = {
    "Artifact": "keeping.artifact_card",
    "Budget": "engines.meter",
    "Cascade": "jobs.cascading",
    "Case": "cases",
    "Check": "evaluation.checked_items",
    "Comparison": "jobs.comparing",
    "Compiled": "jobs.compiling",
    "Generator": "programs.generator",
    "Gold": "gold.goldset",
    "Interrupted": "errors",
    "Judge": "programs.judge",
    "JuristError": "errors",
    "LabelSet": "programs.answers.whole",
    "LoadedJudge": "keeping.loading",
    "Model": "engines.models",
    "ObjectSet": "programs.answers.whole",
    "OneLabel": "programs.answers.labels",
    "Preference": "programs.answers.labels",
    "Proof": "evaluation.proof",
    "Rejects": "gold.rejects",
    "RowMapping": "gold.mapping",
    "Sampling": "evaluation.votes",
    "Score": "programs.answers.whole",
    "StoppedError": "errors",
    "Store": "keeping.artifacts",
    "Trace": "text.traces",
    "Verdict": "programs.verdicts",
    "agreement": "report.gold_checks",
    "artifacts": "report.listing",
    "assert_judge": "jobs.scoring",
    "assess": "jobs.assessing",
    "cascade": "jobs.scoring",
    "check_gold": "report.gold_checks",
    "compare": "jobs.scoring",
    "compile": "jobs.compiling",
    "evaluate": "jobs.scoring",
    "export": "jobs.exporting",
    "frozen": "programs.frozen",
    "gate": "jobs.scoring",
    "generate": "jobs.generation",
    "harden": "jobs.scoring",
    "import_gold": "report.gold_checks",
    "judge": "jobs.judges",
    "load": "jobs.judges",
    "move": "jobs.moving",
    "plan_gold": "jobs.gold_plan",
    "prove": "jobs.unlabelled",
    "refit": "jobs.refitting",
    "run": "jobs.judges",
    "share": "jobs.sharing",
    "table": "papers.cognibench.detectors_table",
    "verifier": "programs.frozen",
    "write_report": "jobs.reporting",
}
"""Public name -> the module that defines it; a test compares it with ``__init__.pyi``, which type checkers read."""
__all__ = sorted([*MODULES, "__version__"])


def __getattr__(name: str) -> object:
    """Return the public object of this name, after importing the module that defines it."""
    if name == "__version__":
        from importlib.metadata import version

        return version("jurist")
    module = MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'jurist' has no attribute {name!r}")
    return getattr(import_module(f".{module}", __name__), name)


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
