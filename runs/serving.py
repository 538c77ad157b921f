"""A judge behind HTTP: cases come in, verdicts go out; what it takes and gives is described by its typed fields.

Nothing of a case is kept or logged. Whoever can reach the address can spend the model's money: without a token only
requests to this machine's own names are answered.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pydantic
from pydantic import GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from ..cases import Case
from ..errors import BudgetExhausted, GoldError, JuristError
from ..keeping.loading import LoadedJudge
from ..programs.together import together
from ..programs.verdicts import Verdict
from .lines import said_of

if TYPE_CHECKING:
    from fastapi import FastAPI, Request
    from fastapi.responses import JSONResponse

_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_GOLD = ("group", "ratings")
_REFUSED = "the token is missing or wrong"
_FAILURES = {400: "not in UTF-8", 413: "too large", 503: "the model cannot be used, or a limit is reached"}


@dataclass(frozen=True, kw_only=True)
class Serving:
    """What is served, and within which bounds."""

    loaded: LoadedJudge  # the judge with its model; its ``concurrency`` is that of all requests together
    token: str = field(default="", repr=False)  # what a request must bear; empty for none
    most: int = 100  # cases of one request
    largest: int = 1 << 20  # bytes of one request

    @property
    def hidden(self) -> frozenset[str]:
        """Fields of the judge's rows that a request need not have: what people say, and where rows come from."""
        return frozenset({self.loaded.judge.answer.field, *_GOLD})

    def case(self, row: Any) -> Case:
        """Return what is judged; what people say about it is not looked at."""
        if not isinstance(row, Mapping):
            raise ValueError("a case is a JSON object")
        hidden = self.hidden
        try:
            case = self.loaded.judge.case({name: one for name, one in row.items() if name not in hidden})
        except GoldError as error:
            raise ValueError(error.message) from error
        try:
            json.dumps(case.inputs, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ValueError("a text is no unicode string: half of a surrogate pair") from error
        return case


class Judged(pydantic.BaseModel, extra="allow"):
    """What a judge says of a case, as a line of ``jurist run`` has it."""

    case: str
    status: Literal["verdict", "abstained", "failed"]
    units: list[dict[str, Any]]
    reasoning: str
    error: str
    judge: str
    artifact: str | None
    model: str


def application(serving: Serving) -> FastAPI:
    """Return the web application: ``POST /judge`` with a case, ``POST /judge/batch`` with a list, ``GET /health``."""
    try:
        from fastapi import Body, FastAPI
        from fastapi.exceptions import RequestValidationError
        from starlette.middleware.trustedhost import TrustedHostMiddleware
    except ImportError as error:
        hint = "pip install 'jurist[serve]'"
        raise JuristError("serving needs fastapi and uvicorn, which are not installed", hint=hint) from error
    case = Annotated[Case, _Row(serving)]
    cases = Annotated[list[case], pydantic.Field(min_length=1, max_length=serving.most)]
    judging = _Judging(serving.loaded)

    async def judge(asked: Any) -> dict[str, Any]:
        return (await judging.said([asked]))[0]

    async def batch(asked: Any) -> list[dict[str, Any]]:
        return await judging.said(asked)

    def health() -> dict[str, str]:
        return {"status": "ok", "judge": serving.loaded.name, "model": serving.loaded.model.name}

    # The types of a body are those of this judge: they are known here, and not where the functions are written.
    judge.__annotations__["asked"] = Annotated[case, Body()]
    batch.__annotations__["asked"] = Annotated[cases, Body()]
    guarded = _guarded(serving.token)
    app = FastAPI(
        title=f"jurist: {serving.loaded.name}", docs_url=None, redoc_url=None, max_body_size=serving.largest
    )
    app.add_api_route("/judge", judge, response_model=Judged, **guarded)
    app.add_api_route("/judge/batch", batch, response_model=list[Judged], **guarded)
    app.add_api_route("/health", health, methods=["GET"])
    app.add_exception_handler(JuristError, _unavailable)
    app.add_exception_handler(RequestValidationError, _refused)
    if not serving.token:
        # Another site's page could have a browser send requests here, but not under these names.
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(_LOCAL))
    return app


def _unavailable(request: Request, error: Exception) -> JSONResponse:
    from fastapi.responses import JSONResponse

    return JSONResponse({"detail": str(error)}, status_code=503)


def _refused(request: Request, error: Any) -> JSONResponse:
    """Say what is wrong and where, and nothing of what was sent: it may hold what JSON cannot say, such as NaN."""
    from fastapi.responses import JSONResponse

    said = [{name: one[name] for name in ("type", "loc", "msg")} for one in error.errors()]
    return JSONResponse({"detail": said}, status_code=422)


def _guarded(token: str) -> dict[str, Any]:
    """Return how what costs money is reached: by whom, and what else may come back."""
    from fastapi import Depends, HTTPException
    from fastapi.security import HTTPBearer

    def bearing(given: Any = Depends(HTTPBearer(auto_error=False))) -> None:  # noqa: B008
        said = given.credentials if given else ""
        if not secrets.compare_digest(said.encode(), token.encode()):
            raise HTTPException(401, _REFUSED, headers={"WWW-Authenticate": "Bearer"})

    said = {**_FAILURES, **({401: _REFUSED} if token else {})}
    return {
        "methods": ["POST"],
        "responses": {code: {"description": words} for code, words in said.items()},
        "dependencies": [Depends(bearing)] if token else [],
    }


@dataclass(frozen=True, eq=False)
class _Row:
    """How a case is read from a body and described: the judge's inputs, without what people say about them."""

    serving: Serving

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.serving.case)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        judge = self.serving.loaded.judge
        schema = handler.resolve_ref_schema(handler(judge.row_model.__pydantic_core_schema__))
        hidden = self.serving.hidden
        fields = {name: one for name, one in schema["properties"].items() if name not in hidden}
        needed = [name for name in schema.get("required", ()) if name in fields]
        about = {"title": f"{judge.name} case", "description": f"What {judge.name} is given."}
        return {**schema, **about, "properties": fields, "required": needed}


class _Judging:
    """Asks one judge for all requests, as many cases at once as it allows."""

    def __init__(self, loaded: LoadedJudge) -> None:
        self._asker, self._free = loaded.asker(), asyncio.Semaphore(loaded.concurrency)
        self._judge, self._stamp = loaded.judge, loaded.stamp()

    async def said(self, cases: Sequence[Case]) -> list[dict[str, Any]]:
        """Return what is said of cases, in their order."""
        try:
            with self._asker.ready():
                verdicts = await together(cases, self._one, concurrency=len(cases))
        except BudgetExhausted as error:
            raise JuristError(str(error)) from error
        return [
            {"case": case.id, **said_of(self._judge, case, verdict), **self._stamp}
            for case, verdict in zip(cases, verdicts, strict=True)
        ]

    async def _one(self, case: Case) -> Verdict:
        async with self._free:
            verdict = await self._asker.judged(case)
        self._asker.note(verdict)
        return verdict
