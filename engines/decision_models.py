"""Decision models behind the channel: jurist sends a text and questions, and the model returns probabilities.

Two protocols: ``POST /v1/systemone``, which DSPy's TypeSafe provider writes and reads, and OpenAI's
``POST /v1/decisions``.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import dspy
from dspy import LMError, LMInvalidRequestError, LMProviderError, LMTimeoutError, LMTransportError
from dspy.lm15 import Config, DataPart, Message, Request, Response, Usage
from dspy.lm15 import data as data_part

from ..arguments.groups import Endpoint
from ..errors import ModelError, UsageError
from ..text.distributions import Distribution, openai_distribution
from .channel import InnerEngine
from .conversion import reply_text, without_key
from .decision_questions import (
    Decisions,
    Subject,
    TypedQuestion,
    make_decisions,
    subject_of_request,
    typed_questions,
)
from .direct import Direct, wait_in_thread
from .draws import LABEL_PROBABILITIES, TypedRequest, typed_request
from .extras import body_fields, headers_of, secrets_in
from .failure_kinds import FailureKind
from .failures import brief, kind_of, timed_out
from .prices import input_cost, stated_cost

OPENAI_DECISIONS: Final = "decisions"
"""The provider in the names of OpenAI's decision models."""
MOST_QUESTIONS: Final = 400
"""The most questions of a request to OpenAI's endpoint, and to an endpoint that says nothing of a limit."""
_PART: Final = "questions_of_part"
"""The name of the response format of a request that asks only some of the questions."""
_ENDS: Final = ("/systemone", "/decisions", "/v1")
"""Ends of an address that are added again where the request is written."""


class DecisionModel(InnerEngine):
    """A decision model's endpoint, which answers typed requests."""

    gives_probabilities = True

    def __init__(
        self, name: str, endpoint: Endpoint, key: str | None, settings: Mapping[str, Any], *, has_price: bool
    ) -> None:
        self.name = name  # PROVIDER/MODEL
        self._settings = settings
        self._has_price = has_price
        self._endpoint = endpoint
        self._provider, _, self._sent_name = name.partition("/")
        options: dict[str, Any] = {"timeout": endpoint.timeout}
        if key is not None:
            options["api_key"] = key
        if endpoint.api_base is not None:
            options["api_base"] = self._base_address(endpoint.api_base)
        elif self._provider == "systemone":
            raise UsageError(
                f"{name} has no address",
                hint="add --api-base http://host:port of a server that answers /v1/systemone; typesafe/NAME is "
                "TypeSafe's own",
            )
        sent_headers = headers_of(endpoint)
        if self._is_of_openai:
            lm = dspy.LM(f"openai/{self._sent_name}", cache=False, num_retries=0, **options)
            self._direct = Direct(lm, headers=sent_headers, fields=body_fields(endpoint))
        else:
            lm = dspy.LM(f"typesafe/{self._sent_name}", cache=False, num_retries=0, **options)
            self._direct = Direct(lm, headers=sent_headers, fields=body_fields(endpoint), provider="typesafe")
        self._direct.shown_name = name
        self._secrets = [self._direct.key] + secrets_in(endpoint, sent_headers)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The values that decide the answers beside the request itself."""
        return self._settings

    @property
    def has_price(self) -> bool:
        """Whether the cost of a call is known beforehand."""
        return self._has_price

    @property
    def _is_of_openai(self) -> bool:
        """Whether the endpoint speaks OpenAI's protocol."""
        return self._provider == OPENAI_DECISIONS

    def _base_address(self, address: str) -> str:
        """Return the beginning of an address, as the protocol needs it: with ``/v1`` for OpenAI's, else without."""
        address = address.rstrip("/")
        for end in _ENDS:
            address = address.removesuffix(end)
        if self._is_of_openai:
            return f"{address}/v1"
        return address

    def check(self, request: Request) -> None:
        """Refuse a request that no decision model can answer, before it is counted.

        Like :meth:`complete`, it looks at the typed request of this context, of which ``request`` is the prompt.
        """
        typed = _typed_request_of_context(self.name)
        if not self._is_of_openai:
            for name, value in typed.inputs.items():
                if isinstance(value, dspy.Image):
                    raise ModelError(
                        f"{self.name} is asked about texts, and {name!r} is an image",
                        hint="name a model that sees images: one of decisions/..., or a chat model",
                    )
        typed_questions(typed)

    def split_request(self, request: Request) -> Sequence[Request]:
        """Return the requests in which the questions of the typed request of this context are sent.

        There are several where a request cannot take them all. Each of them names its questions.
        """
        questions = typed_questions(_typed_request_of_context(self.name))
        if len(questions) <= MOST_QUESTIONS:
            return (request,)
        parts: list[Request] = []
        for start in range(0, len(questions), MOST_QUESTIONS):
            names = [question.name for question in questions[start : start + MOST_QUESTIONS]]
            schema = {"type": "object", "required": names}
            response_format = {"type": "json_schema", "name": _PART, "schema": schema}
            parts.append(replace(request, config=replace(request.config, response_format=response_format)))
        return parts

    def join_responses(self, responses: Sequence[Response]) -> Response:
        """Return one response to the typed request of this context, made of those to the parts of its request."""
        distributions: dict[str, Distribution] = {}
        for response in responses:
            distributions.update(json.loads(reply_text(response)))
        usage = Usage(
            input_tokens=_sum_of_reported([response.usage.input_tokens for response in responses]),
            output_tokens=_sum_of_reported([response.usage.output_tokens for response in responses]),
        )
        typed = _typed_request_of_context(self.name)
        return self._as_response(typed, self._decisions(typed, distributions), usage, responses[0].model)

    def complete(self, request: Request) -> tuple[Response, float | None]:
        """Return the response to the typed request of this context, and its cost in US dollars.

        Args:
            request: the prompt of the typed request, which a decision model is not sent.

        Returns:
            The response, and the cost; ``None`` if that is not known.
        """
        typed = _typed_request_of_context(self.name)
        response = wait_in_thread(self._answer(typed, request))
        return response, self._cost(response)

    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        """Return the response and the cost as :meth:`complete` does, inside a running event loop."""
        response = await self._answer(_typed_request_of_context(self.name), request)
        return response, self._cost(response)

    async def _answer(self, typed: TypedRequest, request: Request) -> Response:
        """Return the response to a typed request: its values as text, and the probabilities of its labels.

        Where ``request`` asks only a part of the questions, the text of the response is their probabilities as JSON,
        which :meth:`join_responses` reads.
        """
        questions = typed_questions(typed)
        names_of_part = _names_of_part(request)
        if names_of_part:
            questions = tuple(question for question in questions if question.name in names_of_part)
        subject = subject_of_request(typed)
        with self._naming_faults():
            async with asyncio.timeout(self._endpoint.timeout):
                if self._is_of_openai:
                    distributions, usage, answering_model = await self._ask_openai(subject, questions)
                else:
                    distributions, usage, answering_model = await self._ask_system_one(subject, questions)
        if names_of_part:
            response = _response(json.dumps(distributions), usage, answering_model)
        else:
            decisions = self._decisions(typed, distributions)
            response = self._as_response(typed, decisions, usage, answering_model)
        for secret in self._secrets:
            response = without_key(response, secret)
        return response

    def _decisions(self, typed: TypedRequest, distributions: Mapping[str, Distribution]) -> Decisions:
        """Return the values that probabilities give; raise an error of the provider where they give none."""
        try:
            return make_decisions(typed, distributions)
        except (KeyError, ValueError) as error:
            raise LMProviderError(f"unusable probabilities: {error}", model=self.name) from error

    def _as_response(
        self, typed: TypedRequest, decisions: Decisions, usage: Usage, answering_model: str
    ) -> Response:
        """Return decisions as a response, whose text is one that the adapter of the request reads."""
        text = typed.adapter.format_assistant_message_content(typed.signature, dict(decisions.values))
        response = _response(text.strip(), usage, answering_model)
        return replace(response, provider_data={LABEL_PROBABILITIES: decisions.probabilities})

    async def _ask_system_one(
        self, subject: Subject, questions: tuple[TypedQuestion, ...]
    ) -> tuple[dict[str, Distribution], Usage, str]:
        """Ask an endpoint of System One; return question -> probabilities, the tokens, and the model that answered."""
        properties: dict[str, Any] = {}
        for question in questions:
            properties[question.name] = _as_judgment(question)
        schema = {"type": "object", "properties": properties}
        message = Message.user(subject) if isinstance(subject, str) else Message.user(data_part(subject))
        request = Request(
            model=self._sent_name,
            messages=(message,),
            config=Config(response_format={"type": "json_schema", "name": "questions", "schema": schema}),
        )
        response = await self._direct.complete(request)
        parts = response.message.parts_of(DataPart)
        if len(parts) != 1 or not parts[0].probabilities:
            raise LMProviderError("the reply holds no probabilities", model=self.name)
        return dict(parts[0].probabilities), response.usage, response.model

    async def _ask_openai(
        self, subject: Subject, questions: tuple[TypedQuestion, ...]
    ) -> tuple[dict[str, Distribution], Usage, str]:
        """Ask OpenAI's endpoint; return question -> probabilities, the tokens, and the model that answered."""
        body = openai_body(self._sent_name, subject, questions)
        reply = await self._direct.post("decisions", body)
        try:
            usage = reply.get("usage") or {}
            tokens = Usage(
                input_tokens=usage.get("input_tokens"),
                output_tokens=usage.get("output_tokens"),
                cache_read_tokens=(usage.get("input_tokens_details") or {}).get("cached_tokens"),
            )
            distributions = read_openai_reply(reply, questions)
            return distributions, tokens, str(reply.get("model") or self._sent_name)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise LMProviderError(f"the reply is no decision: {error}", model=self.name) from error

    @contextmanager
    def _naming_faults(self) -> Iterator[None]:
        """Turn two faults of a server into errors that name them: no answer in time, and no decision model there."""
        try:
            yield
        except (LMTransportError, TimeoutError) as error:
            if isinstance(error, LMTransportError) and not timed_out(error):
                raise
            words = f"no answer within {self._endpoint.timeout:g} s"
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
        """Return the US dollars that a reply costs: by stated prices, else by the price of its input tokens."""
        if self._endpoint.price_in is not None:
            return stated_cost(self._endpoint, response.usage)
        return input_cost(self.name, response.usage.input_tokens)


def count_requests(request: TypedRequest) -> int:
    """Return in how many requests the questions of a typed request are sent. Raises what asking them raises."""
    return max(1, math.ceil(len(typed_questions(request)) / MOST_QUESTIONS))


def _typed_request_of_context(name: str) -> TypedRequest:
    """Return the typed request of this context; a ``ModelError`` where somebody asks for a text."""
    typed = typed_request.get()
    if typed is None:
        raise ModelError(
            f"{name} is a decision model, and writes no text",
            hint="name a model that writes text with --prompt-model",
        )
    return typed


def _sum_of_reported(counts: Sequence[int | None]) -> int | None:
    """Return the sum of token counts; ``None`` where the endpoint left one out."""
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total


def _names_of_part(request: Request) -> frozenset[str]:
    """Return the names of the questions of a part (:meth:`DecisionModel.split_request`); empty for a whole request."""
    response_format = request.config.response_format or {}
    if response_format.get("name") != _PART:
        return frozenset()
    return frozenset(response_format["schema"]["required"])


def _response(text: str, usage: Usage, answering_model: str) -> Response:
    """Return a whole response with this text."""
    return Response(
        id=None,
        model=answering_model,
        message=Message.assistant(text),
        finish_reason="stop",
        usage=usage,
    )


def _as_judgment(question: TypedQuestion) -> dict[str, Any]:
    """Return a question as a property of a JSON schema, as DSPy's TypeSafe provider reads it."""
    if question.kind == "predicate":
        description = question.instruction
        words_of_yes = question.description_of("true")
        words_of_no = question.description_of("false")
        if words_of_yes or words_of_no:
            description += f"\nYes: {words_of_yes}\nNo: {words_of_no}"
        return {"type": "boolean", "description": description}
    branches: list[dict[str, Any]] = []
    for place, choice in enumerate(question.choices):
        branch: dict[str, Any] = {"const": choice}
        words = question.description_of(choice)
        if question.kind == "score":
            branch["const"] = place
            words = f"{choice}: {words}" if words else choice
        if words:
            branch["description"] = words
        branches.append(branch)
    return {"anyOf": branches, "description": question.instruction}


def systemone_question(question: TypedQuestion) -> dict[str, Any]:
    """Return a question as ``POST /v1/systemone`` takes it, as DSPy's TypeSafe provider writes it."""
    judgment = _as_judgment(question)
    instructions = judgment["description"]
    if question.kind == "predicate":
        return {"type": "noul", "instructions": instructions}  # the protocol's name of a yes or no question
    if question.kind == "choice":
        criteria = {branch["const"]: branch.get("description") for branch in judgment["anyOf"]}
        return {"type": "choice", "instructions": instructions, "criteria": criteria}
    levels = [branch["description"] for branch in judgment["anyOf"]]
    return {"type": "score", "instructions": instructions, "criteria": levels}


def openai_body(model_name: str, subject: Subject, questions: tuple[TypedQuestion, ...]) -> dict[str, Any]:
    """Return the body of a request to OpenAI's endpoint (``openai.types.DecisionCreateParams``)."""
    entries: list[dict[str, Any]] = []
    for question in questions:
        entry: dict[str, Any] = {
            "type": question.kind,
            "name": question.name,
            "instructions": question.instruction,
        }
        if question.kind == "predicate":
            for true_or_false, words in (question.descriptions or {}).items():
                entry["instructions"] += f"\n{true_or_false}: {words}"
        elif question.kind == "choice":
            entry["choices"] = [_described_entry("value", choice, question) for choice in question.choices]
        else:
            entry["levels"] = [_described_entry("label", level, question) for level in question.choices]
        entries.append(entry)
    return {"model": model_name, "input": _openai_input(subject), "questions": entries}


def _openai_input(subject: Subject) -> str | list[dict[str, Any]]:
    """Return the subject of questions as OpenAI's protocol has it: a text, or a message where there are images."""
    if isinstance(subject, str):
        return subject
    texts: list[str] = []
    parts: list[dict[str, str]] = []
    for field, value in subject.items():
        if isinstance(value, dspy.Image):
            if len(subject) > 1:
                parts.append({"type": "input_text", "text": f"{field}:"})
            parts.append({"type": "input_image", "image_url": value.url})
        else:
            text = f"{field}:\n{value}"
            texts.append(text)
            parts.append({"type": "input_text", "text": text})
    if len(texts) == len(subject):
        return "\n\n".join(texts)
    return [{"role": "user", "content": parts}]


def _described_entry(key: str, choice: str, question: TypedQuestion) -> dict[str, str]:
    """Return a choice or a level of OpenAI's protocol, with its description if it has one."""
    entry = {key: choice}
    words = question.description_of(choice)
    if words:
        entry["description"] = words
    return entry


def read_openai_reply(
    reply: Mapping[str, Any], questions: tuple[TypedQuestion, ...]
) -> dict[str, Distribution]:
    """Return question -> probabilities of a reply of OpenAI's endpoint.

    Raises:
        ValueError: it does not answer these questions in their order. LMInvalidRequestError: the model declined.
    """
    answers = reply["answers"]
    if len(answers) != len(questions):
        raise ValueError(f"{len(answers)} answers to {len(questions)} questions")
    distributions: dict[str, Distribution] = {}
    for question, answer in zip(questions, answers, strict=True):
        if answer["type"] == "refusal":
            raise LMInvalidRequestError(
                "the model declined to answer", status=400, provider_code="content_filter"
            )
        distributions[question.name] = openai_distribution(question.kind, answer)
    return distributions
