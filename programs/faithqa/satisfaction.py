"""Which constraints of a query a response satisfies: by code where a program can see it, by a model otherwise.

What code has decided is never asked for, and is marked so in the evidence.
"""

from typing import Any, Final

import dspy

from ...signatures.faithqa import Constraint, Judgement, Mark, SatisfiedConstraints
from ..answers.reading import member
from ..stepwise import Steps, Stepwise
from .constraints import parse_lines
from .reading import check_of

BY_CODE: Final = "counted by a program: "
"""How the evidence of a mark begins that no model gave."""


_NOTHING: Final = BY_CODE + "the response is empty"


def checked(constraint: Constraint, response: str) -> tuple[Mark, str] | None:
    """Return the mark that code gives and its evidence, or ``None`` where it cannot see it.

    Less than was asked is omitted, anything else that is not met is misinterpreted.
    """
    check = check_of(constraint.text, constraint.anchor)
    found = check.verify(response) if check else None
    if found is None or found.holds is None:
        return None
    mark: Mark = "satisfied" if found.holds else "omitted" if found.lacking else "misinterpreted"
    return mark, BY_CODE + found.evidence


class Satisfaction(Stepwise):
    """Marks each constraint: one call (``judge``), or none if code can see all of them.

    Its prediction has ``marks``: an item with ``n``, ``evidence`` and ``label`` for each constraint.
    """

    def __init__(self) -> None:
        super().__init__()
        self.judge = dspy.Predict(SatisfiedConstraints)

    def steps(self, **inputs: Any) -> Steps:
        """Check by code, then ask for the rest under their own numbers."""
        lines, response = str(inputs["constraints"]), str(inputs["response"])
        if not response.strip():  # what must not occur is no exception: nothing was addressed (section 3.2)
            return dspy.Prediction(
                marks=[
                    Judgement(n=_number(line), evidence=_NOTHING, label="omitted")
                    for line in lines.splitlines()
                ]
            )
        marks = {
            number: Judgement(n=number, evidence=found[1], label=found[0])
            for number, one in parse_lines(lines).items()
            if (found := checked(one, response))
        }
        rest = "\n".join(line for line in lines.splitlines() if _number(line) not in marks)
        if not rest:
            return dspy.Prediction(marks=list(marks.values()))
        said = (yield self.judge, {**inputs, "constraints": rest}).get("marks")
        items = said if isinstance(said, list | tuple) else ()
        return dspy.Prediction(
            marks=[*marks.values(), *(item for item in items if member(item, "n") not in marks)]
        )


def _number(line: str) -> int:
    head = line.strip().partition(".")[0]
    return int(head) if head.isdecimal() else 0
