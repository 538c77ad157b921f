"""A judge that a decision model answers, from its exported description alone: its questions, and its verdict.

Only the standard library, because exports carry this source along (:mod:`jurist.exports.decision_file`).
"""

import json
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypedDict

from ..programs.flows import Inputs
from ..text.distributions import (
    NO,
    YES,
    Distribution,
    checked_probability,
    expected_score,
    label_shares,
    likeliest_label,
    mean_place,
    openai_distribution,
    predicate_distribution,
)
from ..text.numbered_answers import last_numbered_texts, read_numbered_answers, write_numbered_answers
from .portable_judge import PortableJudge, Verdict, message_text


class DecisionQuestion(TypedDict):
    """A question, or one that is asked of each sentence."""

    name: str  # of each sentence, the beginning of the name, which its number ends
    body: Mapping[str, Any]  # as the endpoint takes it, without its name
    after_sentence: str | None  # the end of the instructions, behind the sentence; ``None`` for one question
    choices: Sequence[str]  # the names of the probabilities of a choice or a score
    low: float | None  # the lowest level of a score; ``None`` of another kind


class DecidedField(TypedDict):
    """An output field, and how its value follows from probabilities."""

    name: str
    kind: str  # ``bool``, ``label``, ``labels``, ``tags``, ``score`` or ``answers``
    questions: Sequence[DecisionQuestion]
    labels: Sequence[str]
    affirmative: str  # the label that says yes, where a predicate asks for it
    low: float  # the lowest score
    is_whole: bool  # whether scores are whole numbers
    has_shares: bool  # whether its labels have probabilities
    number: str  # of sentences: the name of an item's number
    label: str  # the name of its label
    others: Sequence[str]  # the names of its other parts


Post: TypeAlias = Callable[[Mapping[str, Any]], Any]
"""The body of a request -> the JSON value of the reply."""


class KeepAddress(urllib.request.HTTPRedirectHandler):
    """The rule that a reply which redirects is an error, so that the key reaches no other address."""

    def redirect_request(self, *parts: Any) -> None:
        """Return no request."""
        return None


class DecisionJudge(PortableJudge):
    """A judge that asks a decision model as its description says."""

    def post_to(self, address: str, key: str, timeout: float) -> Post:
        """Return a function that posts to the endpoint at an address, with a key if there is one."""
        base = address.rstrip("/")
        for end in ("/systemone", "/decisions", "/v1"):
            base = base.removesuffix(end)
        url = base + self.spec["decisions"]["path"]
        headers = {"Content-Type": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        opener = urllib.request.build_opener(KeepAddress)

        def post(body: Mapping[str, Any]) -> Any:
            data = json.dumps(body).encode()
            request = urllib.request.Request(url, data, headers)
            with opener.open(request, timeout=timeout) as reply:
                return json.load(reply)

        return post

    def decide(self, post: Post, inputs: Inputs) -> Verdict:
        """Ask all questions about a row, of a pair in both orders, and return the verdict."""
        replies: list[tuple[Inputs, list[Any]]] = []
        for order in self.orders(inputs):
            shown = self.values(order)
            replies.append((shown, [post(body) for body in self.bodies(shown)]))
        units = len(self.texts(inputs))
        samples: list[list[object]] = []
        answers: list[list[float | None]] = []
        errors: list[str] = []
        shares: list[Mapping[Any, float]] = []
        try:
            presentations: list[list[object]] = []
            for values, parts in replies:
                distributions = self._distributions(values, parts)
                fields, shares_of_field, numbers = self._read_fields(values, distributions)
                presentations.append(self.unit_values(fields, inputs))
                shares = self._unit_shares(shares_of_field, units)  # empty ones for a pair, in both orders
                if numbers:
                    answers.append(numbers)
            sample = presentations[0]
            if len(presentations) > 1:
                sample = [self._preferred(presentations[0][0], presentations[1][0])]
            samples.append(sample)
        except (KeyError, ValueError) as error:
            errors.append(str(error))
            shares = [{} for _ in range(units * len(self.answer_specs))]
        return self.verdict(samples, errors, units, inputs, answers, shares)

    def bodies(self, values: Inputs) -> list[dict[str, Any]]:
        """Return the bodies of the requests about a row; several where one cannot take all questions."""
        questions = self._questions_about(values)
        most = self.spec["decisions"]["most"]
        subject: Any = {name: message_text(value) for name, value in values.items()}
        if len(subject) == 1:
            (subject,) = subject.values()
        bodies: list[dict[str, Any]] = []
        for start in range(0, len(questions), most):
            part = questions[start : start + most]
            body: dict[str, Any] = {"model": self.spec["decisions"]["model"]}
            if self._is_openai:
                if not isinstance(subject, str):
                    subject = "\n\n".join(f"{name}:\n{text}" for name, text in subject.items())
                body["input"] = subject
                body["questions"] = [{**question, "name": name} for name, question, _ in part]
            else:
                body["state"] = subject
                body["questions"] = {name: question for name, question, _ in part}
            bodies.append({**self.spec["decisions"]["body"], **body})
        return bodies

    @property
    def _is_openai(self) -> bool:
        """Whether the endpoint is ``/v1/decisions``; else it is ``/v1/systemone``."""
        return str(self.spec["decisions"]["path"]).endswith("/decisions")

    @property
    def _output_fields(self) -> Sequence[DecidedField]:
        """The output fields, in the order in which they are asked."""
        fields: Sequence[DecidedField] = self.spec["decisions"]["fields"]
        return fields

    def _questions_about(self, values: Inputs) -> list[tuple[str, Mapping[str, Any], Sequence[str]]]:
        """Return name, body and choices of each question about a row."""
        questions: list[tuple[str, Mapping[str, Any], Sequence[str]]] = []
        for field in self._output_fields:
            for question in field["questions"]:
                body, choices = question["body"], question["choices"]
                after = question["after_sentence"]
                if after is None:
                    questions.append((question["name"], body, choices))
                    continue
                for number, sentence in last_numbered_texts(list(values.values())):
                    instructions = f"{body['instructions']}{sentence}{after}"
                    whole_body = {**body, "instructions": instructions}
                    questions.append((f"{question['name']}{number}", whole_body, choices))
        return questions

    def _distributions(self, values: Inputs, replies: Sequence[Any]) -> dict[str, Distribution]:
        """Return question -> probabilities of the replies to all requests about a row."""
        questions = self._questions_about(values)
        most = self.spec["decisions"]["most"]
        distributions: dict[str, Distribution] = {}
        for number, reply in enumerate(replies):
            part = questions[number * most : (number + 1) * most]
            answers = reply["answers"]
            if len(answers) != len(part):
                raise ValueError(f"{len(answers)} answers to {len(part)} questions")
            for place, (name, body, choices) in enumerate(part):
                if self._is_openai:
                    answer = answers[place]
                    if answer["type"] == "refusal":
                        raise ValueError("the model declined to answer")
                    distributions[name] = openai_distribution(body["type"], answer)
                elif body["type"] == "noul":
                    distributions[name] = predicate_distribution(answers[name]["noul"])
                else:
                    shares = answers[name]["probabilities"]
                    distributions[name] = {choice: checked_probability(shares[choice]) for choice in choices}
        return distributions

    def _read_fields(
        self, values: Inputs, distributions: Mapping[str, Distribution]
    ) -> tuple[dict[str, object], dict[str, list[dict[str, float]]], list[float | None]]:
        """Return the output fields that probabilities give, the probabilities of their labels, and the answers."""
        fields: dict[str, object] = {}
        shares_of_field: dict[str, list[dict[str, float]]] = {}
        numbers: list[float | None] = []
        for field in self._output_fields:
            name, kind, labels = field["name"], field["kind"], field["labels"]
            first = field["questions"][0]
            if kind == "answers":
                written = write_numbered_answers(
                    [_answer_number(question, distributions) for question in field["questions"]]
                )
                numbers = read_numbered_answers(written, self._question_kinds)
            elif kind == "labels":
                chosen: list[str] = []
                for label, question in zip(labels, field["questions"], strict=True):
                    answer = distributions[question["name"]]
                    if answer[YES] >= answer[NO]:
                        chosen.append(label)
                fields[name] = chosen
            elif kind == "score":
                answer = distributions[first["name"]]
                fields[name] = expected_score(answer, field["low"], is_whole=field["is_whole"])
            elif kind == "tags":
                items: list[dict[str, object]] = []
                shares_of_field[name] = []
                for number, _ in last_numbered_texts(list(values.values())):
                    answer = distributions[f"{first['name']}{number}"]
                    shares = label_shares(labels, field["affirmative"], answer)
                    item: dict[str, object] = dict.fromkeys(field["others"], "")
                    items.append({**item, field["number"]: number, field["label"]: likeliest_label(shares)})
                    shares_of_field[name].append(shares)
                fields[name] = items
            else:
                shares = label_shares(labels, field["affirmative"], distributions[first["name"]])
                shares_of_field[name] = [shares]
                label = likeliest_label(shares)
                fields[name] = label == labels[0] if kind == "bool" else label
            if not field["has_shares"]:
                shares_of_field.pop(name, None)
        return fields, shares_of_field, numbers

    def _unit_shares(
        self, shares_of_field: Mapping[str, Sequence[Mapping[str, float]]], units: int
    ) -> list[Mapping[Any, float]]:
        """Return label -> probability of each unit, criterion by criterion; nothing where labels have none."""
        unit_shares: list[Mapping[Any, float]] = []
        for answer in self.answer_specs.values():
            rule = answer["parser"]["answer"]
            field_shares = shares_of_field.get(rule.get("field", ""), [])
            if rule["reader"] == "label" and field_shares:
                shares: dict[Any, float] = {}
                for label, value in rule["label_of_value"].items():
                    shares[label] = field_shares[0].get(str(value), 0.0)
                unit_shares.append(shares)
            elif rule["reader"] == "numbered" and len(field_shares) == units:
                unit_shares += field_shares
            else:
                unit_shares += [{} for _ in range(units)]
        return unit_shares


def _answer_number(question: DecisionQuestion, distributions: Mapping[str, Distribution]) -> float:
    """Return the number that an answer to a small question stands for: the probability of yes, or the mean level."""
    answer = distributions[question["name"]]
    if question["low"] is None:
        return answer[YES]
    return question["low"] + mean_place(answer)
