"""The review page: units that people label in a browser, blind to each other, and a page that settles differences.

A rater is sent the question, the units, the guideline and the rater's own labels, and nothing of gold or of a judge. Of
other raters a rater learns how far all agree, once they share enough units. The application is a Starlette one; uvicorn
runs it.
"""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeAlias

import orjson

from ..cases import Value, text_hash
from ..errors import GoldError, UsageError, importing_extra
from ..evaluation.agreement import rater_agreement
from ..gold.goldset import Gold
from ..gold.label_journal import JournalLabel, LabelJournal
from ..gold.rows import CATEGORIES, RESOLVED
from ..gold.sheets import RATER_NAME, SheetLine, sheet_row
from .document import readable_input, readable_text
from .page import pack_values, render_page

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request

JsonObject: TypeAlias = dict[str, object]
"""An object of JSON that is sent to a page."""
_ENOUGH_SHARED = 10
"""Units that two raters labelled from which the page says how far raters agree."""
_SHORT_LINE = 0.75  # of the widest line of a guideline
_MOST_BYTES = 1 << 20  # of a request, which sends one label


@dataclass(frozen=True, kw_only=True)
class Review:
    """A review: the units to label, and the journal of labels."""

    gold: Gold  # the set of the units
    lines: Sequence[SheetLine]  # the units, the most informative first
    journal: LabelJournal  # where labels are kept
    guideline: str  # how to label, as Markdown
    rater: str = ""  # the name that the page proposes
    overlap: float = 1.0  # the share of the cases that every rater labels, 0 to 1; the others are dealt out
    raters: Sequence[str] = ()  # those among whom cases are dealt out; empty: everybody labels all
    # rater -> the secret token of a link for this rater; without tokens anyone who reaches the page types a name
    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)

    @cached_property
    def _units(self) -> dict[str, SheetLine]:
        """Name -> unit; names do not depend on the order of the units, which may change while a page is open."""
        lines = self.lines
        if self.gold.judge.answer.criteria:
            lines = self._by_row()
        units = {}
        for line in lines:
            units[f"{line.case.id}:{line.unit + 1}"] = line
        return units

    @cached_property
    def _rater_of_case(self) -> dict[str, str]:
        """Case -> the one rater who labels it; cases that every rater labels are left out.

        The cases are put in the order of a hash of their ids, which no rater and no order of the file decides. The
        first of them are everybody's, and the raters take turns at the others.
        """
        if not self.raters:
            return {}
        cases = sorted(
            {line.case.id for line in self.lines}, key=lambda case: text_hash(f"dealt out: {case}")
        )
        shared_count = math.ceil(self.overlap * len(cases) - 1e-9)
        rater_of_case = {}
        for place, case in enumerate(cases[shared_count:]):
            rater_of_case[case] = self.raters[place % len(self.raters)]
        return rater_of_case

    def is_for(self, rater: str, case: str) -> bool:
        """Return whether a rater labels a case; the resolver, who settles differences, may label all."""
        return rater == RESOLVED or self._rater_of_case.get(case, rater) == rater

    def _units_of(self, rater: str) -> dict[str, SheetLine]:
        """Return the units that the page of a rater shows; for the resolver those on which raters differ."""
        units = {}
        differing = self.differing_labels() if rater == RESOLVED else {}
        for name, line in self._units.items():
            is_shown = name in differing if rater == RESOLVED else self.is_for(rater, line.case.id)
            if is_shown:
                units[name] = line
        return units

    def _by_row(self) -> list[SheetLine]:
        """Return the lines with all units of a row together; rows are in the order of their first lines."""
        first_places: dict[str, int] = {}
        for place, line in enumerate(self.lines):
            first_places.setdefault(line.case.id, place)
        return sorted(self.lines, key=lambda line: (first_places[line.case.id], line.unit))

    def _value_of_label(self, label: str, place: int) -> Value | None:
        """Return the value that a label gives to the unit at a place, from 0; ``None`` if it is no label."""
        answer = self.gold.judge.answer
        cell = answer.cell(label, place)
        if cell is None:
            return None
        return answer.scale.of_json(cell)

    def _page_names(self, line: SheetLine, rater: str) -> dict[str, str]:
        """Return label -> its name on the page, ``A`` or ``B``, for a pair; empty for other answers.

        Which input of the pair is A is drawn for each rater and row.
        """
        if len(self.gold.judge.answer.unit_fields) < 2:
            return {}
        is_turned = int(text_hash(f"{rater}:{line.case.id}")[:8], 16) % 2 == 1
        names = "BA" if is_turned else "AB"
        return dict(zip(self.gold.judge.answer.scale.choices, names, strict=False))

    @property
    def _pair(self) -> tuple[str, ...]:
        """The names of the two inputs that are compared; empty for a judge of one text."""
        fields = self.gold.judge.answer.unit_fields
        return fields if len(fields) > 1 else ()

    def page_content(self, rater: str) -> JsonObject:
        """Return all that the page of a rater shows, but for labels: the units, the guideline and the choices."""
        from markdown_it import MarkdownIt

        answer = self.gold.judge.answer
        choices = list(answer.scale.choices)
        if self._pair:
            choices[:2] = ["A", "B"]
        settings = {
            "judge": self.gold.judge.name,
            "file": text_hash(str(self.journal.path)),  # the key of what the page keeps in the browser
            "rater": rater or self.rater,
            "fixed": bool(self.tokens),
            "choices": choices,
            "expects": answer.scale.expects,
            "noun": answer.scale.noun,
            "reasons": self.gold.judge.ambiguities,
            "question": self._question,
            "fields": self._descriptions,
        }
        markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        guideline = markdown.render(_keep_breaks(self.guideline))
        units = []
        for name, line in self._units_of(rater).items():
            units.append(self._page_unit(name, line, rater))
        return {"about": settings, "guideline": guideline, "units": pack_values({"units": units}).data}

    @property
    def _question(self) -> str:
        """The description of the field of one answer; without it the first line of the instruction."""
        judge = self.gold.judge
        description = self._descriptions.get(judge.answer.field, "")
        if description and not judge.answer.per_unit:
            return description
        return str(judge.signature.instructions.partition("\n")[0])

    @cached_property
    def _descriptions(self) -> dict[str, str]:
        """Field -> its description in the judge's signature, for those that have one."""
        descriptions = {}
        for name, field_info in self.gold.judge.signature.fields.items():
            description = str((field_info.json_schema_extra or {}).get("desc") or "")
            if description and description != f"${{{name}}}":  # DSPy's own, where nobody wrote one
                descriptions[name] = description
        return descriptions

    def unit_html(self, unit_name: str) -> dict[str, str]:
        """Return the HTML of a unit read as Markdown: name of an input -> HTML, and ``""`` -> that of the judged text.

        Judged text may hold anything: no HTML in it stays HTML, and nothing in it is a link or an image.
        """
        from markdown_it import MarkdownIt

        line = self._units.get(unit_name)
        if line is None:
            raise GoldError("there is no such unit")
        markdown = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(
            ["table", "strikethrough"]
        )
        markdown.disable(["link", "image", "autolink", "reference", "html_inline", "html_block"])
        html_of_input = {}
        if not self._pair:
            html_of_input[""] = markdown.render(self.gold.judge.answer.units(line.case.inputs)[line.unit])
        for name, value in line.case.inputs.items():
            if isinstance(value, str):
                html_of_input[name] = markdown.render(value)
        return html_of_input

    def agreement(self) -> JsonObject:
        """Return how far raters agree on the units that two or more labelled; empty below :data:`_ENOUGH_SHARED`.

        With fewer of them a rater could tell the others' labels from it.
        """
        raters = sorted({label.rater for label in self.journal.labels()} - {RESOLVED})
        columns: dict[str, list[Value | None]] = {rater: [None] * len(self._units) for rater in raters}
        places = {name: place for place, name in enumerate(self._units)}
        raters_of_unit: Counter[str] = Counter()
        for label in self.journal.labels():
            if label.rater in columns and label.label and label.unit_name in places:
                value = self._value_of_label(label.label, label.unit - 1)
                columns[label.rater][places[label.unit_name]] = value
                raters_of_unit[label.unit_name] += 1
        shared = [unit for unit, count in raters_of_unit.items() if count > 1]
        if len(shared) < _ENOUGH_SHARED:
            return {}
        measured = rater_agreement(columns, self.gold.judge.comparison)
        return {
            "units": measured.units,
            "raw": round(measured.raw.value, 3),
            "alpha": None if measured.alpha is None else round(measured.alpha.value, 3),
        }

    def _page_unit(self, name: str, line: SheetLine, rater: str) -> JsonObject:
        """Return a unit as JSON values for the page."""
        answer = self.gold.judge.answer
        pair = self._pair
        inputs = line.case.inputs
        texts = answer.units(inputs)
        other_inputs = []
        for field_name, value in inputs.items():
            if field_name not in pair:
                other_inputs.append(_shown_input(field_name, value))
        unit: JsonObject = {
            "unit": name,
            "text": "" if pair else texts[line.unit],
            "of": [line.unit + 1, len(texts)],
            "inputs": other_inputs,
        }
        if pair:
            field_of_name = dict(zip(self._page_names(line, rater).values(), pair, strict=True))
            unit["pair"] = [
                readable_text(inputs[field_of_name["A"]]),
                readable_text(inputs[field_of_name["B"]]),
            ]
        if answer.criteria:
            scale = answer.scale_of(line.unit)
            criterion = list(answer.criteria)[line.unit]
            unit |= {
                "text": readable_text(inputs[answer.unit]),
                "criterion": criterion,
                "question": self._descriptions.get(criterion, ""),
                "row": line.case.id,
                "choices": list(scale.choices),
                "expects": scale.expects,
            }
        return unit

    def labels_for(self, rater: str) -> JsonObject:
        """Return a rater's labels in order, and for the resolver also the units on which raters differ."""
        history = []
        for label in self.journal.history(rater):
            if label.unit_name in self._units:
                history.append(self._page_label(label, rater))
        differing: JsonObject = {}
        if rater == RESOLVED:
            for unit_name, labels in self.differing_labels().items():
                differing[unit_name] = self._page_difference(unit_name, labels)
        return {"history": history, "differing": differing, "agreement": self.agreement()}

    def _page_label(self, label: JournalLabel, reader: str) -> JsonObject:
        """Return a label as JSON values for the page of ``reader``."""
        return {
            "rater": label.rater,
            "unit": label.unit_name,
            "label": self._page_names(self._units[label.unit_name], reader).get(label.label, label.label),
            "category": label.ambiguity,
            "reason": label.reason,
            "skipped": label.skipped,
        }

    def _page_difference(self, unit_name: str, labels: Sequence[JournalLabel]) -> JsonObject:
        """Return the labels of a unit on which raters differ, with its gold label if it is resolved."""
        line = self._units[unit_name]
        rater_labels = []
        for label in labels:
            if label.rater != RESOLVED:
                rater_labels.append(self._page_label(label, RESOLVED))
        is_resolved = len(rater_labels) < len(labels)
        gold = ""
        if is_resolved and line.case.gold:
            value = line.case.gold[line.unit]
            if value is not None:
                text = self.gold.judge.answer.scale.text(value)
                gold = self._page_names(line, RESOLVED).get(text, text)
        return {"labels": rater_labels, "gold": gold}

    def differing_labels(self) -> dict[str, list[JournalLabel]]:
        """Return name of a unit -> its labels, for every unit on which raters differ, resolved or not."""
        labels_of_unit: dict[str, list[JournalLabel]] = {unit: [] for unit in self._units}
        values_of_unit: dict[str, set[str]] = {unit: set() for unit in self._units}
        for label in self.journal.labels():
            if label.label and label.unit_name in labels_of_unit:
                labels_of_unit[label.unit_name].append(label)
                if label.rater != RESOLVED:
                    values_of_unit[label.unit_name].add(
                        str(self._value_of_label(label.label, label.unit - 1))
                    )
        differing = {}
        for unit, labels in labels_of_unit.items():
            if len(values_of_unit[unit]) > 1:
                differing[unit] = labels
        return differing

    def save(self, message: object, speaker: str | None = None) -> None:
        """Add one label to the journal, or undo one.

        Args:
            message: the message of the page, as JSON values.
            speaker: the rater whose token was sent; ``None`` for a review without tokens.

        Raises:
            GoldError: the message is no label of a unit by a rater.
        """
        fields: Mapping[str, Any] = {}
        if isinstance(message, Mapping):
            fields = message
        rater = fields.get("rater") if speaker is None else speaker
        if not (isinstance(rater, str) and RATER_NAME.fullmatch(rater)):
            raise GoldError("the rater's name is missing, or holds commas, quotes or line breaks")
        request_id = fields.get("request", "")
        if not isinstance(request_id, str):
            raise GoldError("the id of a request is a text")
        if not isinstance(fields.get("reason") or "", str):
            raise GoldError("a reason is a text")
        if fields.get("undo"):
            self.journal.undo(rater, request_id, self._units)
            return
        line = self._units.get(str(fields.get("unit")))
        if line is None:
            raise GoldError("there is no such unit")
        if not self.is_for(rater, line.case.id):
            raise GoldError("this unit is another rater's")
        label = self._sent_label(fields, line, rater, request_id)
        self.journal.add(label, sheet_row(self.gold, line.case), line.case.group)

    def _sent_label(
        self, fields: Mapping[str, Any], line: SheetLine, rater: str, request_id: str
    ) -> JournalLabel:
        """Return the label of a unit in a message. Raises ``GoldError`` if the message has no usable label."""
        label = self._label_of(fields.get("label"), line, rater)
        category = fields.get("category")
        if category not in ("", *CATEGORIES):
            raise GoldError("unknown reason for an ambiguity", hint=", ".join(CATEGORIES))
        return JournalLabel(
            case=line.case.id,
            unit=line.unit + 1,
            rater=rater,
            label=label,
            ambiguity=category,
            reason=(fields.get("reason") or "").strip(),
            skipped=bool(fields.get("skipped")),
            request=request_id,
        )

    def _label_of(self, page_label: object, line: SheetLine, rater: str) -> str:
        """Return the label for its name on the page. Raises ``GoldError`` if it is no label of the unit."""
        label = page_label
        for own_label, page_name in self._page_names(line, rater).items():
            if page_name == str(page_label):
                label = own_label
        if not isinstance(label, str) or (label and self._value_of_label(label, line.unit) is None):
            raise GoldError(f"it is not {self.gold.judge.answer.scale_of(line.unit).expects}")
        return label


def _keep_breaks(text: str) -> str:
    """Return Markdown in which line breaks that were meant stay breaks; those of a text that is wrapped do not.

    A break was meant where the line is much shorter than the widest one, so that more words would have fitted.
    """
    lines = text.splitlines()
    width = 0
    for line in lines:
        if not line.startswith("|"):  # rows of tables are not wrapped
            width = max(width, len(line))
    broken_lines = []
    for line, following in zip_longest(lines, lines[1:], fillvalue=""):
        words = following.split()
        is_short = len(line) < _SHORT_LINE * width
        if is_short and line.strip() and words and len(line) + 1 + len(words[0]) <= width:
            line = f"{line.rstrip()}  "
        broken_lines.append(line)
    return "\n".join(broken_lines)


def _shown_input(name: str, value: object) -> list[object]:
    """Return an input for the page; of a list its name, a text for each part, and the word ``parts``."""
    if not isinstance(value, list | tuple):
        return list(readable_input(name, value))
    texts = []
    for part in value:
        if isinstance(part, Mapping):
            lines = [f"{key}: {readable_text(entry, None)}" for key, entry in part.items()]
            texts.append("\n".join(lines))
        else:
            texts.append(readable_text(part, None))
    return [name, texts, "parts"]


def review_application(review: Review) -> Starlette:
    """Return the web application of a review; without tokens it answers at this machine's own addresses only."""
    with importing_extra("serve"):
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.responses import HTMLResponse, JSONResponse, Response
        from starlette.routing import Route
    page = render_page("review", ("page.css", "review.css"))
    no_store = {"Cache-Control": "no-store"}

    def send_page(request: Request) -> Response:
        return HTMLResponse(page, headers=no_store)

    def speaker_of(request: Request) -> str | None:
        """Return the rater whose token a request has; ``None`` for a review without tokens."""
        if not review.tokens:
            return None
        sent_token = request.headers.get("authorization", "").removeprefix("Bearer ").encode()
        speakers = []
        for rater, token in review.tokens.items():  # all tokens are compared, so that the time tells nothing
            if secrets.compare_digest(token.encode(), sent_token):
                speakers.append(rater)
        if not speakers:
            raise UsageError("this link is not valid: ask for a new one")
        return speakers[0]

    def send_units(request: Request) -> Response:
        rater = speaker_of(request) or request.query_params.get("rater", "")
        return JSONResponse(review.page_content(rater), headers=no_store)

    def send_labels(request: Request) -> Response:
        rater = speaker_of(request) or request.query_params.get("rater", "")
        return JSONResponse(review.labels_for(rater), headers=no_store)

    def send_markdown(request: Request) -> Response:
        speaker_of(request)
        try:
            return JSONResponse(review.unit_html(request.query_params.get("unit", "")), headers=no_store)
        except GoldError as error:
            return JSONResponse({"error": str(error)}, status_code=404)

    async def save_label(request: Request) -> Response:
        speaker = speaker_of(request)
        # A page of another site can send a form here, but not this header: browsers ask this server first.
        if request.headers.get("x-jurist") != "review":
            return JSONResponse({"error": "not from the review page"}, status_code=403)
        if int(request.headers.get("content-length") or _MOST_BYTES) >= _MOST_BYTES:
            return JSONResponse({"error": "too long"}, status_code=413)
        try:
            review.save(orjson.loads(await request.body()), speaker)
        except (GoldError, ValueError) as error:
            return JSONResponse({"error": str(error)}, status_code=422)
        return JSONResponse({"saved": True})

    def refuse(request: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error)}, status_code=401)

    routes = [
        Route("/", send_page),
        Route("/resolve", send_page),
        Route("/work", send_units),
        Route("/markdown", send_markdown),
        Route("/labels", send_labels),
        Route("/labels", save_label, methods=["POST"]),
    ]
    hosts = ["*"] if review.tokens else ["127.0.0.1", "localhost"]
    return Starlette(
        routes=routes,
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts)],
        exception_handlers={UsageError: refuse},
    )
