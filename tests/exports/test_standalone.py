"""Exports that run without jurist: they read replies and count samples as jurist does."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import dspy
import openai
import pydantic
import pytest
from asking import CASES, asker, wait_briefly
from dspy import AdapterParseError
from hypothesis import given, settings
from hypothesis import strategies as st
from judges import Better
from loopback import Loopback
from parity import executed

from jurist.cases import Case
from jurist.engines.adapters import adapter as adapter_named
from jurist.engines.adapters import value_of
from jurist.errors import GoldError
from jurist.evaluation.votes import Sampling
from jurist.exports import EXPORTERS, Subject
from jurist.exports.portable_file import portable_spec
from jurist.exports.portable_judge import PortableJudge
from jurist.jobs.exporting import export_text, subject_of
from jurist.keeping.artifacts import Store
from jurist.keeping.card import Card
from jurist.programs.answers.portable import COMBINERS
from jurist.programs.catalogue import find
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge
from jurist.programs.state import PromptState
from jurist.text.replies import typed


class Tag(pydantic.BaseModel):
    n: int
    label: Literal["a", "b"]


def judge_of(annotation: Any, **more: Any) -> Judge:
    """Return a judge whose output is of a type."""
    bounds = {key: more.pop(key) for key in ("ge", "le") if key in more}
    text = list[str] if annotation == list[Tag] else str
    fields = {"text": (text, dspy.InputField()), "answer": (annotation, dspy.OutputField(**bounds))}
    return Judge(name="some", signature=dspy.Signature(fields, "Judge it."), **more)


KINDS: dict[str, Judge] = {
    "bool": judge_of(bool, positive=frozenset({"true"})),
    "labels": judge_of(Literal["a", "b", "A"], positive=frozenset({"a"})),
    "stars": judge_of(Literal[1, 2, 3]),
    "whole": judge_of(int, ge=0, le=100),
    "share": judge_of(float, ge=0, le=1),
    "several": judge_of(list[Literal["a", "b"]]),
    "numbered": judge_of(list[Tag], positive=frozenset({"b"})),
}
WORDS = "True|true|FALSE|yes|on|1|a| a |\"a\"|'b'|A|Literal[a]|a, b|c||None|3 stars"
NUMBERS = "0.5|1.0|1.5|-1|3|100|100.5"
LISTS = "[]|[\"a\"]|['a', 'b']|[\"c\"]|[1]|{}|[a]"
TAGS = [
    *('[{"n": 1, "label": "a"}]', '[{"n": 1, "label": "a"}, {"n": 1, "label": "b"}, {"n": 2, "label": "b"}]'),
    *(
        '[{"n": 7, "label": "a"}]',
        '[{"n": true, "label": "a"}]',
        '[{"label": "a"}]',
        "[{'n': 2, 'label': 'b'}]",
    ),
]
TEXTS = [*"|".join([WORDS, NUMBERS, LISTS]).split("|"), *TAGS, "9" * 400, "[" * 5000 + "]" * 5000]
JSON = '{{"answer": {}}}|Here: {{"answer": "{}"}} ok|{}|{{"answer": {}|{{"other": 1, "answer": {}}}'
FRAMES = {
    "chat": [
        "[[ ## answer ## ]]\n{}\n\n[[ ## completed ## ]]",
        "<think>[[ ## answer ## ]]\nb</think>\n[[ ## answer ## ]]\n{}",
        "[[ ## answer ## ]]\n{}\n[[ ## answer ## ]]\na",
        "{}",
        "[[ ## other ## ]]\nx\n[[ ## answer ## ]] {}",
    ],
    "json": JSON.split("|"),
}


def always(reply: str) -> Callable[..., tuple[str, str]]:
    """Return what a client says who has one reply."""
    return lambda *request: (reply, "stop")


INPUTS: dict[str, Mapping[str, Any]] = {"numbered": {"text": ["x", "y"]}}


@pytest.mark.parametrize("adapter", sorted(FRAMES))
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_reply_is_read_as_jurist_reads_it(kind: str, adapter: str) -> None:
    judge, inputs = KINDS[kind], INPUTS.get(kind, {"text": "x"})
    given = subject_of(PromptState.of(judge.basic()), judge)
    subject = replace(given, card=Card(judge=given.judge.name, adapter=adapter, version=1))
    portable, signature = PortableJudge(portable_spec(subject)), judge.basic().signature
    usable = 0
    for reply in (frame.format(text) for frame in FRAMES[adapter] for text in TEXTS):
        unusable = [None] * len(judge.answer.units(inputs))
        try:
            parsed = adapter_named(adapter).parse(signature, reply)
            wanted = list(judge.read(dspy.Prediction(**parsed), inputs).values)
        except AdapterParseError:
            wanted = unusable
        verdict = portable.ask(always(reply), inputs)
        found = verdict["value"] if len(portable.texts(inputs)) > 1 else [verdict["value"]]
        assert found == wanted, reply
        usable += found != unusable
    assert usable > 1


TYPES: list[Any] = [
    *(str, bool, int, float, list[str], list[int], list[bool]),
    *(list[Tag], str | None, Literal["a", 1], int | None),
    *(Literal["a"] | Literal["b"], list[Literal["a", "b"] | Literal["c"]], list[Literal["a", 1]]),
]
_VALUES = st.sampled_from(
    ["a", "b", "c", "x", " a", "1", "2.0", "true", "False", "null", 1, 0, 2.0, 1.5, True, None]
)
_JSON = st.recursive(
    _VALUES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.fixed_dictionaries({"n": inner, "label": inner}, optional={"more": inner})
    ),
    max_leaves=6,
)


@settings(max_examples=200)
@given(st.sampled_from(TYPES), st.booleans(), _JSON)
def test_a_field_is_read_as_its_type_is(annotation: Any, as_text: bool, value: Any) -> None:
    given = json.dumps(value) if as_text and not isinstance(value, str) else value
    try:
        wanted = pydantic.TypeAdapter(annotation).dump_python(value_of(given, annotation))
    except (ValueError, RecursionError):
        with pytest.raises(ValueError):
            typed(pydantic.TypeAdapter(annotation).json_schema(), given)
        return
    found = typed(pydantic.TypeAdapter(annotation).json_schema(), given)
    assert (found, type(found)) == (wanted, type(wanted))


@settings(max_examples=200)
@given(st.sampled_from(["labels", "stars", "several"]), st.integers(1, 5), st.data())
def test_samples_count_as_jurist_counts_them(kind: str, samples: int, data: st.DataObject) -> None:
    answer = KINDS[kind].answer
    values = {"labels": ("a", "b", "A"), "stars": (1, 2, 3), "several": ((), ("a",), ("a", "b"))}[kind]
    votes = data.draw(st.dictionaries(st.sampled_from(values), st.integers(1, 2)))
    votes = votes if sum(votes.values()) <= samples else {}
    threshold = data.draw(st.integers(1, samples))
    combine = data.draw(st.sampled_from((None, "median", "mean"))) if kind == "stars" else None
    sampling = Sampling(samples=samples, threshold=threshold, combine=combine)
    spec, reader = answer.scale.identity(), answer.parser_rule()["reader"]
    spec |= {"combine": combine, "parser": {"answer": answer.parser_rule()}}
    assert COMBINERS[reader](votes, spec, samples, threshold) == answer.scale.combine(votes, sampling)


class BetterOnly(Better):
    """Say which reply is better; one is."""

    better: Literal["first", "second"] = dspy.OutputField()


@pytest.mark.parametrize("signature", [Better, BetterOnly])
def test_pairs_are_asked_in_both_orders_and_joined_as_jurist_joins_them(
    signature: type[dspy.Signature], monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_briefly(monkeypatch)
    judge = Judge(name="pair", signature=signature)
    file = executed(export_text(PromptState.of(judge.basic()), judge, "python"))
    words = ["first", "second", *(["tie"] if signature is Better else []), "neither"]
    row, seen = {"first": "Yes, it is.", "second": "No."}, []
    for as_is, exchanged in product(words, repeat=2):

        def answers(messages: list[dict[str, Any]], told: tuple[str, str] = (as_is, exchanged)) -> str:
            text = messages[-1]["content"]
            said = told[text.index("No.") < text.index("Yes")]
            return f"[[ ## better ## ]]\n{said}\n\n[[ ## completed ## ]]"

        with Loopback(answers) as server:
            client = openai.OpenAI(base_url=server.url, api_key="none", max_retries=0)
            found = file["judge"](client, "some", **row)
            assert server.count == 2
            wanted = asker(server, judge=judge).ask(Case(inputs=row))
        assert [found["value"]] == list(wanted.values), (as_is, exchanged)
        seen.append(found["score"])
    assert {1.0, 0.0, None} <= set(seen)


def compiled(store: Path, adapter: str = "chat", judge: Judge = FECT) -> Subject:
    state = PromptState.of(judge.basic())
    demo = judge.demo(Case(inputs={"conversation": "{{claim}}", "claim": '"""\\n'}, gold=("factual",)))
    card = {"adapter": adapter, "thresholds": {"samples": 3, "threshold": 2}}
    kept = Store(store).save(judge, state.with_demos("self", (demo,)), card, [], make_latest=True)
    return subject_of(kept, judge)


SCRIPT = """
import json, sys
from types import SimpleNamespace as N
import exported
replies = iter(json.loads(sys.argv[1]))
said = lambda **request: N(choices=[N(message=N(content=next(replies)), finish_reason="stop")])
client = N(chat=N(completions=N(create=said)))
print(json.dumps(exported.judge(client, "m", conversation="c", claim="d")))
"""


def test_the_python_file_needs_the_standard_library_only(tmp_path: Path) -> None:
    text = EXPORTERS["python"].render(compiled(tmp_path / "store"))
    (tmp_path / "exported.py").write_text(text, "utf-8")
    (tmp_path / "script.py").write_text(SCRIPT, "utf-8")
    replies = json.dumps(
        ["[[ ## factual ## ]]\nTrue", "[[ ## factual ## ]]\nperhaps", "[[ ## factual ## ]]\nFalse"]
    )
    command = [sys.executable, "-S", "script.py", replies]  # -S: no installed package can be imported
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    verdict = json.loads(done.stdout)
    assert (verdict["status"], verdict["value"], len(verdict["errors"])) == ("abstained", None, 1)
    assert verdict["votes"] == [{"factual": 1, "non_factual": 1}]


SAID = [
    "[[ ## factual ## ]]\nTrue",
    "[[ ## factual ## ]]\nTrue\n\n[[ ## completed ## ]]",
    "<think>True",
    None,
    [{"type": "thinking", "thinking": "False"}, {"type": "text", "text": "[[ ## factual ## ]]\nTrue"}],
]


@pytest.mark.parametrize("ended", ["stop", None, "eos", "length", "model_length", "content_filter", "abort"])
def test_what_an_endpoint_ends_is_read_as_by_us(ended: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_briefly(monkeypatch)
    file = executed(export_text(PromptState.of(FECT.basic()), FECT, "python"))
    replies: list[Any] = []
    with Loopback(lambda messages: replies[-1], ended=ended) as server:
        client, judge = openai.OpenAI(base_url=server.url, api_key="none", max_retries=0), asker(server)
        for said in SAID:
            replies.append(said)
            found = file["judge"](client, "some", **CASES[0].inputs)
            assert [found["value"]] == list(judge.ask(CASES[0]).values), said


@pytest.mark.parametrize("value", [None, "", 3, True, float("nan"), [], "One text.", ["a", None], ["a"]])
def test_a_row_is_refused_where_jurist_refuses_it(value: Any) -> None:
    for name, field in (("fect", "claim"), ("cognibench", "sentences"), ("factual", "before")):
        judge = find(name)
        file = executed(export_text(PromptState.of(judge.basic()), judge, "python"))
        texts = {one["name"]: "some text" for one in file["_SPEC"]["inputs"]}
        row = {**texts, **({"sentences": ["some"]} if "sentences" in texts else {}), field: value}
        try:
            judge.case(row)
        except GoldError:
            with pytest.raises(ValueError, match=field):
                file["judge"](None, "m", **row)
        else:
            assert file["messages"](**row)
    file = executed(export_text(PromptState.of(FECT.basic()), FECT, "python"))
    calls = [{"function": {"name": "track", "arguments": "{}"}}]
    chat = [
        {"role": "user", "content": "some\r\ntext"},
        {"role": "agent", "content": None, "tool_calls": calls},
    ]
    shown = [
        file["messages"](conversation=talk, claim="c")
        for talk in (chat, "user: some\n  text\nagent: calls track({})")
    ]
    assert shown[0] == shown[1]
