"""Kinds of answers: inferred from annotations, read without guessing, combined exactly, read back as written."""

from collections import Counter
from itertools import product
from typing import Annotated, Any, Literal

import dspy
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jurist import Judge
from jurist.cases import Case
from jurist.errors import GoldError, JudgeError, UsageError
from jurist.evaluation.votes import Sampling
from jurist.programs.answers.base import Answer
from jurist.programs.answers.criteria import Criteria
from jurist.programs.answers.infer import CRITERION_KINDS, PLAIN_KINDS, answer_for
from jurist.programs.answers.labels import OneLabel, Preference
from jurist.programs.answers.sentences import PerSentence
from jurist.programs.answers.whole import LabelSet, ObjectSet, Score
from jurist.programs.deciding import check_sampling
from jurist.programs.definition import read_definition, write_definition
from jurist.programs.verdicts import Verdict


class Claim(pydantic.BaseModel):
    subject: str
    amount: int = 0


SCORE = Score(field="score", unit="text", low=1, high=5)
SHARE = Score(field="share", unit="text", low=0, high=1, whole=False)
SEVERAL = LabelSet(field="labels", unit="text", labels=("red", "green", "blue"))
OBJECTS = ObjectSet(field="claims", unit="text", model=Claim)
PAIR = Preference(field="better", values={name: name for name in ("first", "second", "tie")})
CHOICE = Preference(field="better", values={name: name for name in ("first", "second")})
LABEL = OneLabel(
    field="factual",
    values={"factual": True, "non_factual": False},
    unit="claim",
    positive=frozenset({"non_factual"}),
)
KINDS = {
    "label": LABEL,
    **{"score": SCORE, "share": SHARE, "several": SEVERAL, "objects": OBJECTS},
    **{"pair": PAIR, "choice": CHOICE},
}
VALUES: dict[str, tuple[Any, ...]] = {
    "label": ("factual", "non_factual"),
    "score": (1, 2, 4, 5),
    "share": (0.0, 0.25, 1.0),
    "several": ((), ("red",), ("blue", "red")),
    "objects": tuple(
        OBJECTS.scale.of_json(data)
        for data in ([], [{"subject": "a"}], [{"subject": "b", "amount": 2}, {"subject": "a"}])
    ),
    "pair": ("first", "second", "tie"),
    "choice": ("first", "second"),
}


def signature(annotation: Any, inputs: tuple[str, ...] = ("question", "text"), **constraints: Any) -> Any:
    fields: dict[str, Any] = {name: (str, dspy.InputField()) for name in inputs}
    return dspy.Signature({**fields, "answer": (annotation, dspy.OutputField(**constraints))}, "Judge it.")


@pytest.mark.parametrize(
    ("annotation", "constraints", "kind", "about"),
    [
        (bool, {}, OneLabel, {"labels": ("true", "false")}),
        (Literal["a", "b"], {}, OneLabel, {"labels": ("a", "b")}),
        (Literal[1, 2, 3], {}, Score, {"low": 1, "high": 3, "whole": True}),
        (int, {"ge": 0, "le": 10}, Score, {"low": 0, "high": 10, "whole": True}),
        (float, {"ge": 0, "le": 1}, Score, {"low": 0, "high": 1, "whole": False}),
        (Annotated[float, pydantic.Field(ge=-1, le=1)], {}, Score, {"low": -1, "high": 1, "whole": False}),
        (int, {"desc": "from 1 to 5, 5 is best"}, Score, {"low": 1, "high": 5, "whole": True}),
        (float, {"desc": "0.0-1.0"}, Score, {"low": 0, "high": 1, "whole": False}),
        (list[Literal["a", "b"]], {}, LabelSet, {"labels": ("a", "b")}),
        (list[Claim], {}, ObjectSet, {"model": Claim}),
    ],
)
def test_the_kind_follows_from_the_annotation(
    annotation: Any, constraints: dict[str, Any], kind: type, about: dict[str, Any]
) -> None:
    positive = {"positive": {"true" if annotation is bool else "a"}} if kind is OneLabel else {}
    answer = Judge(name="own", signature=signature(annotation, **constraints), **positive).answer
    assert type(answer) is kind
    assert (answer.field, answer.unit) == ("answer", "text")
    assert {name: getattr(answer, name) for name in about} == about


ANNOTATIONS: dict[type[Answer], Any] = {
    OneLabel: Literal["a", "b", "c"],
    Score: Literal[1, 2, 3],
    LabelSet: list[Literal["a", "b"]],
}
"""An annotation for each kind that may be a criterion."""


def test_every_plain_kind_is_kept_as_data() -> None:
    several = {name: (ANNOTATIONS[Score], dspy.OutputField()) for name in ("clear", "correct")}
    signatures = [signature(annotation) for annotation in ANNOTATIONS.values()]
    signatures.append(signature(Literal["first", "second"], ("first", "second")))
    signatures.append(dspy.Signature({"text": (str, dspy.InputField()), **several}, "Judge it."))
    kinds: set[type[Answer]] = set()
    for judged in signatures:
        judge = Judge(name="own", signature=judged)
        definition = write_definition(judge)
        assert definition is not None
        assert read_definition(definition).answer == judge.answer
        kinds.add(type(judge.answer))
    assert kinds == set(PLAIN_KINDS), "a plain kind has no signature in this test"


@pytest.mark.parametrize("kind", CRITERION_KINDS)
def test_a_criterion_may_be_of_each_of_its_kinds(kind: type[Answer]) -> None:
    fields = {"text": (str, dspy.InputField()), "polite": (bool, dspy.OutputField())}
    fields["second"] = (ANNOTATIONS[kind], dspy.OutputField())
    answer = Judge(name="own", signature=dspy.Signature(fields, "Judge it.")).answer
    assert isinstance(answer, Criteria)
    assert [type(criterion) for criterion in answer.each] == [OneLabel, kind]


def test_two_inputs_called_first_and_second_are_compared() -> None:
    labels = Literal["first", "second", "tie"]
    answer = Judge(name="own", signature=signature(labels, ("question", "first", "second"))).answer
    assert isinstance(answer, Preference)
    assert answer.unit_fields == ("first", "second")
    given = Preference(first="left", second="right")
    answer = Judge(name="own", signature=signature(labels, ("left", "right")), answer=given).answer
    assert (answer.field, answer.unit_fields) == ("answer", ("left", "right"))
    with pytest.raises(JudgeError, match="not two of its inputs"):
        Judge(name="own", signature=signature(labels), answer=given)
    other = Judge(name="own", signature=signature(labels)).answer  # labels like any other
    assert isinstance(other, OneLabel)


def test_of_two_labels_one_is_positive_and_of_three_none_need_be() -> None:
    assert not Judge(
        name="own", signature=signature(Literal["a", "b"]), metric=max
    ).answer.scale.uses_threshold
    for metric in ("", "f1"):
        with pytest.raises(JudgeError, match="which of its labels a, b is the positive class"):
            Judge(name="own", signature=signature(Literal["a", "b"]), metric=metric)
    judge = Judge(name="own", signature=signature(Literal["a", "b", "c"]))
    scale = judge.answer.scale
    assert {"f1", "precision", "recall"}.isdisjoint(scale.metrics)
    assert scale.probability({"a": 1.0}) is None
    assert scale.totals(scale.tally(("a",), {})) == {}
    votes = {"b": 2, "c": 1}
    assert scale.combine(votes, Sampling(samples=3)) == "b"
    assert judge.answer.unit_parts("a")["positive"] is None
    with pytest.raises(UsageError, match="not decided by a threshold"):
        check_sampling(judge, Sampling(samples=3, threshold=1))


@pytest.mark.parametrize(
    "annotation", [str, int, float, list[str], dict[str, int], Literal[1, 3], Literal[1, "a"]]
)
def test_what_is_not_supported_is_refused_with_what_is(annotation: Any) -> None:
    with pytest.raises(JudgeError) as error:
        Judge(name="own", signature=signature(annotation))
    for word in ("bool", "Literal[1, 2, 3]", "ge= and le=", "list[Literal", "list[MODEL]", "preference"):
        assert word in str(error.value)


def test_positive_labels_go_with_closed_labels_only() -> None:
    with pytest.raises(JudgeError, match="closed labels only"):
        Judge(name="own", signature=signature(Literal[1, 2]), positive={"1"})


@pytest.mark.parametrize(
    ("kind", "said", "value"),
    [
        ("label", True, "factual"),
        ("label", False, "non_factual"),
        *(("label", other, None) for other in (None, "True", "factual", "", [], {"factual": True}, 0.5, 1)),
        ("score", 4, 4),
        ("score", "4", 4),
        ("score", 4.0, 4),
        ("score", 4.5, None),
        ("score", 6, None),
        ("score", True, None),
        ("score", "four", None),
        ("score", None, None),
        ("score", float("nan"), None),
        ("share", 1, 1.0),
        ("share", 0.3, 0.3),
        ("share", 1.01, None),
        ("several", ["blue", "red", "red"], ("blue", "red")),
        ("several", [], ()),
        ("several", ["pink"], None),
        ("several", "red", None),
        ("several", None, None),
        ("objects", [Claim(subject="a")], VALUES["objects"][1]),
        ("objects", [{"subject": "a"}], VALUES["objects"][1]),
        ("objects", [{"subject": "a"}, {"subject": "b", "amount": 2}], VALUES["objects"][2]),
        ("objects", [{"amount": 2}], None),
        ("objects", {"subject": "a"}, None),
        ("pair", "first", "first"),
        ("pair", "both", None),
        ("choice", "second", "second"),
        ("choice", "tie", None),
    ],
)
def test_a_reply_is_read_or_gives_nothing(kind: str, said: Any, value: Any) -> None:
    answer = KINDS[kind]
    assert answer.read({answer.field: said}, {}).values == (value,)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_reads_back(kind: str) -> None:
    answer = KINDS[kind]
    model = pydantic.TypeAdapter(answer.row_type)
    for value in VALUES[kind]:
        assert hash(value) is not None
        assert answer.read({answer.field: answer.example((value,), {})}, {}).values == (value,)
        assert answer.scale.of_json(answer.scale.to_json(value)) == value
        assert answer.scale.of_json(model.validate_python(answer.scale.to_json(value))) == value
        assert answer.scale.of_json(answer.scale.cell(answer.scale.text(value))) == value
        assert answer.unit_value(answer.unit_parts(value)) == value
        assert answer.scale.credit(value, value) == 1.0
        assert answer.scale.credit(value, None) == 0.0
        assert "unusable" in answer.scale.feedback("x", value, None)
    assert len({answer.scale.text(value) for value in VALUES[kind]}) == len(VALUES[kind])
    assert answer.scale.cell("no such thing") is None
    assert answer.unit_value(answer.unit_parts(None)) is None


@pytest.mark.parametrize("kind", ["several", "objects"])
def test_a_cell_that_is_no_list_is_unusable_however_deep(kind: str) -> None:
    assert KINDS[kind].scale.cell("[" * 100_000) is None


def test_feedback_on_objects_quotes_the_whole_text() -> None:
    assert KINDS["objects"].scale.truth("A is B", ()).startswith('"A is B": people named')


def test_a_file_may_say_what_the_reply_says_for_a_renamed_label() -> None:
    renamed = answer_for(
        "j", dspy.Signature("text -> ok: bool"), None, labels=("fine", "rude"), positive="rude"
    )
    assert [renamed.spell(given) for given in (True, "False", "rude", 1)] == ["fine", "rude", "rude", 1]
    words = OneLabel(field="ok", labels=("fine",), values={"fine": "yes"})
    assert words.spell("".join(["y", "es"])) == "fine"


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(data=st.data())
def test_drawing_ends_only_when_nothing_can_change(kind: str, data: st.DataObject) -> None:
    scale, values = KINDS[kind].scale, (None, *VALUES[kind])
    drawn, left = data.draw(st.lists(st.sampled_from(values), max_size=4)), data.draw(st.integers(1, 2))
    votes, sampling = (
        Counter(value for value in drawn if value is not None),
        Sampling(samples=len(drawn) + left),
    )
    found = {
        scale.combine(votes + Counter(value for value in more if value is not None), sampling)
        for more in product(values, repeat=left)
    }
    decided, most = (
        scale.is_decided(votes, left, sampling),
        2 * max(votes.values(), default=0) > sampling.samples,
    )
    assert decided == (len(found) == 1) if scale.domain else most <= decided <= (len(found) == 1)
    assert scale.is_decided(votes, 0, sampling)


@pytest.mark.parametrize(
    ("kind", "given", "combined"),
    [
        ("score", [1, 5, 4], 4),
        ("score", [1, 5], 1),
        ("score", [2], None),
        ("several", [("red",), ("red", "blue"), ("blue",)], ("blue", "red")),
        ("several", [(), (), ("red",)], ()),
        ("pair", ["first", "first", "second"], "first"),
        ("pair", ["first", "second"], "tie"),
        ("pair", ["tie"], None),
        ("choice", ["first", "first", "second"], "first"),
        ("choice", ["first", "second"], None),
    ],
)
def test_samples_combine(kind: str, given: list[Any], combined: Any) -> None:
    votes = Counter(tuple(sorted(one)) if isinstance(one, tuple) else one for one in given)
    assert KINDS[kind].scale.combine(votes, Sampling(samples=3)) == combined


@given(st.sampled_from(["first", "second", "tie", "?"]), st.sampled_from(["first", "second", "tie", "?"]))
def test_both_orders_must_agree(said: str, exchanged: str) -> None:
    other = {"first": "second", "second": "first", "tie": "tie", "?": "?"}
    joined = PAIR.join([PAIR.read({"better": one}, {}) for one in (said, exchanged)])
    swapped = PAIR.join([PAIR.read({"better": one}, {}) for one in (exchanged, said)])
    value = joined.values[0]
    assert swapped.values[0] == (None if value is None else other[value])
    if "?" in (said, exchanged):
        assert value is None
    else:
        assert value == (said if said == other[exchanged] else "tie")
        assert joined.inconsistent == (said != other[exchanged]) == bool(joined.counts["contradictions"])
    assert joined.counts["first_place"] == [said, exchanged].count("first")
    assert joined.counts["places"] == 2 - [said, exchanged].count("tie") - [said, exchanged].count("?")


def cases(*gold: Any) -> list[Case]:
    return [Case(inputs={"text": str(number)}, gold=(value,)) for number, value in enumerate(gold)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_of_one_value_only_is_refused(kind: str) -> None:
    answer, (first, second, *_) = KINDS[kind], VALUES[kind]
    assert answer.scale.check_part(cases(first, second)) is None
    lack = answer.scale.check_part(cases(first, first))
    assert lack is not None
    assert lack.gold_words.endswith(f"are {answer.scale.text(first)}")


class Numbered(pydantic.BaseModel):
    n: int
    label: Literal["fine", "rude"]


def test_labels_of_numbered_units_of_ones_own() -> None:
    sentences = (list[str], dspy.InputField(desc="numbered"))
    fields = {"sentences": sentences, "labels": (list[Numbered], dspy.OutputField())}
    judge = Judge(name="tone", signature=dspy.Signature(fields, "Label each."), positive={"rude"})
    row = {"sentences": ["You fool.", "Thanks."], "labels": ["rude", None]}
    case = judge.case(row)
    assert case.gold == ("rude", None)
    assert judge.prompt_values(case.inputs) == {"sentences": "1. You fool.\n2. Thanks."}
    assert judge.basic().signature.input_fields["sentences"].annotation is str
    assert judge.demo(case)["labels"] == [{"n": 1, "label": "rude"}]
    with pytest.raises(GoldError, match="1 labels for 2 units"):
        judge.case({**row, "labels": ["rude"]})


@given(
    st.lists(st.sampled_from(["x", "y", None]), min_size=1, max_size=8),
    st.lists(st.sampled_from(["x", "y", None]), min_size=8, max_size=8),
)
def test_a_second_answer_fills_in_and_no_more(first: list[str | None], second: list[str | None]) -> None:
    one = Verdict(values=tuple(first), extra=1, reasoning="r")
    both = one.completed(Verdict(values=tuple(second[: len(first)]), extra=2, duplicated=1))
    assert (both.extra, both.duplicated, both.reasoning) == (3, 1, "r")
    for before, again, after in zip(first, second, both.values, strict=False):
        assert after == (again if before is None else before)
    assert set(both.missing) <= set(one.missing)


class Stars(Score):
    """A subclass that says more of a score and reads it as any other."""

    def row_parts(self, values: Any) -> dict[str, Any]:
        return {**super().row_parts(values), "stars": "*" * int(values[0] or 0)}


class Halved(Score):
    """A subclass that reads a reply in its own way."""

    def read(self, reply: Any, inputs: Any, places: Any = None) -> Any:
        return super().read({**reply, self.field: reply[self.field] / 2}, inputs, places)


class Numbering(PerSentence):
    """A subclass of another kind of answer that reads a reply in its own way."""

    def read(self, reply: Any, inputs: Any, places: Any = None) -> Any:
        return super().read({}, inputs, places)


def test_a_subclass_keeps_the_reader_of_exports_unless_it_reads_otherwise() -> None:
    common: dict[str, Any] = {"field": "x", "unit": "y"}
    assert Stars(**common).portable_rule()["reader"] == "score"
    assert "reader" not in Halved(**common).portable_rule()
    labels = ("a", "b")
    assert PerSentence(**common, labels=labels).portable_rule()["reader"] == "numbered"
    assert "reader" not in Numbering(**common, labels=labels).portable_rule()
    whole = Criteria(unit="y", each=(Stars(**common), Halved(field="z", unit="y")))
    assert "reader" not in whole.portable_rule()
