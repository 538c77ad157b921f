"""The review page: units that people label in a browser on their own machine, blind to each other.

What is sent to a rater are the units, the guideline and the rater's own labels; what others said is only ever counted.
The application is a Starlette one; uvicorn runs it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import GoldError, JuristError
from ..evaluation.agreement import rater_agreement
from ..gold.goldset import Gold
from ..gold.label_journal import Label, LabelJournal
from ..gold.sheets import CATEGORIES
from ..gold.sheets_out import RATER_NAME, SheetLine, sheet_row
from .document import text_of
from .page import review_page

if TYPE_CHECKING:
    from starlette.applications import Starlette

_LARGEST = 1 << 20
"""Bytes of a request: one label."""


@dataclass(frozen=True, kw_only=True)
class Review:
    """What is labelled, and where to."""

    gold: Gold  # the set of the units
    lines: Sequence[SheetLine]  # the units, the most informative first
    journal: LabelJournal  # where labels are kept
    guideline: str  # how to label, as Markdown
    rater: str  # the name that the page proposes
    _rows: dict[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)

    @cached_property
    def _places(self) -> dict[tuple[str, int], int]:
        return {(line.case.id, line.unit): place for place, line in enumerate(self.lines)}

    def page(self) -> str:
        """Return the page."""
        answer = self.gold.judge.answer
        units = [
            {
                "id": line.case.id,
                "text": answer.units(line.case.inputs)[line.unit],
                "of": [line.unit + 1, len(answer.units(line.case.inputs))],
                "why": line.notes.get("why", ""),
                "inputs": [[name, text_of(value)] for name, value in line.case.inputs.items()],
            }
            for line in self.lines
        ]
        about = {
            "judge": self.gold.judge.name,
            "file": str(self.journal.path),
            "rater": self.rater,
            "choices": list(answer.scale.choices),
            "expects": answer.scale.expects,
            "noun": answer.scale.noun,
            "reasons": [name for name in CATEGORIES if name != "unknown"],
        }
        return review_page(about, units, self.guideline)

    def own(self, rater: str) -> dict[str, Any]:
        """Return a rater's own labels by the place of the unit, and how far all raters agree."""
        found = {
            str(place): [one.label, one.category]
            for one in self.journal.labels()
            if one.rater == rater and (place := self._places.get((one.case, one.unit))) is not None
        }
        return {"labels": found, "agreement": self.agreement()}

    def save(self, given: Any) -> None:
        """Keep one label."""
        told = given if isinstance(given, Mapping) else {}
        place, rater, label, category = map(told.get, ("place", "rater", "label", "category"))
        if not (isinstance(place, int) and 0 <= place < len(self.lines)):
            raise GoldError("there is no such unit")
        if not (isinstance(rater, str) and RATER_NAME.fullmatch(rater)):
            raise GoldError("the rater's name is missing, or holds commas, quotes or line breaks")
        if not isinstance(label, str) or (label and self.gold.judge.answer.scale.cell(label) is None):
            raise GoldError(f"it is not {self.gold.judge.answer.scale.expects}")
        if category not in ("", *CATEGORIES):
            raise GoldError("unknown reason for an ambiguity", hint=", ".join(CATEGORIES))
        line = self.lines[place]
        row = self._rows.setdefault(line.case.id, sheet_row(self.gold, line.case))
        one = Label(case=line.case.id, unit=line.unit, rater=rater, label=label, category=str(category))
        self.journal.add(one, row, line.case.group)

    def agreement(self) -> str:
        """Return how far raters agree on the units that two or more have labelled, in words; empty before that."""
        ratings: dict[str, dict[tuple[str, int], Any]] = {}
        for one in self.journal.labels():
            if one.label:
                value = self.gold.judge.answer.scale.cell(one.label)
                value = tuple(value) if isinstance(value, list) else value
                ratings.setdefault(one.rater, {})[one.case, one.unit] = value
        units = sorted({unit for given in ratings.values() for unit in given})
        columns = {rater: [given.get(unit) for unit in units] for rater, given in ratings.items()}
        if len(columns) < 2:
            return ""
        try:
            found = rater_agreement(columns, self.gold.judge.comparison, groups=[case for case, _ in units])
        except JuristError:
            return ""  # no unit has two labels yet
        return (
            f"{len(columns)} raters agree on {found.raw.value:.0%} of {found.units} units that two or more labelled, "
            f"Krippendorff's alpha {found.alpha.value:.2f}"
        )


def application(review: Review) -> Starlette:
    """Return the web application of a review; it answers requests of this machine's own addresses only."""
    try:
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.requests import Request
        from starlette.responses import HTMLResponse, JSONResponse, Response
        from starlette.routing import Route
    except ImportError as error:
        raise JuristError(
            "the review page needs starlette and uvicorn, which are not installed",
            hint="pip install 'jurist[serve]'",
        ) from error
    page, fresh = review.page(), {"Cache-Control": "no-store"}

    def home(request: Request) -> Response:
        return HTMLResponse(page, headers=fresh)

    def labels(request: Request) -> Response:
        return JSONResponse(review.own(request.query_params.get("rater", "")), headers=fresh)

    async def save(request: Request) -> Response:
        # Another site's page can send a form here, but no such header without being asked first.
        if request.headers.get("x-jurist") != "review":
            return JSONResponse({"error": "not from the review page"}, status_code=403)
        if int(request.headers.get("content-length") or _LARGEST) >= _LARGEST:
            return JSONResponse({"error": "too long"}, status_code=413)
        try:
            review.save(json.loads(await request.body()))
        except (GoldError, ValueError) as error:
            return JSONResponse({"error": str(error)}, status_code=422)
        return JSONResponse({"saved": True})

    kept = Route("/labels", labels, methods=["GET"]), Route("/labels", save, methods=["POST"])
    own = Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
    return Starlette(routes=[Route("/", home), *kept], middleware=[own])
