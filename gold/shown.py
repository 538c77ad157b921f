"""Cases that a prompt shows as demonstrations, and near copies of them: a judge is not scored on these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..cases import Case
from ..errors import GoldError
from ..text.wording import normalised, strings
from .copies import find_near_cases, sketched_rows

if TYPE_CHECKING:
    from ..programs.judge import Judge
    from ..programs.state import Demo


def find_shown_cases(judge: Judge, cases: Sequence[Case], demos: Iterable[Demo]) -> frozenset[str]:
    """Return the ids of the cases that demonstrations show, and of those that are near copies of a demonstration."""
    shown_inputs: set[tuple[str, ...]] = set()
    shown_cases: list[Case] = []
    for demo in demos:
        if all(name not in demo for name in judge.input_fields):
            continue
        shown_inputs.add(_texts_of_inputs(judge, demo))
        shown_cases.append(_case_of_demo(judge, demo))
    if not shown_cases:
        return frozenset()
    shown_ids: set[str] = set()
    for case in cases:
        # An optimizer of DSPy shows inputs as rows have them; those of jurist show them as the prompt renders them.
        texts = _texts_of_inputs(judge, case.inputs)
        rendered_texts = _texts_of_inputs(judge, judge.prompt_values(case.inputs))
        if texts in shown_inputs or rendered_texts in shown_inputs:
            shown_ids.add(case.id)
    return find_near_cases(judge, cases, sketched_rows(judge, shown_cases)) | shown_ids


def _case_of_demo(judge: Judge, demo: Demo) -> Case:
    """Return the case of a demonstration; without its labels where it is no row of the judge, as a rendered list."""
    try:
        return judge.case(demo, reads_files=False)
    except GoldError:
        return Case(inputs={name: demo[name] for name in judge.input_fields if name in demo})


def _texts_of_inputs(judge: Judge, values: Mapping[str, object]) -> tuple[str, ...]:
    """Return the text of each input of a judge, normalised; empty where there is none."""
    texts: list[str] = []
    for name in judge.input_fields:
        texts.append(normalised(" ".join(strings(values.get(name)))))
    return tuple(texts)
