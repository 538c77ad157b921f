"""A judge behind HTTP: cases come in, verdicts go out; what it takes and gives is described by its typed fields.

Nothing of a case is kept or logged. Whoever can reach the address can spend the model's money: without a token only
requests to this machine's own names are answered.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pydantic
from pydantic import GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from ..cases import Case
from ..engines.ledger import Spend
from ..errors import BudgetExhausted, GoldError, JuristError, ModelError, importing_extra
from ..keeping.loading import LoadedJudge
from ..programs.asking import Asker
from ..programs.deciding import verdict_of
from ..programs.together import together
from ..programs.verdicts import Verdict
from .lines import verdict_parts

if TYPE_CHECKING:
    from fastapi import FastAPI, Request
    from fastapi.responses import JSONResponse
    from fastapi.routing import APIRoute
    from prometheus_client import CollectorRegistry

ANSWER_HEADERS = "jurist.answer_headers"
"""The entry of a request's ASGI scope with the headers that its answer gets, whoever gives it."""
_LOG = logging.getLogger("jurist.access")
_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_GOLD = ("group", "ratings")
_REFUSED = "the token is missing or wrong"
_FAILURES = {400: "not in UTF-8", 413: "too large", 503: "the model cannot be used, or a limit is reached"}
_JUDGE, _BATCH, _METRICS = "/judge", "/judge/batch", "/metrics"
_TROUBLED = 30.0  # seconds for which a model that failed is said to be not ready
_LEFT = 499  # the status in the log of a request whose client has left; nobody receives it
_REQUEST_ID = re.compile(r"[\w.-]{1,128}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Serving:
    """The served judge, and the bounds of a request."""

    loaded: LoadedJudge  # the judge with its model; its ``concurrency`` is that of all requests together
    token: str = field(default="", repr=False)  # what a request must bear; empty for none
    most: int = 100  # cases of one request
    largest: int = 1 << 20  # bytes of one request
    deadline: float | None = (
        None  # seconds after which a case without a verdict has failed; ``None`` for no end
    )

    @property
    def hidden(self) -> frozenset[str]:
        """Fields of the judge's rows that a request need not have: what people say, and where rows come from."""
        return frozenset({self.loaded.judge.answer.field, *self.loaded.judge.answer.fields, *_GOLD})

    def case(self, row: object) -> Case:
        """Return the case of a request, without any labels in it."""
        if not isinstance(row, Mapping):
            raise ValueError("a case is a JSON object")
        hidden = self.hidden
        inputs = {name: value for name, value in row.items() if name not in hidden}
        try:
            case = self.loaded.judge.case(inputs, reads_files=False)
            # A file may hold a number for a text, a request may not.
            self.loaded.judge.check_json_types(inputs)
        except GoldError as error:
            raise ValueError(error.message) from error
        try:
            json.dumps(case.inputs, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ValueError("a text is no unicode string: half of a surrogate pair") from error
        return case


class Judged(pydantic.BaseModel, extra="allow"):
    """A verdict in the shape of a line of ``jurist run``."""

    case: str
    status: Literal["verdict", "abstained", "failed"]
    units: list[dict[str, Any]]
    reasoning: str
    error: str
    judge: str
    artifact: str | None
    model: str


def application(serving: Serving) -> FastAPI:
    """Return the web application: cases come to ``/judge`` and ``/judge/batch``; other paths watch it."""
    with importing_extra("serve"):
        from fastapi import Body, FastAPI, Request, Response
        from fastapi.exceptions import RequestValidationError
        from fastapi.responses import HTMLResponse, JSONResponse
        from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
        from starlette.middleware.trustedhost import TrustedHostMiddleware
    case_type = Annotated[Case, _CaseType(serving)]
    cases = Annotated[list[case_type], pydantic.Field(min_length=1, max_length=serving.most)]
    registry = CollectorRegistry()
    judging = _Judging(serving, registry)
    fields = [name for name in serving.loaded.judge.row_model.model_fields if name not in serving.hidden]
    case = f"a case as JSON: {', '.join(fields)}"
    home = {f"POST {_JUDGE}": case, f"POST {_BATCH}": "a list of cases", "more": "/docs"}

    async def judge(asked: Any, request: Any) -> object:
        lines = await _unless_left(request, judging.lines([asked]))
        if lines is None:
            return Response(status_code=_LEFT)
        return lines[0]

    async def batch(asked: Any, request: Any) -> object:
        lines = await _unless_left(request, judging.lines(asked))
        if lines is None:
            return Response(status_code=_LEFT)
        return lines

    def health() -> dict[str, str]:
        return {"status": "ok", "judge": serving.loaded.name, "model": serving.loaded.model.name}

    def ready() -> Any:
        trouble = judging.trouble()
        if getattr(app.state, "ending", False):
            trouble = "the server is ending"
        if trouble:
            return JSONResponse({"status": "not ready", "detail": trouble}, status_code=503)
        return JSONResponse({"status": "ready"}, status_code=200)

    def metrics() -> Any:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    def docs() -> Any:
        return HTMLResponse(render_docs(app.openapi()))

    # The types of a body are those of this judge: they are known here, and not where the functions are written.
    judge.__annotations__.update(asked=Annotated[case_type, Body()], request=Request)
    batch.__annotations__.update(asked=Annotated[cases, Body()], request=Request)
    guarded = _route_options(serving.token)
    # FastAPI's own page of /docs needs scripts from the network.
    title = f"jurist: {serving.loaded.name}"
    app = FastAPI(title=title, docs_url=None, redoc_url=None, max_body_size=serving.largest)
    app.router.route_class = _route_of_exact_json()
    app.add_api_route(_JUDGE, judge, methods=["POST"], response_model=Judged, **guarded)
    app.add_api_route(_BATCH, batch, methods=["POST"], response_model=list[Judged], **guarded)
    app.add_api_route("/", lambda: home, methods=["GET"], include_in_schema=False)
    app.add_api_route("/docs", docs, methods=["GET"], include_in_schema=False)
    app.add_api_route("/health", health, methods=["GET"])
    app.add_api_route("/ready", ready, methods=["GET"], responses={503: {"description": "not now, and why"}})
    app.add_api_route(_METRICS, metrics, methods=["GET"], include_in_schema=False)
    app.add_exception_handler(JuristError, _refuse_for_now)
    app.add_exception_handler(RequestValidationError, _refuse_body)
    if not serving.token:
        # Another site's page could have a browser send requests here, but not under these names.
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(_LOCAL))
    # Around all layers: FastAPI refuses a long body outside of those that are added.
    app.middleware_stack = _Front(app.build_middleware_stack(), serving=serving, registry=registry)
    return app


def render_docs(schema: Mapping[str, Any]) -> str:
    """Return the page of ``/docs``: each path of an OpenAPI description with its fields; it needs no other file."""
    parts = [f"<h1>{escape(schema['info']['title'])}</h1>"]
    for path, methods in schema["paths"].items():
        for method, described in methods.items():
            parts.append(f"<h2><code>{escape(method.upper())} {escape(path)}</code></h2>")
            contents: dict[str, Any] = {}
            if "requestBody" in described:
                contents["is sent"] = described["requestBody"]["content"]
            for status, response in described["responses"].items():
                contents[f"comes back with {status}"] = response.get("content") or response["description"]
            for name, value in contents.items():
                text = json.dumps(value, ensure_ascii=False, indent=2)
                parts.append(f"<h3>What {escape(name)}</h3><pre>{escape(text)}</pre>")
    schemas = schema.get("components", {}).get("schemas", {})
    for name, value in schemas.items():
        text = json.dumps(value, ensure_ascii=False, indent=2)
        parts.append(f'<h2 id="{escape(name)}">{escape(name)}</h2><pre>{escape(text)}</pre>')
    style = (
        "body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}pre{overflow:auto;"
        "border:1px solid #8888;border-radius:.4rem;padding:.6rem}h3{font-size:1rem}"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta http-equiv='
        "\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(schema['info']['title'])}</title><style>{style}</style></head><body><main>"
        f'{"".join(parts)}<p>The same as JSON: <a href="openapi.json">openapi.json</a></p></main></body></html>'
    )


async def _unless_left(request: Request, work: Awaitable[Any]) -> Any:
    """Return the result of some work, or cancel the work and return ``None`` if the client leaves before its end."""

    async def wait_for_leaving() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    work_task = asyncio.ensure_future(work)
    leaving_task = asyncio.ensure_future(wait_for_leaving())
    try:
        await asyncio.wait((work_task, leaving_task), return_when=asyncio.FIRST_COMPLETED)
        if not work_task.done():
            return None
        return await work_task
    finally:
        for task in (work_task, leaving_task):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(work_task, leaving_task, return_exceptions=True)


class _Front:
    """The first layer of a request: its id, its token before its body is read, its line in log and metrics."""

    def __init__(self, app: Any, serving: Serving, registry: CollectorRegistry) -> None:
        from fastapi.responses import JSONResponse
        from prometheus_client import Counter, Gauge, Histogram

        self._app = app
        self._serving = serving
        self._json = JSONResponse
        self._requests = Counter("jurist_requests", "Requests", ("path", "status"), registry=registry)
        self._seconds = Histogram("jurist_request_seconds", "Time of a request", ("path",), registry=registry)
        self._open = Gauge("jurist_requests_open", "Requests under way", registry=registry)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)  # type: ignore[no-any-return]
        headers = dict(scope["headers"])
        path = scope["path"]
        begun = time.monotonic()
        request_id = headers.get(b"x-request-id", b"").decode("latin-1")
        if not _REQUEST_ID.fullmatch(request_id):
            request_id = uuid.uuid4().hex
        id_header = (b"x-request-id", request_id.encode())
        scope[ANSWER_HEADERS] = [id_header]
        status = 500

        async def answer(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                response_headers = list(message.get("headers", ()))
                response_headers.append(id_header)
                message = {**message, "headers": response_headers}
            await send(message)

        self._open.inc()
        try:
            if self._may_pass(path, headers.get(b"authorization", b"")):
                await self._app(scope, receive, answer)
            else:
                refused = self._json({"detail": _REFUSED}, 401, {"WWW-Authenticate": "Bearer"})
                await refused(scope, receive, answer)
        except asyncio.CancelledError:  # the server, which ends, answers in its place
            status = 503
            raise
        finally:
            self._open.dec()
            seconds = time.monotonic() - begun
            counted_path = path if path in (_JUDGE, _BATCH, _METRICS, "/health", "/ready") else "other"
            self._requests.labels(counted_path, str(status)).inc()
            self._seconds.labels(counted_path).observe(seconds)
            request_line = json.dumps(f"{scope['method']} {path}"[:200])  # a path may hold line breaks
            _LOG.info("%s %s %s %.0f ms", request_id, request_line, status, 1000 * seconds)

    def _may_pass(self, path: str, authorization: bytes) -> bool:
        """Return whether a request may go on: a path that costs money, or tells what it cost, needs the token."""
        if not self._serving.token or path not in (_JUDGE, _BATCH, _METRICS):
            return True
        scheme, _, token = authorization.partition(b" ")
        is_right = secrets.compare_digest(token.strip(), self._serving.token.encode())
        return scheme.lower() == b"bearer" and is_right


def _refuse_for_now(request: Request, error: Exception) -> JSONResponse:
    """Return the response where the model cannot be used, or a limit is reached: status 503."""
    from fastapi.responses import JSONResponse

    return JSONResponse({"detail": str(error)}, status_code=503)


def _refuse_body(request: Request, error: Any) -> JSONResponse:
    """Return the response to a body that is no case: what is wrong and where, and nothing of the body itself.

    A body may hold what JSON cannot say, such as NaN.
    """
    from fastapi.responses import JSONResponse

    detail = []
    for problem in error.errors():
        detail.append({name: problem[name] for name in ("type", "loc", "msg")})
    if isinstance(error.body, bytes):  # it was not read as JSON, so that no fault in it is one
        detail = [
            {"type": "content_type", "loc": ["header"], "msg": "send JSON as content-type: application/json"}
        ]
    return JSONResponse({"detail": detail}, status_code=422)


def _route_of_exact_json() -> type[APIRoute]:
    """Return the kind of route that refuses a JSON object in which a field is given twice."""
    from fastapi import HTTPException, Request, Response
    from fastapi.routing import APIRoute

    def only_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            first_repeated = next(name for name, count in counts.items() if count > 1)
            problem = {
                "type": "repeated_field",
                "loc": ["body", first_repeated],
                "msg": "the field is given twice",
            }
            raise HTTPException(422, [problem])
        return fields

    class ExactRequest(Request):
        async def json(self) -> Any:
            return json.loads(await self.body(), object_pairs_hook=only_once)

    class ExactRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def handle_exactly(request: Request) -> Response:
                return await handle(ExactRequest(request.scope, request.receive))

            return handle_exactly

    return ExactRoute


def _route_options(token: str) -> dict[str, Any]:
    """Return the options of a route that costs money: the description of its failures, and of its token."""
    from fastapi import Security
    from fastapi.security import HTTPBearer

    failures = dict(_FAILURES)
    dependencies = []
    if token:
        failures[401] = _REFUSED
        dependencies.append(Security(HTTPBearer(auto_error=False)))
    responses = {code: {"description": words} for code, words in failures.items()}
    return {"responses": responses, "dependencies": dependencies}


@dataclass(frozen=True, eq=False)
class _CaseType:
    """The type of a case in a body, for pydantic: it reads the judge's inputs, and describes them as a schema."""

    serving: Serving

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.serving.case)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        judge = self.serving.loaded.judge
        schema = handler.resolve_ref_schema(handler(judge.row_model.__pydantic_core_schema__))
        hidden = self.serving.hidden
        fields = {name: field for name, field in schema["properties"].items() if name not in hidden}
        schema = dict(schema)
        schema["title"] = f"{judge.name} case"
        schema["description"] = f"What {judge.name} is given."
        schema["required"] = [name for name in schema.get("required", ()) if name in fields]
        schema["properties"] = fields
        return schema


@dataclass(frozen=True, kw_only=True)
class _Asking:
    """A judge in one language: who asks it, and what identifies it in its lines."""

    asker: Asker
    stamp: Mapping[str, Any]

    @classmethod
    def of(cls, loaded: LoadedJudge) -> _Asking:
        """Return how a judge is asked."""
        return cls(asker=loaded.asker(), stamp=loaded.stamp())


class _Judging:
    """Asks one judge for all requests, as many cases at once as it allows, and knows how that went."""

    def __init__(self, serving: Serving, registry: CollectorRegistry) -> None:
        from prometheus_client import Counter

        loaded = serving.loaded
        self._loaded = loaded
        self._deadline = serving.deadline
        # by the language of the prompt; ``None`` where nobody chose one
        self._asking_of_language: dict[str | None, _Asking] = {loaded.judge.language: _Asking.of(loaded)}
        self._free = asyncio.Semaphore(loaded.settings.concurrency)
        self._judge = loaded.judge
        self._ledger = loaded.context.ledger
        self._exhausted = ""  # which limit was reached, in words
        self._failed = ""  # why the model failed last; empty once it has answered again
        self._failed_at = 0.0
        self._cases = Counter("jurist_cases", "Cases by what became of them", ("status",), registry=registry)
        registry.register(self)

    async def lines(self, cases: Sequence[Case]) -> list[dict[str, Any]]:
        """Return the verdict lines of cases, in their order."""
        try:
            return await self._lines_by_language(cases)
        except BudgetExhausted as error:
            self._exhausted = str(error)
            raise JuristError(str(error)) from error
        except JuristError as error:
            self._failed = str(error)
            self._failed_at = time.monotonic()
            raise

    async def _lines_by_language(self, cases: Sequence[Case]) -> list[dict[str, Any]]:
        """Return the verdict lines of cases, each asked for in its own language where rows choose it."""
        places_of_language: dict[str | None, list[int]] = {}
        for place, case in enumerate(cases):
            loaded = self._loaded.for_cases([case])
            language = loaded.judge.language
            if language not in self._asking_of_language:
                self._asking_of_language[language] = _Asking.of(loaded)
            places_of_language.setdefault(language, []).append(place)
        lines: list[dict[str, Any]] = [{} for _ in cases]
        for prompt_language, places in places_of_language.items():
            line_of = partial(self._line, self._asking_of_language[prompt_language])
            async with self._asking_of_language[prompt_language].asker.ready():
                asked = await together([cases[place] for place in places], line_of, concurrency=len(places))
            for place, line in zip(places, asked, strict=True):
                lines[place] = line
        return lines

    async def _line(self, asking: _Asking, case: Case) -> dict[str, Any]:
        verdict = await self._judge_in_time(asking.asker, case)
        try:
            asking.asker.note(verdict)
        except ModelError as error:  # its hint is for a run, which can be continued
            raise ModelError(error.message, hint="check the model's server") from error
        line = {"case": case.id, **verdict_parts(self._judge, case, verdict), **asking.stamp}
        self._cases.labels(line["status"]).inc()
        self._failed = ""
        if line["status"] == "failed":
            self._failed = line["error"]
        self._failed_at = time.monotonic()
        return line

    async def _judge_in_time(self, asker: Asker, case: Case) -> Verdict:
        """Return the verdict of a case: a failed one if it is not there by the deadline."""
        try:
            async with asyncio.timeout(self._deadline) as limit, self._free:
                return await asker.judged(case)
        except TimeoutError:
            if not limit.expired():
                raise
        late = Verdict(
            values=(),
            status="failed",
            error_kind="out of time",
            error=f"no verdict within {self._deadline:g} seconds",
            request_failed=True,
        )
        return verdict_of(self._judge.answer, asker.settings.sampling, case, [late], Spend())

    def trouble(self) -> str:
        """Return why the next case could hardly be judged; empty if nothing is known against it."""
        if self._exhausted:
            return self._exhausted
        if time.monotonic() - self._failed_at < _TROUBLED:
            return self._failed
        return ""

    def collect(self) -> Iterable[Any]:
        """Yield what was spent, as Prometheus reads it."""
        from prometheus_client.metrics_core import CounterMetricFamily

        spend = self._ledger.spend()
        yield CounterMetricFamily("jurist_calls", "Requests to models, retries included", spend.calls)
        tokens = CounterMetricFamily("jurist_tokens", "Tokens of models", labels=("kind",))
        tokens.add_metric(("input",), spend.input_tokens)
        tokens.add_metric(("output",), spend.output_tokens)
        yield tokens
        yield CounterMetricFamily("jurist_dollars", "US dollars of calls whose price is known", spend.cost)
        yield CounterMetricFamily("jurist_unpriced_calls", "Calls whose price is unknown", spend.unpriced)
