"""A judge from its exported description alone: the messages it sends, how it reads a reply, and how samples count.

Only the standard library, because exports carry this source along (:mod:`jurist.exports.portable_file`).
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cached_property
from operator import mul
from statistics import mean
from typing import Any, TypeAlias

from ..programs.answers.portable import COMBINERS, READERS, RENDERERS, SCORES, gives_number
from ..programs.flows import FLOWS, Flow
from ..text.drafts import without_drafts
from ..text.escaping import defuse
from ..text.plain_replies import value_stated
from ..text.ranking import AT_ONCE, Ranking, embeddable, packed, unpacked
from ..text.replies import fields_of, is_whole, said_once, typed
from ..text.turns import as_text

Complete: TypeAlias = Callable[[list[dict[str, str]], Mapping[str, Any]], Any]
"""(messages, what the request needs besides) -> the text of a reply and why it ended."""


class PortableJudge:
    """What an exported file asks and reads with."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.spec = spec
        self._embed: Callable[[str, list[str]], list[Any]] | None = None  # (model, texts) -> a vector each
        self._vectors: dict[str, list[Any]] = {}  # of the rows that a step remembers
        self._rankings = {
            name: Ranking(kept["rows"], kept["fields"], kept["sizes"])
            for name, step in spec["steps"].items()
            if (kept := step["nearest"]) is not None
        }

    def messages(self, inputs: Mapping[str, Any]) -> list[dict[str, str]]:
        """Return the chat messages of the first step for one row, by the judge's inputs; none if nothing is asked."""
        first = next(self.walk(inputs), None)
        return [] if first is None else self.asked(*first)

    def asked(self, step: str, values: Mapping[str, Any]) -> list[dict[str, str]]:
        """Return the chat messages of a step."""
        texts = {name: _text(value) for name, value in values.items()}
        messages = filled(self.spec["steps"][step], texts)
        start = len(messages) - self.spec["steps"][step]["turn"]
        near = [message for shown in self.near(step, values) for message in shown]
        return [*messages[:start], *near, *messages[start:]]

    def near(self, step: str, values: Mapping[str, Any]) -> list[Any]:
        """Return of the rows that a step remembers those to show with these values, the most alike last."""
        kept = self.spec["steps"][step]["nearest"]
        if kept is None:
            return []
        likeness = self._likeness(step, kept["embedder"], values) if kept["embedder"] else None
        near = self._rankings[step].nearest(values, kept["shown"], kept["tokens"], likeness=likeness)
        return [kept["shown_as"][place] for place in sorted(near, key=lambda row: row not in kept["partial"])]

    def _likeness(self, step: str, model: str, values: Mapping[str, Any]) -> list[float]:
        """Return how alike the vector of these values and that of each row are that a step remembers."""
        if self._embed is None:
            raise ValueError("the rows to show are chosen by vectors: ask through a client")
        ranking = self._rankings[step]
        if step not in self._vectors:
            texts = [embeddable(ranking.text_of(row)) for row in ranking.rows]
            self._vectors[step] = [
                unpacked(packed(vector))
                for start in range(0, len(texts), AT_ONCE)
                for vector in self._embed(model, texts[start : start + AT_ONCE])
            ]
        (own,) = self._embed(model, [embeddable(ranking.text_of(values))])
        own = unpacked(packed(own))
        return [sum(map(mul, own, vector)) for vector in self._vectors[step]]

    def values(self, inputs: Mapping[str, Any], places: Sequence[int] | None = None) -> dict[str, Any]:
        """Return the inputs as the prompt shows them: defused, and rendered; of a list those at ``places``."""
        inputs = self._complete(inputs)
        safe = {column["name"]: defuse(inputs[column["name"]]) for column in self.spec["inputs"]}
        for name, rule in self._lists.items():
            chosen = range(len(safe[name])) if places is None else places
            safe[name] = RENDERERS[rule](safe[name], chosen, self.spec["labels"])
        return safe

    @cached_property
    def _lists(self) -> Mapping[str, str]:
        """How each input that is a list is shown."""
        return {one["name"]: one["render"] for one in self.spec["inputs"] if one["render"] in RENDERERS}

    def texts(self, inputs: Mapping[str, Any]) -> list[str]:
        """Return the units of a row: the texts of its list, or the one text that is judged."""
        judged = self.spec["judged"]
        return next(
            (defuse(inputs[name]) for name in self._lists), [defuse(inputs[judged]) if judged else ""]
        )

    def read(self, step: str, reply: str, ended: object = None) -> dict[str, Any]:
        """Return the output fields of a step that a reply gives. Raises ValueError where it is unusable."""
        outputs = self.spec["steps"][step]["outputs"]
        fields = self._fields_of(outputs, without_drafts(reply), ended)
        values = said_once((name, typed(outputs[name], value)) for name, value in fields)
        missing = [name for name in outputs if name not in values]
        if missing:
            raise ValueError(f"no {', '.join(missing)} in the reply")
        return values

    def _fields_of(
        self, outputs: Mapping[str, Mapping[str, Any]], text: str, ended: object
    ) -> Sequence[tuple[str, Any]]:
        """Return output field and what the text of a reply gives in it, in the form in which the judge is asked."""
        if self.spec["adapter"] == "plain":
            ((name, schema),) = outputs.items()
            if not is_whole(ended):
                raise ValueError(f"{name} may be half of what it was to be: the reply ended with {ended!r}")
            return [(name, value_stated(text, schema, self.spec["parser"]["other_words"]))]
        short = [name for name, schema in outputs.items() if schema != {"type": "string"}]
        return fields_of(text, outputs, short, was_cut=not is_whole(ended))

    def values_of(
        self, reply: Mapping[str, Any], inputs: Mapping[str, Any], places: Sequence[int] | None = None
    ) -> list[Any]:
        """Return a value for each unit of the row from the output fields, ``None`` where none is usable."""
        texts = self.texts(inputs)
        asked = range(len(texts)) if places is None else places
        rules = [answer["parser"]["answer"] for answer in self.answers.values()]
        return [value for rule in rules for value in READERS[rule["reader"]](rule, reply, texts, asked)]

    @cached_property
    def answers(self) -> Mapping[str, Mapping[str, Any]]:
        """The output fields that answer, each with what is known of its values: one, or one for each criterion."""
        rule = self.spec["parser"]["answer"]
        if "criteria" not in rule:
            return {self.spec["output_field"]: self.spec}
        # a weight stands under ``criterion: label``
        weights = [(*key.split(": ", 1), weight) for key, weight in (self.spec["weights"] or {}).items()]
        answers = {}
        for name, reading in rule["criteria"].items():
            own = {label: weight for of, label, weight in weights if of == name} if weights else None
            answers[name] = {**self.spec["criteria"][name], "parser": {"answer": reading}, "weights": own}
        return answers

    def inputs_of(self, row: Mapping[str, Any], output: Any = None) -> dict[str, Any]:
        """Return the judge's inputs from what a framework has of a row: by name, and its output as what is judged."""
        names = [field["name"] for field in self.spec["inputs"]]
        inputs = {name: row[name] for name in names if row.get(name) is not None}
        if output is not None and self.spec["judged"]:
            inputs.setdefault(self.spec["judged"], output)
        return self._complete(inputs)

    def _complete(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row with chats and numbers as texts; refuse one without an input, or with one of another kind."""
        plain = {one["name"] for one in self.spec["inputs"] if one["type"] == "text"} - self._lists.keys()
        inputs = {name: as_text(value) if name in plain else value for name, value in row.items()}
        missing = [field["name"] for field in self.spec["inputs"] if field["name"] not in inputs]
        if missing:
            raise KeyError(f"the row has no {', '.join(missing)}")
        for field in self.spec["inputs"]:
            name, value = field["name"], inputs[field["name"]]
            is_list = name in self._lists
            texts = value if is_list else [value] if name in plain else ()
            if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
                raise ValueError(f"the row's {name} is no {'list of texts' if is_list else 'text'}")
            if field["filled"] and not value:
                raise ValueError(f"the row's {name} is empty")
        return inputs

    def through(self, client: Any, model: str, settings: Mapping[str, Any]) -> Complete:
        """Return what asks an OpenAI-compatible client for one reply to messages, and why it ended."""

        def embed(model: str, texts: list[str]) -> list[Any]:
            data = client.embeddings.create(model=model, input=texts).data
            return [entry.embedding for entry in sorted(data, key=lambda entry: entry.index)]

        self._embed = embed

        def complete(messages: list[dict[str, str]], more: Mapping[str, Any]) -> tuple[str, object]:
            kept = {**self.spec["settings"], **more, **settings}
            request = {name: value for name, value in kept.items() if value is not None}
            (choice, *_) = client.chat.completions.create(model=model, messages=messages, **request).choices
            return _said(choice.message.content), choice.finish_reason

        return complete

    def scorer(self, client: Any, model: str, settings: Mapping[str, Any]) -> Callable[..., dict[str, Any]]:
        """Return what gives the verdict on a framework's row, given by its names, and the output that is judged."""
        complete = self.through(client, model, settings)
        return lambda row, output=None: self.ask(complete, self.inputs_of(row, output))

    def ask(self, complete: Complete, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Ask for replies as often as the judge does, and return the verdict."""
        talk, reply = self.talk(inputs), None
        while True:
            try:
                request = talk.send(reply)
            except StopIteration as done:
                return dict(done.value)
            reply = complete(*request)

    async def ask_async(self, complete: Complete, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the verdict as :meth:`ask` does, through a function to be awaited."""
        talk, reply = self.talk(inputs), None
        while True:
            try:
                request = talk.send(reply)
            except StopIteration as done:
                return dict(done.value)
            reply = await complete(*request)

    def talk(self, inputs: Mapping[str, Any]) -> Generator[Any, Any, Any]:
        """Yield what a request takes, is sent a reply and why it ended, and return the verdict."""
        walk = self.walk(inputs)
        go_on: Callable[[Any], Any] = walk.send
        reply_read: Any = None
        while True:
            try:
                step, values = go_on(reply_read)
            except StopIteration as done:
                return done.value
            reply = yield self.asked(step, values), self.spec["steps"][step]["settings"]
            try:
                go_on, reply_read = walk.send, self.read(step, *reply)
            except (RecursionError, ValueError) as error:
                go_on, reply_read = walk.throw, error

    def orders(self, inputs: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Return the inputs as each sample is asked about them: a pair also with its two exchanged."""
        if "compared" not in self.spec:
            return [inputs]
        first, second = self.spec["compared"]["first"], self.spec["compared"]["second"]
        return [inputs, {**inputs, first: inputs[second], second: inputs[first]}]

    def walk(self, inputs: Mapping[str, Any]) -> Flow:
        """Yield each step with its values, is sent its output fields or thrown an error, and return the verdict."""
        samples, errors = list[list[Any]](), list[str]()
        orders = [self.values(order) for order in self.orders(inputs)]
        for _ in range(self.spec["samples"]):
            read, bad = list[list[Any]](), list[str]()
            for values in orders:
                try:
                    read.append((yield from self._read(values, inputs)))
                except (RecursionError, ValueError) as error:
                    bad.append(str(error))
            if not bad and len(orders) > 1:
                read = [self._preferred(*read)]
                bad = ["the replies in the two orders contradict each other"] if None in read[0] else []
            samples += [] if bad else read
            errors += bad[:1]
        return self.verdict(samples, errors, len(self.texts(inputs)))

    def _read(self, values: Mapping[str, Any], inputs: Mapping[str, Any]) -> Flow:
        """Return the units' values of one sample; units without one are asked for again, if others have one."""
        flow, settings = FLOWS[self.spec["flow"]], self.spec["flow_settings"]
        read = self.values_of((yield from flow(values, **settings)), inputs)
        missing = [place for place, value in enumerate(read) if value is None]
        if self.spec["repeatable"] and 0 < len(missing) < len(read):
            try:
                reply = yield from flow(self.values(inputs, missing), **settings)
                again = self.values_of(reply, inputs, missing)
            except (RecursionError, ValueError):
                return read
            read = [again[place] if place in missing else value for place, value in enumerate(read)]
        return read

    def _preferred(self, first: list[Any], exchanged: list[Any]) -> list[Any]:
        again = {"first": "second", "second": "first"}.get(exchanged[0], exchanged[0])
        return first if first[0] == again else [self.spec["parser"]["answer"]["undecided"]]

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
            if value is not None and gives_number(reader, one.get("positive"))
        ]
        abstained, value = None in values, values[0] if units == 1 else values
        if len(self.answers) > 1:
            value = dict(zip(self.answers, values, strict=True))
        errors = list(errors) or (["a unit has no usable answer"] if abstained else [])
        return {
            "status": "abstained" if abstained else "verdict",
            "score": mean(scores) if scores and not abstained else None,
            "value": value,
            "reason": "; ".join(errors) if abstained else str(value),
            "votes": [dict(vote) for vote in votes],
            "errors": errors,
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
