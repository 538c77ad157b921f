"""A judge from its exported description alone: the messages it sends, how it reads a reply, and how samples count.

Only the standard library, because exports carry this source along (:mod:`jurist.exports.portable_file`).
"""

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from functools import cached_property
from operator import mul
from statistics import mean
from typing import Any, NotRequired, TypeAlias, TypedDict

from ..evaluation.votes import nearest_score
from ..programs.answers.portable import (
    COMBINERS,
    INPUT_READERS,
    READERS,
    RENDERERS,
    SCORES,
    Reply,
    Spec,
    gives_number,
)
from ..programs.flows import FLOWS, Flow, Inputs, below_task
from ..text.drafts import without_drafts
from ..text.escaping import defuse
from ..text.numbered_answers import mean_answers, read_numbered_answers
from ..text.plain_replies import value_stated
from ..text.ranking import AT_ONCE, Ranking, embeddable, packed, unpacked
from ..text.replies import fields_of, is_whole, said_once, typed
from ..text.turns import as_text
from ..text.word_regression import (
    CriterionRule,
    Regression,
    add_answers,
    add_reply,
    join_texts,
    label_figures,
    member_figures,
    members_named,
    softmax,
    word_scores,
)


class NearestSpec(TypedDict):
    """Labelled rows that a step remembers: it shows those that are most like the row in hand."""

    rows: Sequence[Mapping[str, object]]
    fields: Sequence[str]  # the inputs by which rows are compared
    sizes: Sequence[float]  # the tokens of each row
    shown: int  # the most rows that are shown with one call
    tokens: float  # the most tokens that they have together
    embedder: str  # the name of a model that embeds texts; empty where words alone compare rows
    shown_as: "Sequence[Sequence[Message]]"  # the messages of each row
    partial: Sequence[int]  # the places of rows without all outputs, which stand first


class StepSpec(TypedDict):
    """One prompt of the judge."""

    messages: Sequence[Mapping[str, str]]  # with a placeholder for each input
    turn: int  # how many messages at the end are those of the row in hand
    inputs: Sequence[Mapping[str, str]]  # the name and the placeholder of each input
    outputs: "Mapping[str, Schema]"  # output field -> its JSON schema
    settings: Mapping[str, object]  # of requests
    nearest: NearestSpec | None


class InputSpec(TypedDict):
    """One input of the judge."""

    name: str
    render: str  # how it stands in the prompt
    type: str  # ``text``, ``json``, or one that has a reader in ``INPUT_READERS``
    filled: bool  # whether an empty value is refused
    step_limit: NotRequired[int]  # of a trace: the most characters of a step's part
    trace_limit: NotRequired[int]  # of a trace: the most characters of the whole


Schema: TypeAlias = Mapping[str, Any]
"""A JSON schema."""
Message: TypeAlias = dict[str, str]
"""``role`` and ``content``."""
Verdict: TypeAlias = dict[str, Any]
"""``status``, ``score``, ``value``, ``reason``, ``votes``, ``errors`` and ``artifact``."""
Complete: TypeAlias = Callable[[list[Message], Mapping[str, object]], tuple[str, object]]
"""(messages, what the request needs besides) -> the text of a reply and why it ended."""
CompleteAsync: TypeAlias = Callable[[list[Message], Mapping[str, object]], Awaitable[tuple[str, object]]]
"""As :data:`Complete`, to be awaited."""
Embed: TypeAlias = Callable[[str, list[str]], list[Sequence[float]]]
"""(model, texts) -> a vector for each."""
Conversation: TypeAlias = Generator[tuple[list[Message], Mapping[str, object]], Any, Verdict]
"""Yields the messages and the settings of each request, is sent the reply and why it ended, and returns the verdict."""


_OWN_ANSWER = "own_answer"
"""The step in which the model does the task itself, and its output."""
_MOST_OWN_ANSWERS = 1_000
"""Own answers that are kept for further rows with the same task, at most."""


class PortableJudge:
    """A judge that asks and reads as its description says."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self._inputs: Sequence[InputSpec] = spec["inputs"]
        self._steps: Mapping[str, StepSpec] = spec["steps"]
        self._rankings: dict[str, Ranking] = {}
        for name, step in self._steps.items():
            nearest = step["nearest"]
            if nearest is not None:
                self._rankings[name] = Ranking(nearest["rows"], nearest["fields"], nearest["sizes"])
        self._own_answers: dict[str, str] = {}  # task -> the model's own answer to it
        self._embed: Embed | None = None
        # step -> the vectors of the rows that it remembers
        self._vectors: dict[str, list[Sequence[float]]] = {}

    def messages(self, inputs: Inputs) -> list[Message]:
        """Return the chat messages of the first step for one row, by the judge's inputs; none if nothing is asked."""
        first = next(self.walk(inputs), None)
        if first is None:
            return []
        step, values = first
        return self.step_messages(step, values)

    def step_messages(self, step: str, values: Inputs) -> list[Message]:
        """Return the chat messages of a step."""
        texts = {name: message_text(value) for name, value in values.items()}
        messages = filled(self._steps[step], texts)
        start = len(messages) - self._steps[step]["turn"]
        examples: list[Message] = []
        for row_messages in self.nearest_rows(step, values):
            examples += row_messages
        return messages[:start] + examples + messages[start:]

    def nearest_rows(self, step: str, values: Inputs) -> list[Sequence[Message]]:
        """Return the messages of the remembered rows that a step shows with these values.

        Rows without all outputs stand first; otherwise the most alike stands last.
        """
        nearest = self._steps[step]["nearest"]
        if nearest is None:
            return []
        likeness = None
        if nearest["embedder"]:
            likeness = self._likeness(step, nearest["embedder"], values)
        places = self._rankings[step].nearest(values, nearest["shown"], nearest["tokens"], likeness=likeness)
        partial = nearest["partial"]
        places.sort(key=lambda place: place not in partial)
        rows = []
        for place in places:
            rows.append(nearest["shown_as"][place])
        return rows

    def _likeness(self, step: str, model: str, values: Inputs) -> list[float]:
        """Return the likeness of each remembered row of a step to these values, by their vectors, from -1 to 1."""
        if self._embed is None:
            raise ValueError("the rows to show are chosen by vectors: ask through a client")
        ranking = self._rankings[step]
        if step not in self._vectors:
            texts = [embeddable(ranking.text_of(row)) for row in ranking.rows]
            row_vectors: list[Sequence[float]] = []
            for start in range(0, len(texts), AT_ONCE):
                for vector in self._embed(model, texts[start : start + AT_ONCE]):
                    row_vectors.append(unpacked(packed(vector)))
            self._vectors[step] = row_vectors
        (vector,) = self._embed(model, [embeddable(ranking.text_of(values))])
        vector = unpacked(packed(vector))
        return [sum(map(mul, vector, row_vector)) for row_vector in self._vectors[step]]

    def values(self, inputs: Inputs, places: Sequence[int] | None = None) -> dict[str, object]:
        """Return the inputs as the prompt shows them: without forged delimiters, a list as its items at ``places``."""
        inputs = self._check_inputs(inputs)
        values = {}
        for column in self._inputs:
            values[column["name"]] = defuse(inputs[column["name"]])
        for name, rule in self._lists.items():
            shown_places = range(len(values[name])) if places is None else places
            values[name] = RENDERERS[rule](values[name], shown_places, self.spec["labels"])
        return values

    @cached_property
    def _lists(self) -> Mapping[str, str]:
        """Each input that is a list, and how it is shown."""
        rules = {}
        for column in self._inputs:
            if column["render"] in RENDERERS:
                rules[column["name"]] = column["render"]
        return rules

    @cached_property
    def _single_texts(self) -> list[str]:
        """Each input that is one text."""
        names = []
        for column in self._inputs:
            if column["type"] == "text" and column["name"] not in self._lists:
                names.append(column["name"])
        return names

    def texts(self, inputs: Inputs) -> list[str]:
        """Return the units of a row: the texts of its list, or the one text that is judged."""
        for name in self._lists:
            units: list[str] = defuse(inputs[name])
            return units
        judged = self.spec["judged"]
        if not judged:
            return [""]
        return [defuse(inputs[judged])]

    def read_reply(self, step: str, reply: str, ended: object = None) -> dict[str, object]:
        """Return the output fields of a step that a reply gives. Raises ValueError where it is unusable."""
        values = said_once(self._typed_fields(step, without_drafts(reply), ended))
        missing = [name for name in self._steps[step]["outputs"] if name not in values]
        if missing:
            raise ValueError(f"no {', '.join(missing)} in the reply")
        return values

    def _typed_fields(self, step: str, text: str, ended: object) -> Iterator[tuple[str, object]]:
        """Yield each output field that the text of a reply has, and its value."""
        outputs = self._steps[step]["outputs"]
        if step == _OWN_ANSWER:
            if not text.strip():
                raise ValueError("its own answer is empty")
            yield step, text.strip()
            return
        for name, value in self._written_fields(outputs, text, ended):
            yield name, typed(outputs[name], value)

    def _written_fields(
        self, outputs: Mapping[str, Schema], text: str, ended: object
    ) -> Sequence[tuple[str, object]]:
        """Return each output field and its text in a reply, read as the adapter of the judge asks for it."""
        if self.spec["adapter"] == "plain":
            ((name, schema),) = outputs.items()
            if not is_whole(ended):
                raise ValueError(f"{name} may be half of what it was to be: the reply ended with {ended!r}")
            return [(name, value_stated(text, schema, self.spec["parser"]["other_words"]))]
        short = [name for name, schema in outputs.items() if schema != {"type": "string"}]
        return fields_of(text, outputs, short, was_cut=not is_whole(ended))

    def unit_values(self, fields: Reply, inputs: Inputs, places: Sequence[int] | None = None) -> list[object]:
        """Return a value for each unit of the row from the output fields, ``None`` where none is usable."""
        texts = self.texts(inputs)
        asked_places = range(len(texts)) if places is None else places
        values: list[object] = []
        for answer in self.answer_specs.values():
            rule = answer["parser"]["answer"]
            values += READERS[rule["reader"]](rule, fields, texts, asked_places)
        return values

    @cached_property
    def answer_specs(self) -> Mapping[str, Spec]:
        """The output fields that answer, each with the description of its values: one, or one for each criterion."""
        rule = self.spec["parser"]["answer"]
        if "criteria" not in rule:
            return {self.spec["output_field"]: self.spec}
        answers = {}
        for name, reading in rule["criteria"].items():
            answer = dict(self.spec["criteria"][name])
            answer["parser"] = {"answer": reading}
            answer["weights"] = self._weights_of(name)
            answer["combine"] = self.spec.get("combine")
            answers[name] = answer
        return answers

    def _weights_of(self, criterion: str) -> dict[str, float] | None:
        """Return the weight of each label of a criterion; ``None`` where labels have none."""
        if not self.spec["weights"]:
            return None
        weights = {}
        for key, weight in self.spec["weights"].items():
            name, label = key.split(": ", 1)
            if name == criterion:
                weights[label] = weight
        return weights

    def inputs_of(self, row: Inputs, output: object = None) -> dict[str, object]:
        """Return the judge's inputs of a framework's row: those with their names, and the output as the judged one."""
        inputs = {}
        for column in self._inputs:
            value = row.get(column["name"])
            if value is not None:
                inputs[column["name"]] = value
        if output is not None and self.spec["judged"]:
            inputs.setdefault(self.spec["judged"], output)
        return self._check_inputs(inputs)

    def _check_inputs(self, row: Inputs) -> dict[str, object]:
        """Return a row with chats and numbers as texts.

        Raises:
            KeyError: an input is missing. ValueError: an input is of another kind, or empty where it must not be.
        """
        inputs = dict(row)
        for name in row:
            if name in self._single_texts:
                inputs[name] = as_text(inputs[name])
        missing = [column["name"] for column in self._inputs if column["name"] not in inputs]
        if missing:
            raise KeyError(f"the row has no {', '.join(missing)}")
        for column in self._inputs:
            if column["type"] in INPUT_READERS:
                read = INPUT_READERS[column["type"]]
                inputs[column["name"]] = read(inputs[column["name"]], column)
        for column in self._inputs:
            name, value = column["name"], inputs[column["name"]]
            if name in self._lists and not _is_list_of_texts(value):
                raise ValueError(f"the row's {name} is no list of texts")
            if name in self._single_texts and not isinstance(value, str):
                raise ValueError(f"the row's {name} is no text")
            if column["filled"] and not value:
                raise ValueError(f"the row's {name} is empty")
        return inputs

    def connect(self, client: Any, model: str, settings: Mapping[str, object]) -> Complete:
        """Return a function that asks a client of OpenAI's API for one reply.

        The client also embeds the rows from which the nearest are chosen.
        """

        def embed(model: str, texts: list[str]) -> list[Sequence[float]]:
            entries = client.embeddings.create(model=model, input=texts).data
            entries = sorted(entries, key=lambda entry: entry.index)
            return [entry.embedding for entry in entries]

        self._embed = embed

        def complete(messages: list[Message], step_settings: Mapping[str, object]) -> tuple[str, object]:
            request = {}
            for name, value in {**self.spec["settings"], **step_settings, **settings}.items():
                if value is not None:
                    request[name] = value
            response = client.chat.completions.create(model=model, messages=messages, **request)
            (choice, *_) = response.choices
            return _reply_text(choice.message.content), choice.finish_reason

        return complete

    def scorer(self, client: Any, model: str, settings: Mapping[str, object]) -> Callable[..., Verdict]:
        """Return a function that gives the verdict on a row of a framework and the output that is judged."""
        complete = self.connect(client, model, settings)

        def score(row: Inputs, output: object = None) -> Verdict:
            return self.ask(complete, self.inputs_of(row, output))

        return score

    def ask(self, complete: Complete, inputs: Inputs) -> Verdict:
        """Ask for replies as often as the judge does, and return the verdict."""
        conversation = self.converse(inputs)
        reply = None
        while True:
            try:
                messages, step_settings = conversation.send(reply)
            except StopIteration as end:
                return dict(end.value)
            reply = complete(messages, step_settings)

    async def ask_async(self, complete: CompleteAsync, inputs: Inputs) -> Verdict:
        """Return the verdict as :meth:`ask` does, through a function to be awaited."""
        conversation = self.converse(inputs)
        reply = None
        while True:
            try:
                messages, step_settings = conversation.send(reply)
            except StopIteration as end:
                return dict(end.value)
            reply = await complete(messages, step_settings)

    def converse(self, inputs: Inputs) -> Conversation:
        """Yield the messages and the settings of each request, take its reply by ``send``, and return the verdict."""
        walk = self.walk(inputs)
        advance: Callable[[Any], tuple[str, Inputs]] = walk.send
        outcome: object = None  # the output fields of the last reply, or why it is unusable
        while True:
            try:
                step, values = advance(outcome)
            except StopIteration as end:
                verdict: Verdict = end.value
                return verdict
            text, ended = yield self.step_messages(step, values), self._steps[step]["settings"]
            try:
                outcome = self.read_reply(step, text, ended)
                advance = walk.send
            except (RecursionError, ValueError) as error:
                outcome = error
                advance = walk.throw

    def orders(self, inputs: Inputs) -> list[Inputs]:
        """Return the inputs in each order in which a sample asks about them: of a pair also with its two exchanged."""
        if "compared" not in self.spec:
            return [inputs]
        first, second = self.spec["compared"]["first"], self.spec["compared"]["second"]
        return [inputs, {**inputs, first: inputs[second], second: inputs[first]}]

    def walk(self, inputs: Inputs) -> Flow:
        """Yield each step with its values, and return the verdict.

        The fields of the reply are sent to the generator; of an unusable reply the error is thrown into it.
        """
        samples: list[list[object]] = []
        question_answers: list[list[float | None]] = []
        errors: list[str] = []
        if self._words_decide_alone:
            return self.verdict(samples, errors, len(self.texts(inputs)), inputs)
        orders: list[Inputs] = []
        for order in self.orders(inputs):
            orders.append(self.values(order))
        if "own_answer" in self.spec:
            try:
                orders = yield from self._with_own_answer(orders)
            except (RecursionError, ValueError) as error:
                return self.verdict([], [str(error)], len(self.texts(inputs)), inputs)
        for _ in range(self.spec["samples"]):
            try:
                sample = yield from self._draw_sample(orders, inputs, question_answers)
                samples.append(sample)
            except (RecursionError, ValueError) as error:
                errors.append(str(error))
        return self.verdict(samples, errors, len(self.texts(inputs)), inputs, question_answers)

    def _with_own_answer(
        self, orders: Sequence[Inputs]
    ) -> Generator[tuple[str, Inputs], Reply, list[Inputs]]:
        """Ask for the model's own answer to the task, and return the values with it; raise if it is unusable.

        Rows with the same task share it, and so do all samples of a row.
        """
        rule = self.spec["own_answer"]
        task = {name: orders[0][name] for name in rule["task"]}
        key = json.dumps(task)
        if key not in self._own_answers:
            reply = yield _OWN_ANSWER, task
            self._own_answers[key] = str(reply[_OWN_ANSWER])
            if len(self._own_answers) > _MOST_OWN_ANSWERS:
                self._own_answers.pop(next(iter(self._own_answers)))
        answer = defuse(self._own_answers[key])
        place = rule["task"][-1]
        extended: list[Inputs] = []
        for values in orders:
            extended.append({**values, place: below_task(str(values[place]), rule["label"], answer)})
        return extended

    @property
    def _words_decide_alone(self) -> bool:
        """Whether no reply is asked for, because words decide alone."""
        rules = self.spec.get("words") or ()
        return bool(rules) and all(rule["reply"] is None and "questions" not in rule for rule in rules)

    def _draw_sample(
        self, orders: Sequence[Inputs], inputs: Inputs, question_answers: list[list[float | None]]
    ) -> Flow:
        """Ask for one sample, of a pair in both orders; return a value for each unit. Raises if it is unusable.

        Its answers to the questions that the prompt asks besides are added to ``question_answers``.
        """
        answers = []
        first_error = None
        for values in orders:
            try:
                answer = yield from self._answer(values, inputs, question_answers)
                answers.append(answer)
            except (RecursionError, ValueError) as error:
                first_error = first_error or error
        if first_error is not None:
            raise first_error
        if len(orders) == 1:
            return answers[0]
        preference = self._preferred(answers[0][0], answers[1][0])
        if preference is None:
            raise ValueError("the replies in the two orders contradict each other")
        return [preference]

    def _answer(self, values: Inputs, inputs: Inputs, question_answers: list[list[float | None]]) -> Flow:
        """Ask once, and return a value for each unit; units without one are asked for again, if others have one."""
        flow, settings = FLOWS[self.spec["flow"]], self.spec["flow_settings"]
        fields = yield from flow(values, **settings)
        answer = self.unit_values(fields, inputs)
        if self._question_kinds:
            answers = read_numbered_answers(str(fields.get("question_answers") or ""), self._question_kinds)
            if all(answered is None for answered in answers):
                raise ValueError(f"none of {len(answers)} questions is answered")
            question_answers.append(answers)
        missing = [place for place, value in enumerate(answer) if value is None]
        if not self.spec["repeatable"] or not 0 < len(missing) < len(answer):
            return answer
        try:
            fields = yield from flow(self.values(inputs, missing), **settings)
            repeated = self.unit_values(fields, inputs, missing)
        except (RecursionError, ValueError):
            return answer
        for place in missing:
            answer[place] = repeated[place]
        return answer

    @cached_property
    def _question_kinds(self) -> Sequence[str]:
        """The kind of each question that the prompt asks beside the judge's own."""
        kinds: Sequence[str] = self.spec.get("questions") or ()
        return kinds

    def _preferred(self, value: object, exchanged_value: object) -> object:
        """Return the preference of a pair if both orders gave the same, else the value for an undecided pair."""
        exchanged_back = {"first": "second", "second": "first"}
        if value == exchanged_back.get(str(exchanged_value), exchanged_value):
            return value
        return self.spec["parser"]["answer"]["undecided"]

    def verdict(
        self,
        samples: Sequence[Sequence[object]],
        errors: Sequence[str],
        units: int,
        inputs: Inputs | None = None,
        question_answers: Sequence[Sequence[float | None]] = (),
        probabilities: Sequence[Mapping[Any, float]] = (),
    ) -> Verdict:
        """Return the verdict of all samples: usable ones are a value for each unit, unusable ones are errors.

        ``inputs`` are those of the row, which a judge that words decide needs besides. ``question_answers`` are the
        answers of each sample to the questions that the prompt asks besides. ``probabilities`` are those of each
        unit's labels, where the model gives them.
        """
        rules = self.spec.get("words") or [None] * len(self.answer_specs)
        values: list[object] = []
        scores: list[float] = []
        votes: list[dict[object, int]] = []
        final_shares: list[Mapping[Any, float]] = []
        for answer, rule in zip(self.answer_specs.values(), rules, strict=True):
            reader = answer["parser"]["answer"]["reader"]
            is_scored = gives_number(reader, answer.get("positive"))
            for unit in range(units):
                unit_votes = _count_values_at(len(values), samples)
                shares: Mapping[Any, float] = probabilities[len(values)] if probabilities else {}
                tally: Mapping[Any, Any] = unit_votes
                if shares and self.spec.get("by_probability"):
                    tally = shares
                value = COMBINERS[reader](tally, answer, self.spec["samples"], self.spec["threshold"])
                if rule is not None and inputs is not None:
                    value, shares = self._value_by_words(
                        rule, answer, unit, inputs, shares or unit_votes, value, question_answers
                    )
                final_shares.append(shares)
                votes.append(dict(unit_votes))
                values.append(value)
                if is_scored and value is not None:
                    scores.append(SCORES[reader](value, answer))
        verdict = {
            "status": "verdict",
            "score": mean(scores) if scores else None,
            "value": self._joint_value(values),
            "reason": str(self._joint_value(values)),
            "votes": votes,
            "errors": list(errors),
            "artifact": self.spec["artifact"],
        }
        if probabilities:
            verdict["probabilities"] = final_shares
        if None in values:
            reasons = list(errors) or ["a unit has no usable answer"]
            verdict |= {"status": "abstained", "score": None, "reason": "; ".join(reasons), "errors": reasons}
        return verdict

    def _value_by_words(
        self,
        rule: CriterionRule,
        answer: Spec,
        unit: int,
        inputs: Inputs,
        votes: Mapping[Any, float],
        voted: Any,
        question_answers: Sequence[Sequence[float | None]],
    ) -> tuple[object, Mapping[Any, float]]:
        """Return the value that words give a unit, alone or with what its samples say, and label -> probability.

        Where replies count and none is usable, the value is ``None`` and there are no probabilities.
        """
        regression = rule["regression"]
        inputs = self._check_inputs(inputs)
        scores = word_scores(
            regression,
            self._judged_texts(regression, inputs)[unit],
            join_texts(inputs, regression["evidence"]),
        )
        names = regression["outputs"]
        reply = rule["reply"]
        questions = rule.get("questions")
        if reply is not None or questions is not None:
            if regression["learned"] == "number":
                figures = [] if voted is None else [float(voted)]
            elif regression["learned"] == "members":
                figures = member_figures(names, votes)
            else:
                figures = label_figures(names, votes)
            if not figures:
                return None, {}
            if reply is not None:
                scores = add_reply(scores, reply, figures)
            if questions is not None:
                if not question_answers:
                    return None, {}
                scores = add_answers(scores, questions, mean_answers(question_answers), figures)
        if regression["learned"] == "number":
            ends = answer["parser"]["answer"]["score"]
            return nearest_score(scores[0], ends["low"], ends["high"], ends["whole"]), {}
        if regression["learned"] == "members":
            return members_named(names, scores), {}
        shares: dict[Any, float] = {}
        for label, share in zip(names, softmax(scores), strict=True):
            shares[label] = round(share, 6)
        return names[scores.index(max(scores))], shares

    def _judged_texts(self, regression: Regression, inputs: Inputs) -> list[list[str]]:
        """Return the judged texts of each unit: one, or the two that are compared."""
        names = regression["judged"]
        if len(names) > 1:
            return [[join_texts(inputs, [name]) for name in names]]
        judged: Any = inputs[names[0]]
        if names[0] in self._lists:
            return [[text] for text in judged]
        return [[str(judged)]]

    def _joint_value(self, values: list[object]) -> object:
        """Return the values of all units as one: alone, in a list, or by the names of criteria."""
        if len(self.answer_specs) > 1:
            return dict(zip(self.answer_specs, values, strict=True))
        if len(values) == 1:
            return values[0]
        return values


def filled(spec: Spec, variables: Mapping[str, str]) -> list[Message]:
    """Return the messages with every placeholder replaced, once and in a single pass."""
    texts = {}
    for variable in spec["inputs"]:
        texts[variable["placeholder"]] = variables[variable["name"]]
    pattern = re.compile("|".join(map(re.escape, texts)))
    messages = []
    for message in spec["messages"]:
        content = pattern.sub(lambda mark: texts[mark[0]], message["content"])
        messages.append({"role": message["role"], "content": content})
    return messages


def _count_values_at(place: int, samples: Sequence[Sequence[object]]) -> Counter[object]:
    """Return how many samples give each value to the unit at a place."""
    counts: Counter[object] = Counter()
    for sample in samples:
        if sample[place] is not None:
            counts[sample[place]] += 1
    return counts


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)


def _reply_text(content: list[dict[str, str]] | str | None) -> str:
    """Return the text of a reply; some endpoints give it in parts, with thoughts among them."""
    if not isinstance(content, list):
        return content or ""
    text = ""
    for part in content:
        if part.get("type") == "text":
            text += part["text"]
    return text


def message_text(value: object) -> str:
    """Return a value as it stands in a message: a list or an object as JSON."""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return str(value)
