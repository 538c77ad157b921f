"""A judge from its exported description alone: the messages it sends, how it reads a reply, and how samples count.

Only the standard library, because exports carry this source along (:mod:`jurist.exports.portable_file`).
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from statistics import mean
from typing import Any

from ..programs.answers.portable import COMBINERS, READERS, SCORES, is_number
from ..programs.answers.sentences import numbered
from ..text.escaping import defuse
from ..text.ranking import Ranking
from ..text.replies import chat_fields, is_whole, json_fields, said_once, without_drafts

_END = "[[ ## completed ## ]]"


class PortableJudge:
    """What an exported file asks and reads with."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.spec = spec

    def messages(self, inputs: Mapping[str, Any]) -> list[dict[str, str]]:
        """Return the chat messages for one row, given by the names of the judge's inputs."""
        values = self.values(inputs)
        *before, last = filled(self.spec, {name: _text(value) for name, value in values.items()})
        return [*before, *(one for shown in self.near(values) for one in shown), last]

    def near(self, values: Mapping[str, Any]) -> list[Any]:
        """Return of the remembered rows those to show with these values, the most alike last."""
        kept = self.spec["nearest"]
        if kept is None:
            return []
        near = self._ranking.nearest(values, kept["shown"], kept["tokens"])
        return [kept["shown_as"][place] for place in sorted(near, key=lambda one: one not in kept["partial"])]

    @cached_property
    def _ranking(self) -> Ranking:
        kept = self.spec["nearest"]
        return Ranking(kept["rows"], kept["fields"], kept["sizes"])

    def values(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the inputs as the prompt shows them: defused, and rendered."""
        self._complete(inputs)
        safe = {one["name"]: defuse(inputs[one["name"]], self.spec["tags"]) for one in self.spec["inputs"]}
        listed = {one["name"] for one in self.spec["inputs"] if one["render"] == "numbered"}
        return {name: numbered(value) if name in listed else value for name, value in safe.items()}

    def read(self, reply: str, inputs: Mapping[str, Any], ended: object = None) -> list[Any]:
        """Return a value for each unit of the row, ``None`` for each one on which the reply is unusable."""
        answers, outputs = self.answers, self.spec["outputs"]
        chat, text = self.spec["adapter"] != "json", without_drafts(reply, outputs)
        said = chat_fields(text, outputs, answers) if chat else json_fields(text, outputs)
        if chat and said and said[-1][0] in answers and not (is_whole(ended) or _END in text):
            raise ValueError(
                f"{said[-1][0]} may be half of what it was to be: the reply ended with {ended!r}"
            )
        found = said_once(
            (name, self._values(name, value, inputs) if name in answers else value) for name, value in said
        )
        missing = [name for name in outputs if name not in found]
        if missing:
            raise ValueError(f"no {', '.join(missing)} in the reply")
        return [value for name in answers for value in found[name]]

    def values_of(self, given: Mapping[str, Any], inputs: Mapping[str, Any]) -> list[Any]:
        """Return the same of the fields that answer, as text or as JSON values. Raises what :meth:`read` raises."""
        return [value for name in self.answers for value in self._values(name, given[name], inputs)]

    @cached_property
    def answers(self) -> Mapping[str, Mapping[str, Any]]:
        """The output fields that answer, each with what is known of its values: one, or one for each criterion."""
        rule = self.spec["parser"]["answer"]
        if "criteria" not in rule:
            return {self.spec["output_field"]: self.spec}
        kept = [(*key.split(": ", 1), weight) for key, weight in (self.spec["weights"] or {}).items()]
        found = {}
        for name, one in rule["criteria"].items():
            own = {label: weight for of, label, weight in kept if of == name} if kept else None
            found[name] = {**self.spec["criteria"][name], "parser": {"answer": one}, "weights": own}
        return found

    def _values(self, name: str, given: Any, inputs: Mapping[str, Any]) -> list[Any]:
        rule = self.answers[name]["parser"]["answer"]
        return READERS[rule["reader"]](rule, given, self.units(inputs))

    def units(self, inputs: Mapping[str, Any]) -> int:
        """Return how many values an answering field gives to a row."""
        listed = [one["name"] for one in self.spec["inputs"] if one["render"] == "numbered"]
        return len(inputs[listed[0]]) if listed else 1

    def inputs_of(self, given: Mapping[str, Any], output: Any = None) -> dict[str, Any]:
        """Return the judge's inputs from what a framework has of a row: by name, and its output as what is judged."""
        names = [one["name"] for one in self.spec["inputs"]]
        found = {name: given[name] for name in names if given.get(name) is not None}
        if output is not None and self.spec["judged"]:
            found.setdefault(self.spec["judged"], output)
        self._complete(found)
        return found

    def _complete(self, inputs: Mapping[str, Any]) -> None:
        missing = [one["name"] for one in self.spec["inputs"] if one["name"] not in inputs]
        if missing:
            raise KeyError(f"the row has no {', '.join(missing)}")
        for one in self.spec["inputs"]:
            given, listed = inputs[one["name"]], one["render"] == "numbered"
            texts = given if listed else [given] if one["type"] == "text" else ()
            if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
                raise ValueError(f"the row's {one['name']} is no {'list of texts' if listed else 'text'}")
            if one["filled"] and not given:
                raise ValueError(f"the row's {one['name']} is empty")

    def through(
        self, client: Any, model: str, settings: Mapping[str, Any]
    ) -> Callable[[list[dict[str, str]]], tuple[str, object]]:
        """Return what asks an OpenAI-compatible client for one reply to messages, and why it ended."""
        kept = {**self.spec["settings"], **settings}
        request = {name: value for name, value in kept.items() if value is not None}

        def complete(messages: list[dict[str, str]]) -> tuple[str, object]:
            (choice, *_) = client.chat.completions.create(model=model, messages=messages, **request).choices
            return _said(choice.message.content), choice.finish_reason

        return complete

    def ask(
        self, complete: Callable[[list[dict[str, str]]], tuple[str, object]], inputs: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Ask for a reply as often as the judge does, and return the verdict."""
        return self.judged([complete(messages) for messages in self.requests(inputs)], inputs)

    def orders(self, inputs: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Return the inputs as each sample is asked about them: a pair also with its two exchanged."""
        if "compared" not in self.spec:
            return [inputs]
        first, second = self.spec["compared"]["first"], self.spec["compared"]["second"]
        return [inputs, {**inputs, first: inputs[second], second: inputs[first]}]

    def requests(self, inputs: Mapping[str, Any]) -> list[list[dict[str, str]]]:
        """Return the messages of every request for one row, in the order that :meth:`judged` takes replies."""
        samples: int = self.spec["samples"]
        return [self.messages(order) for order in self.orders(inputs)] * samples

    def judged(self, replies: Sequence[tuple[str, object]], inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the verdict that replies, each with why it ended, give together."""
        samples, errors = [], []
        each = len(self.orders(inputs))
        for start in range(0, len(replies), each):
            try:
                read = [self.read(reply, inputs, ended) for reply, ended in replies[start : start + each]]
                samples.append(read[0] if each == 1 else self._preferred(*read))
            except (RecursionError, ValueError) as error:
                errors.append(str(error))
        return self.verdict(samples, errors, self.units(inputs))

    def _preferred(self, said: list[Any], exchanged: list[Any]) -> list[Any]:
        again = {"first": "second", "second": "first"}.get(exchanged[0], exchanged[0])
        if said[0] == again:
            return said
        if self.spec["parser"]["answer"]["undecided"] is None:
            raise ValueError("the replies in the two orders contradict each other")
        return [self.spec["parser"]["answer"]["undecided"]]

    def verdict(self, samples: Sequence[Sequence[Any]], errors: Sequence[str], units: int) -> dict[str, Any]:
        """Return what usable samples (a value a unit each) and unusable ones (why) give together."""
        each = [one for one in self.answers.values() for _ in range(units)]
        readers = [one["parser"]["answer"]["reader"] for one in each]
        votes = [Counter(one[unit] for one in samples if one[unit] is not None) for unit in range(len(each))]
        values = [
            COMBINERS[reader](vote, one, self.spec["samples"], self.spec["threshold"])
            for reader, vote, one in zip(readers, votes, each, strict=True)
        ]
        scores = [
            SCORES[reader](value, one)
            for reader, value, one in zip(readers, values, each, strict=True)
            if value is not None and is_number(reader, one.get("positive"))
        ]
        return {
            "status": "abstained" if None in values else "verdict",
            "score": mean(scores) if scores and None not in values else None,
            "value": dict(zip(self.answers, values, strict=True))
            if len(self.answers) > 1
            else values[0]
            if units == 1
            else values,
            "votes": [dict(vote) for vote in votes],
            "errors": list(errors) or (["a unit has no usable answer"] if None in values else []),
            "artifact": self.spec["artifact"],
        }


def filled(spec: Mapping[str, Any], variables: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the messages with every placeholder replaced, once and in a single pass."""
    texts = {one["placeholder"]: variables[one["name"]] for one in spec["inputs"]}
    pattern = re.compile("|".join(map(re.escape, texts)))
    return [
        {"role": one["role"], "content": pattern.sub(lambda mark: texts[mark[0]], one["content"])}
        for one in spec["messages"]
    ]


def _said(content: Any) -> str:
    """Return the text of a reply; some endpoints give it in parts, with thoughts among them."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part.get("type") == "text")
    return content or ""


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)
