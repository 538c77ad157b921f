"""The review page: units that people label in a browser, blind to each other, and a page that settles differences.

What is sent to a rater are the units, the guideline and the rater's own labels: nothing of gold, of a judge or of
others, who are only ever counted. The application is a Starlette one; uvicorn runs it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from ..cases import text_hash
from ..errors import GoldError, UsageError, extra
from ..gold.goldset import Gold
from ..gold.label_journal import Label, LabelJournal
from ..gold.rows import CATEGORIES, RESOLVED
from ..gold.sheets import RATER_NAME, SheetLine, sheet_row
from .document import readable_text
from .page import pack_values, render_page

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request

_LARGEST = 1 << 20  # bytes of a request: one label


@dataclass(frozen=True, kw_only=True)
class Review:
    """A review: the units to label, and the journal of labels."""

    gold: Gold  # the set of the units
    lines: Sequence[SheetLine]  # the units, the most informative first
    journal: LabelJournal  # where labels are kept
    guideline: str  # how to label, as Markdown
    rater: str = ""  # the name that the page proposes
    # rater -> the token that speaks for the name; without any, who reaches the page gives a name
    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)

    @cached_property
    def _units(self) -> dict[str, SheetLine]:
        # by names that stay: a page may be older than the order of the units
        first: dict[str, int] = {}
        for place, line in enumerate(self.lines):
            first.setdefault(line.case.id, place)
        lines = self.lines
        if self.gold.judge.answer.criteria:  # all criteria of a row follow each other
            lines = sorted(lines, key=lambda line: (first[line.case.id], line.unit))
        return {f"{line.case.id}:{line.unit + 1}": line for line in lines}

    def _value(self, label: str, unit: int) -> Any | None:
        """Return the value of a label for a unit (from 0); ``None`` if it is no label."""
        answer = self.gold.judge.answer
        known = answer.cell(label, unit)
        return None if known is None else answer.scale.of_json(known)

    def _names(self, line: SheetLine, rater: str) -> dict[str, str]:
        """Return the labels of a pair as the page calls them: which of the two is A is drawn for each rater and row."""
        if len(self.gold.judge.answer.unit_fields) < 2:
            return {}
        turned = int(text_hash(f"{rater}:{line.case.id}")[:8], 16) % 2
        return dict(zip(self.gold.judge.answer.scale.choices, "BA" if turned else "AB", strict=False))

    def work(self, rater: str) -> dict[str, Any]:
        """Return the units for a rater, with the controls of the page."""
        from markdown_it import MarkdownIt

        answer, units = self.gold.judge.answer, []
        pair = answer.unit_fields if len(answer.unit_fields) > 1 else ()
        choices = list(answer.scale.choices)
        for name, line in self._units.items():
            inputs, texts = line.case.inputs, answer.units(line.case.inputs)
            unit = {
                "unit": name,
                "text": "" if pair else texts[line.unit],
                "of": [line.unit + 1, len(texts)],
                "inputs": [[key, readable_text(value)] for key, value in inputs.items() if key not in pair],
            }
            if pair:
                sides = zip(self._names(line, rater).values(), pair, strict=True)
                unit["pair"] = [readable_text(inputs[key]) for _, key in sorted(sides)]
            if answer.criteria:
                criterion = list(answer.criteria)[line.unit]
                unit |= {
                    "text": readable_text(inputs[answer.unit]),
                    "criterion": criterion,
                    "row": line.case.id,
                    "choices": list(answer.scale_of(line.unit).choices),
                    "expects": answer.scale_of(line.unit).expects,
                }
            units.append(unit)
        about = {
            "judge": self.gold.judge.name,
            "file": text_hash(str(self.journal.path)),  # what is kept in a browser goes by it
            "rater": rater or self.rater,
            "fixed": bool(self.tokens),
            "choices": ["A", "B", *choices[2:]] if pair else choices,
            "expects": answer.scale.expects,
            "noun": answer.scale.noun,
            "reasons": self.gold.judge.ambiguities,
        }
        guideline = MarkdownIt("commonmark", {"html": False}).enable("table").render(self.guideline)
        return {"about": about, "guideline": guideline, "units": pack_values({"units": units}).data}

    def state(self, rater: str) -> dict[str, Any]:
        """Return a rater's labels in order; for the resolver those of all raters, with names."""

        def step(label: Label) -> dict[str, Any]:
            shown = self._names(self._units[label.place], rater).get(label.label, label.label)
            more = {"category": label.ambiguity, "reason": label.reason, "skipped": label.skipped}
            return {"rater": label.rater, "unit": label.place, "label": shown, **more}

        history = [step(label) for label in self.journal.history(rater) if label.place in self._units]
        differing: dict[str, Any] = {}
        for unit, labels in self.differing().items() if rater == RESOLVED else ():
            raters = [step(label) for label in labels if label.rater != RESOLVED]
            line, gold = self._units[unit], ""
            known = line.case.gold[line.unit] if line.case.gold else None
            if len(raters) < len(labels) and known is not None:  # it is resolved
                gold = self.gold.judge.answer.scale.text(known)
            differing[unit] = {"labels": raters, "gold": self._names(line, rater).get(gold, gold)}
        return {"history": history, "differing": differing}

    def differing(self) -> dict[str, list[Label]]:
        """Return the labels of every unit on which raters differ, resolved or not."""
        of_units: dict[str, list[Label]] = {unit: [] for unit in self._units}
        values: dict[str, set[str]] = {unit: set() for unit in self._units}
        for label in self.journal.labels():
            if label.label and label.place in of_units:
                of_units[label.place].append(label)
                if label.rater != RESOLVED:
                    values[label.place].add(str(self._value(label.label, label.unit - 1)))
        return {unit: labels for unit, labels in of_units.items() if len(values[unit]) > 1}

    def save(self, sent: Any, rater: str | None = None) -> None:
        """Keep one label, or undo one; ``rater`` is whose token was shown."""
        step = sent if isinstance(sent, Mapping) else {}
        unit, label, category, reason = (step.get(key) for key in ("unit", "label", "category", "reason"))
        name, request = step.get("rater") if rater is None else rater, step.get("request", "")
        if not (isinstance(name, str) and RATER_NAME.fullmatch(name)):
            raise GoldError("the rater's name is missing, or holds commas, quotes or line breaks")
        if not (isinstance(request, str) and isinstance(reason or "", str)):
            raise GoldError("a reason is a text")
        if step.get("undo"):
            return self.journal.undo(name, request, self._units)
        line = self._units.get(str(unit))
        if line is None:
            raise GoldError("there is no such unit")
        named = {shown: own for own, shown in self._names(line, name).items()}
        label = named.get(str(label), label)
        if not isinstance(label, str) or (label and self._value(label, line.unit) is None):
            raise GoldError(f"it is not {self.gold.judge.answer.scale_of(line.unit).expects}")
        if category not in ("", *CATEGORIES):
            raise GoldError("unknown reason for an ambiguity", hint=", ".join(CATEGORIES))
        new = Label(
            case=line.case.id,
            unit=line.unit + 1,
            rater=name,
            label=label,
            ambiguity=category,
            reason=(reason or "").strip(),
            skipped=bool(step.get("skipped")),
            request=request,
        )
        return self.journal.add(new, sheet_row(self.gold, line.case), line.case.group)


def application(review: Review) -> Starlette:
    """Return the web application of a review; without tokens it answers at this machine's own addresses only."""
    with extra("serve"):
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.responses import HTMLResponse, JSONResponse, Response
        from starlette.routing import Route
    page, fresh = render_page("review", ("page.css", "review.css")), {"Cache-Control": "no-store"}

    def home(request: Request) -> Response:
        return HTMLResponse(page, headers=fresh)

    def speaker(request: Request) -> str | None:
        """Return the rater whose token a request bears, where tokens are asked for."""
        token = request.headers.get("authorization", "").removeprefix("Bearer ").encode()
        whose = [name for name, own in review.tokens.items() if secrets.compare_digest(own.encode(), token)]
        if review.tokens and not whose:
            raise UsageError("this link is not valid: ask for a new one")
        return whose[0] if whose else None

    def asked(request: Request) -> Response:
        rater = speaker(request) or request.query_params.get("rater", "")
        read = review.work if request.url.path == "/work" else review.state
        return JSONResponse(read(rater), headers=fresh)

    async def save(request: Request) -> Response:
        rater = speaker(request)
        # Another site's page can send a form here, but no such header without being asked first.
        if request.headers.get("x-jurist") != "review":
            return JSONResponse({"error": "not from the review page"}, status_code=403)
        if int(request.headers.get("content-length") or _LARGEST) >= _LARGEST:
            return JSONResponse({"error": "too long"}, status_code=413)
        try:
            review.save(orjson.loads(await request.body()), rater)
        except (GoldError, ValueError) as error:
            return JSONResponse({"error": str(error)}, status_code=422)
        return JSONResponse({"saved": True})

    def refused(request: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error)}, status_code=401)

    routes = [Route("/", home), Route("/resolve", home), Route("/work", asked), Route("/labels", asked)]
    own = Middleware(
        TrustedHostMiddleware, allowed_hosts=["*"] if review.tokens else ["127.0.0.1", "localhost"]
    )
    return Starlette(
        routes=[*routes, Route("/labels", save, methods=["POST"])],
        middleware=[own],
        exception_handlers={UsageError: refused},
    )
