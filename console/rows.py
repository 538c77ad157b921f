"""Stores, mappings and gold from the options of a command. Nothing here asks a model, or imports DSPy."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..arguments.groups import NameOptions, RaterOptions, RowOptions, SplitOptions, StoreOptions
from ..errors import UsageError, plural
from ..gold.mapping import RowMapping
from ..gold.rejects import Rejects
from ..keeping.artifacts import Store
from ..keeping.trust import Trust
from ..programs.judge import Judge
from .printing import print_notes

if TYPE_CHECKING:
    from ..gold.goldset import Gold


def store_of(options: StoreOptions) -> Store:
    """Return the store that ``--store`` names."""
    return Store(options.store, trust=Trust(trusts_all=options.trust, say=print_notes))


def check_apart(output: str | None, *inputs: str) -> None:
    """Refuse an output that is one of the inputs: often there is no other copy of labels."""
    for source in inputs:
        if output is None or not Path(output).exists():
            continue
        if os.path.realpath(output) == os.path.realpath(source):
            raise UsageError(
                f"{output} is an input, and would be lost", hint="name another file with --output"
            )


def mapping_of(options: NameOptions) -> RowMapping:
    """Return the mapping of columns and labels in the user's files."""
    mapping = RowMapping(columns=dict(options.columns), labels=dict(options.labels))
    if isinstance(options, RaterOptions):
        mapping = replace(mapping, raters=options.raters, merge=options.merge)
    if isinstance(options, SplitOptions):
        mapping = replace(mapping, keep_groups=options.keep_groups)
    return mapping


def gold_of(
    source: str | Sequence[str], judge: Judge, options: RowOptions, *, labelled: bool = True
) -> "Gold":
    """Return gold, read as the options say; print its notes, and how many rows were set aside."""
    from ..gold.goldset import Gold

    rejects = rejects_of(options)
    gold = Gold.load(source, judge, labelled=labelled, mapping=mapping_of(options), rejects=rejects)
    print_notes(*gold.notes, *gold.misspelt_words)
    if rejects and rejects.count:
        rows = plural(rejects.count, "unusable row")
        print_notes(f"{rows} of {gold.source} set aside in {rejects.path}, with the reasons")
    return gold


def rejects_of(options: RowOptions) -> Rejects | None:
    """Return the collector of unusable rows, which writes the file of ``--rejects``; ``None`` if no file is named."""
    if options.rejects is None:
        return None
    return Rejects(options.rejects)


def shares_of(text: str | None) -> tuple[float, float, float] | None:
    """Return ``50/20/30`` as shares of 1; ``None`` where nothing is asked for. Refuses percentages that are not 100."""
    if text is None:
        return None
    try:
        train, dev, test = map(float, text.split("/"))
    except ValueError:
        raise UsageError(f"--split {text!r} is not three numbers", hint="write it as 50/20/30") from None
    total = train + dev + test
    if not (min(train, dev, test) > 0 and total < float("inf")):
        raise UsageError(f"--split {text!r} leaves a part empty", hint="give three numbers above 0")
    if abs(total - 100) > 1 and abs(total - 1) > 0.01:  # 33/33/33 is meant, and so is 0.5/0.2/0.3
        hint = "give three numbers with the sum 100, as 50/20/30"
        raise UsageError(f"--split {text!r} adds up to {total:g} percent", hint=hint)
    return train / total, dev / total, test / total
