"""Decision models behind the channel: a text and questions are sent, and probabilities come back.

Two protocols: ``POST /v1/systemone``, which DSPy's TypeSafe provider writes and reads, and OpenAI's
``POST /v1/decisions``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import dspy
from dspy import LMError, LMInvalidRequestError, LMProviderError, LMTimeoutError, LMTransportError
from dspy.lm15 import Config, DataPart, Message, Request, Response, Usage
from dspy.lm15 import data as data_part

from ..arguments.groups import Endpoint
from ..errors import ModelError, UsageError
from .conversion import without_key
from .decision_questions import (
    Decided,
    Distribution,
    Question,
    State,
    read_decisions,
    state_of,
    typed_questions,
)
from .direct import Direct, wait_in_thread
from .draws import LABEL_PROBABILITIES, TypedRequest, typed_request
from .extras import body_fields, headers_of, secrets_in
from .failure_kinds import FailureKind
from .failures import RefusedRowError, brief, kind_of, timed_out
from .prices import input_cost, stated_cost

OPENAI_DECISIONS: Final = "decisions"
"""The provider in the names of OpenAI's decision models."""
_MOST_QUESTIONS: Final = 400
"""The most questions of a request to OpenAI's endpoint, and to an endpoint that says nothing of a limit."""
_ENDS: Final = ("/systemone", "/decisions", "/v1")
"""Ends of an address that are added again where the request is written."""


class DecisionModel:
    """A decision model's endpoint, which answers typed requests."""

    gives_probabilities: Final = True
    """One reply holds the probabilities, and a further reply would be the same."""

    def __init__(
        self, name: str, model: Endpoint, key: str | None, settings: Mapping[str, Any], *, has_price: bool
    ) -> None:
        self.name, self._model = name, model
        self.settings = settings  # that decide the answers beside the request itself
        self.has_price = has_price  # whether what a call costs is known beforehand
        self._provider, _, self._name = name.partition("/")
        options: dict[str, Any] = {"timeout": model.timeout}
        if key is not None:
            options["api_key"] = key
        if model.api_base is not None:
            options["api_base"] = self._address(model.api_base)
        elif self._provider == "systemone":
            raise UsageError(
                f"{name} has no address",
                hint="add --api-base http://host:port of a server that answers /v1/systemone; typesafe/NAME is "
                "TypeSafe's own",
            )
        sent_headers = headers_of(model)
        if self._is_of_openai:
            lm = dspy.LM(f"openai/{self._name}", cache=False, num_retries=0, **options)
            self._direct = Direct(lm, headers=sent_headers, fields=body_fields(model))
        else:
            lm = dspy.LM(f"typesafe/{self._name}", cache=False, num_retries=0, **options)
            self._direct = Direct(lm, headers=sent_headers, fields=body_fields(model), provider="typesafe")
        self._direct.shown_name = name
        self._secrets = [self._direct.key] + secrets_in(model, sent_headers)

    @property
    def _is_of_openai(self) -> bool:
        """Whether the endpoint speaks OpenAI's protocol."""
        return self._provider == OPENAI_DECISIONS

    def _address(self, address: str) -> str:
        """Return an address as the protocol needs it: with ``/v1`` for OpenAI's, without it for System One."""
        address = address.rstrip("/")
        for end in _ENDS:
            address = address.removesuffix(end)
        if self._is_of_openai:
            return f"{address}/v1"
        return address

    def check(self, request: Request) -> None:
        """Refuse a request that no decision model can answer, before it is counted."""
        typed_questions(_typed_request_of_context(self.name))

    def complete(self, request: Request) -> tuple[Response, float | None]:
        """Send a request; return the response and its cost in US dollars, ``None`` if not known."""
        typed = _typed_request_of_context(self.name)
        response = wait_in_thread(self._answer(typed))
        return response, self._cost(response)

    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        """Complete a request inside a running event loop."""
        response = await self._answer(_typed_request_of_context(self.name))
        return response, self._cost(response)

    async def _answer(self, typed: TypedRequest) -> Response:
        """Return the response to a typed request: its values as text, and the probabilities of its labels."""
        questions = typed_questions(typed)
        if len(questions) > _MOST_QUESTIONS:
            raise RefusedRowError(
                FailureKind.TOO_LONG,
                f"{len(questions)} questions of one row, and a request takes at most {_MOST_QUESTIONS}",
            )
        with self._in_time():
            async with asyncio.timeout(self._model.timeout):
                if self._is_of_openai:
                    distributions, usage, name = await self._ask_openai(state_of(typed), questions)
                else:
                    distributions, usage, name = await self._ask_system_one(state_of(typed), questions)
        try:
            decided = read_decisions(typed, distributions)
        except (KeyError, ValueError) as error:
            raise LMProviderError(f"unusable probabilities: {error}", model=self.name) from error
        response = self._response(typed, decided, usage, name)
        for secret in self._secrets:
            response = without_key(response, secret)
        return response

    def _response(self, typed: TypedRequest, decided: Decided, usage: Usage, name: str) -> Response:
        """Return the decisions in the form in which the adapter of the request reads replies."""
        text = typed.adapter.format_assistant_message_content(typed.signature, dict(decided.values))
        return Response(
            id=None,
            model=name,
            message=Message.assistant(text.strip()),
            finish_reason="stop",
            usage=usage,
            provider_data={LABEL_PROBABILITIES: decided.probabilities},
        )

    async def _ask_system_one(
        self, state: State, questions: tuple[Question, ...]
    ) -> tuple[dict[str, Distribution], Usage, str]:
        """Ask an endpoint of System One; return question -> probabilities, the tokens, and the model that answered."""
        properties: dict[str, Any] = {}
        for question in questions:
            properties[question.name] = _as_judgment(question)
        schema = {"type": "object", "properties": properties}
        message = Message.user(state) if isinstance(state, str) else Message.user(data_part(state))
        request = Request(
            model=self._name,
            messages=(message,),
            config=Config(response_format={"type": "json_schema", "name": "questions", "schema": schema}),
        )
        response = await self._direct.complete(request)
        parts = response.message.parts_of(DataPart)
        if len(parts) != 1 or not parts[0].probabilities:
            raise LMProviderError("the reply holds no probabilities", model=self.name)
        return dict(parts[0].probabilities), response.usage, response.model

    async def _ask_openai(
        self, state: State, questions: tuple[Question, ...]
    ) -> tuple[dict[str, Distribution], Usage, str]:
        """Ask OpenAI's endpoint; return question -> probabilities, the tokens, and the model that answered."""
        body = decision_body(self._name, state, questions)
        reply = await self._direct.post("decisions", body)
        try:
            usage = reply.get("usage") or {}
            tokens = Usage(
                input_tokens=usage.get("input_tokens"),
                output_tokens=usage.get("output_tokens"),
                cache_read_tokens=(usage.get("input_tokens_details") or {}).get("cached_tokens"),
            )
            distributions = read_decision(reply, questions)
            return distributions, tokens, str(reply.get("model") or self._name)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise LMProviderError(f"the reply is no decision: {error}", model=self.name) from error

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """Tell a server that does not answer in time from one that is not there."""
        try:
            yield
        except (LMTransportError, TimeoutError) as error:
            if isinstance(error, LMTransportError) and not timed_out(error):
                raise
            words = f"no answer within {self._model.timeout:g} s"
            raise LMTimeoutError(words, model=self.name) from error
        except LMError as error:
            if kind_of(error) is not FailureKind.ADDRESS:
                raise
            path = "/v1/decisions" if self._is_of_openai else "/v1/systemone"
            raise ModelError(
                f"[{self.name}] there is no decision model: {brief(error)}",
                hint=f"check --api-base: the server must answer POST {path}; a chat model is named openai/NAME",
            ) from error

    def _cost(self, response: Response) -> float | None:
        """Return US dollars of a reply: by stated prices, else by the price of its input tokens."""
        if self._model.price_in is not None:
            return stated_cost(self._model, response.usage)
        return input_cost(self.name, response.usage.input_tokens or 0)


def _typed_request_of_context(name: str) -> TypedRequest:
    """Return the typed request of this context; an error where a prompt alone is sent."""
    typed = typed_request.get()
    if typed is None:
        raise ModelError(
            f"{name} is a decision model, and writes no text",
            hint="name a model that writes text with --prompt-model",
        )
    return typed


def _as_judgment(question: Question) -> dict[str, Any]:
    """Return a question as the property of a JSON schema that DSPy's TypeSafe provider reads as one."""
    judgment: dict[str, Any] = {"description": question.instruction}
    if question.kind == "predicate":
        described = [question.described("true"), question.described("false")]
        if any(described):
            words = "\n".join(f"{name}: {text}" for name, text in zip(("Yes", "No"), described, strict=True))
            judgment["description"] = f"{question.instruction}\n{words}"
        return {"type": "boolean", **judgment}
    branches: list[dict[str, Any]] = []
    for place, choice in enumerate(question.choices):
        branch: dict[str, Any] = {"const": choice}
        words = question.described(choice)
        if question.kind == "score":
            branch["const"] = place
            words = f"{choice}: {words}" if words else choice
        if words:
            branch["description"] = words
        branches.append(branch)
    return {"anyOf": branches, **judgment}


def decision_body(name: str, state: State, questions: tuple[Question, ...]) -> dict[str, Any]:
    """Return the body of a request to OpenAI's endpoint (``openai.types.DecisionCreateParams``)."""
    text = state
    if not isinstance(state, str):
        text = "\n\n".join(f"{field}:\n{words}" for field, words in state.items())
    asked: list[dict[str, Any]] = []
    for question in questions:
        entry: dict[str, Any] = {
            "type": question.kind,
            "name": question.name,
            "instructions": question.instruction,
        }
        if question.kind == "predicate":
            for name_of_answer, words in (question.descriptions or {}).items():
                entry["instructions"] += f"\n{name_of_answer}: {words}"
        elif question.kind == "choice":
            entry["choices"] = [_with_words("value", choice, question) for choice in question.choices]
        else:
            entry["levels"] = [_with_words("label", level, question) for level in question.choices]
        asked.append(entry)
    return {"model": name, "input": text, "questions": asked}


def _with_words(key: str, choice: str, question: Question) -> dict[str, str]:
    """Return a choice or a level of OpenAI's protocol, with its description if it has one."""
    entry = {key: choice}
    words = question.described(choice)
    if words:
        entry["description"] = words
    return entry


def read_decision(reply: Mapping[str, Any], questions: tuple[Question, ...]) -> dict[str, Distribution]:
    """Return question -> probabilities of a reply of OpenAI's endpoint; ``ValueError`` names what is wrong with it."""
    answers = reply["answers"]
    if len(answers) != len(questions):
        raise ValueError(f"{len(answers)} answers to {len(questions)} questions")
    distributions: dict[str, Distribution] = {}
    for question, answer in zip(questions, answers, strict=True):
        if answer["type"] == "refusal":
            raise LMInvalidRequestError(
                "the model declined to answer", status=400, provider_code="content_filter"
            )
        if answer["type"] != question.kind:
            raise ValueError(f"{question.name} is answered by {answer['type']!r}")
        shares: dict[str, float] = {}
        if question.kind == "predicate":
            probability = _checked_probability(answer["probability"])
            shares = {"true": probability, "false": 1.0 - probability}
        elif question.kind == "choice":
            for entry in answer["probabilities"]:
                shares[str(entry["value"])] = _checked_probability(entry["probability"])
        else:
            for place, entry in enumerate(answer["probabilities"]):
                shares[str(place)] = _checked_probability(entry["probability"])
        distributions[question.name] = shares
    return distributions


def _checked_probability(value: object) -> float:
    """Return a probability; ``ValueError`` where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"{value!r} is no probability")
    return float(value)
