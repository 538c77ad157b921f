"""Lines on what raters did not agree on and on how good people are, to stand beside a judge's score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..evaluation.ceiling import Ceiling
from ..gold.raters import Strata, ceiling_of, strata
from ..gold.sheets import CATEGORIES
from ..jobs.experiment import Answers, Experiment
from ..report.raters import ceiling_card


def strata_lines(found: Mapping[str, Strata] | Strata) -> list[str]:
    """Return the lines for one judge, or for several by name, on the same gold; none where nobody differed.

    The first line counts the units by how their raters agree; one line a judge says how it voted where they
    did not.
    """
    parts = {"": found} if isinstance(found, Strata) else dict(found)
    first = next(iter(parts.values()), None)
    if first is None or not (first.ambiguous or first.contested.units):
        return []
    why = ", ".join(f"{name} {first.by_category[name]}" for name in CATEGORIES if first.by_category[name])
    lines = [
        f"raters: {first.agreed} units agreed on, {first.contested.units} labelled though raters differ, "
        f"{len(first.ambiguous)} ambiguous and in no score" + (f" ({why})" if why else "")
    ]
    return lines + [line for name, one in parts.items() if (line := _voted(name, one))]


def _voted(name: str, one: Strata) -> str:
    said, contested = [], one.contested
    answers = contested.right + contested.wrong + contested.unanswered
    if answers:
        said.append(f"right on {contested.right} of {answers} answers where raters differ")
    if one.judged:
        votes = ", ".join(f"{label} {count}" for label, count in one.votes().items())
        missing = sum(unit.unanswered for unit in one.ambiguous)
        parts = [votes, f"no answer {missing}" if missing else ""]
        said.append(f"on {one.judged} ambiguous units: {', '.join(part for part in parts if part)}")
    return (f"{name}: " if name and said else "") + "; ".join(said)


def ceiling_line(found: Ceiling | None) -> str:
    """Return the line on the human ceiling, empty where there is none."""
    if found is None:
        return ""
    units = ", ".join(f"{one.rater} {one.units}" for one in found.raters)
    return (
        f"human ceiling: {found.metric} {found.mean[found.metric]}, "
        f"each rater against the others, on all they rated (units: {units})"
    )


@dataclass(frozen=True, kw_only=True)
class People:
    """Raters beside judges."""

    # how raters agree, differ, or are ambiguous; by contender, how its first repeat went there
    strata: Mapping[str, Strata] | Strata
    ceiling: Ceiling | None  # each rater against the rest; ``None`` with fewer than two

    @classmethod
    def of(cls, experiment: Experiment, answers: Sequence[Answers]) -> "People":
        """Sort the rows of an experiment."""
        only = {case.id for case in (*experiment.cases, *experiment.aside)}
        return cls(
            strata={
                one.name: strata(experiment.gold, [*one.repeats[0], *one.ambiguous], only=only)
                for one in answers
            },
            ceiling=ceiling_of(experiment.gold, only=only),
        )

    def to_json(self) -> dict[str, Any]:
        """Return ``strata`` (by contender) and ``ceiling`` as plain JSON types."""
        found = self.strata
        by = found.to_json() if isinstance(found, Strata) else {k: one.to_json() for k, one in found.items()}
        return {"strata": by, "ceiling": self.ceiling and ceiling_card(self.ceiling)}

    def lines(self) -> list[str]:
        """Return the lines to print; none where a gold set has one rater."""
        return [line for line in (ceiling_line(self.ceiling), *strata_lines(self.strata)) if line]
