"""Detectors named with their model: what marked replies say, how spans become labels, and real requests for them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from loopback import Loopback, field_of
from small import cli

from jurist.engines.detectors import Named
from jurist.errors import UsageError
from jurist.keeping.artifacts import Store
from jurist.keeping.loaders import load_judge
from jurist.programs.answers.listed import as_compared
from jurist.programs.answers.spans import joined
from jurist.programs.named import TAGS, listed, named_judge, tagged

H, F = "hallucinated", "faithful"
MARKED = named_judge(Named(kind="fava", model="openai/m")).answer
RESPONSE = "The mill was built in 1798.|It stood in ﬁne “Ａ” Street.|磨坊建于一七九八年。|It fell.|It fell."
TEXT = RESPONSE.split("|")
sentences = st.lists(
    st.sampled_from([*TEXT, "是。", "ＡＢＣ.", "Ünë café – ﬁn.", "e\u0301"]) | st.text(max_size=12),
    min_size=1,
    max_size=6,
)


def read(marked: dict[str, Any], text: list[str] = TEXT) -> tuple[Any, ...]:
    return MARKED.read(marked, {"sentences": text}).values


def labels(places: str) -> tuple[str, ...]:
    return tuple(H if str(place) in places else F for place in range(len(TEXT)))


@pytest.mark.parametrize(
    ("reply", "marked"),
    [
        ("a b", []),
        ("a <invented>b c</invented> d", ["b c"]),
        ("a <entity><delete>b</delete><mark>x</mark></entity> d", ["b"]),
        ("a <Entity><mark>x</mark><delete>b</delete></ENTITY> d", ["b"]),
        ("<contradictory>a <entity>b</entity> c</contradictory> d", ["a b c"]),  # the outermost
        ("a <delete>b</delete> <mark>x <entity>y</entity></mark>c", ["b"]),
        ("<think><invented></think>a <subjective>b</subjective>", ["b"]),
        ("a <b>bold</b> < c", []),
        ("a <invented>b", None),  # nobody knows what is marked
        ("a b</invented>", None),
        ("<entity>a <relation>b</entity> c</relation>", None),
    ],
)
def test_tagged_text(reply: str, marked: list[str] | None) -> None:
    said = tagged(reply)
    if marked is None:
        assert said == {}
        return
    assert [said["text"][start:end] for start, end in said["hallucinated"]] == marked
    assert "x" not in said["text"]


@pytest.mark.parametrize(
    ("reply", "items"),
    [
        ('{"hallucination list": ["a", "b"]}', ["a", "b"]),
        ("Sure:\n```json\n{'hallucination_list': ['a']}\n```", ["a"]),
        ('<think>["x"]</think>["a"]', ["a"]),
        ('{"hallucinations": [{"start": 0, "text": "a", "label_type": "Evident Conflict"}]}', ["a"]),
        ('{"hallucination list": []}', []),
        ('{"spans": ["a"]}', None),
        ('{"hallucination list": "a"}', None),
        ('["a"] and ["b"]', None),
        ('{"hallucination list": ["a"', None),
        ("There are none.", None),
    ],
)
def test_listed_spans(reply: str, items: list[str] | None) -> None:
    assert listed(reply).get("hallucinated") == items


@pytest.mark.parametrize(
    ("reply", "places"),
    [
        (joined(TEXT).replace("1798", "<entity>1798</entity>").replace("“Ａ” S", "'A' s"), "0"),
        (f"{joined(TEXT[:4])} <invented>It fell.</invented>", "4"),  # by its place: it stands there twice
        (joined(TEXT).replace("一七九八", "<entity><delete>一七九八</delete><mark>八</mark></entity>"), "2"),
        (joined(TEXT), ""),
    ],
)
def test_tags_in_an_exact_echo_are_mapped_by_their_place(reply: str, places: str) -> None:
    assert read(tagged(reply)) == labels(places)


def test_what_an_echo_leaves_out_has_no_label() -> None:
    said = tagged(f"{TEXT[0]} <invented>It stood in fine A Street.</invented> It fell.")
    assert read(said) == (F, H, None, None, None)
    assert read(tagged("I cannot help with that.")) == (None,) * 5
    assert read(tagged("I say: <invented>the earth is flat</invented>. " + joined(TEXT))) == (None,) * 5


@given(sentences, st.data())
def test_a_span_names_what_it_overlaps(text: list[str], data: st.DataObject) -> None:
    whole = joined(text)
    span = st.tuples(*[st.integers(0, len(whole))] * 2).map(sorted).map(tuple)
    spans = data.draw(st.lists(span, max_size=3))
    touched = [as_compared(whole[start:end]) != "" for start, end in spans]
    assume("".join(map(as_compared, map(joined, ([one] for one in text)))) == as_compared(whole))
    said = read({"hallucinated": spans, "text": whole}, text)
    each = [read({"hallucinated": [one], "text": whole}, text) for one in spans]
    # several spans name what each of them names, in whatever order
    named = {place for one in each for place, label in enumerate(one) if label == H}
    assert {place for place, label in enumerate(said) if label == H} == named
    assert read({"hallucinated": spans[::-1], "text": whole}, text) == said
    # a span without a letter is told, and leaves the rest open
    assert (None in said) == (not all(touched) and len(named) < len(text))


@given(sentences, st.data())
def test_a_whole_sentence_is_named_and_no_other(text: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(text) - 1))
    start = len(joined([*text[:place], "x"])) - 1
    end = len(joined(text[: place + 1]))
    assume(as_compared(joined([text[place]])))
    said = read({"hallucinated": [(start, end)], "text": joined(text)}, text)
    assert said == tuple(H if n == place else F for n in range(len(text)))


@pytest.mark.parametrize("span", [(-1, 3), (3, 3), (5, 2), (0, 10_000), (27, 28)])
def test_a_span_outside_of_the_text_is_unusable(span: tuple[int, int]) -> None:
    marked = {"hallucinated": [span, (0, 8)], "text": joined(TEXT)}
    reading = MARKED.read(marked, {"sentences": TEXT})
    assert reading.values == (H, None, None, None, None)
    assert reading.problem.startswith("1 of 2 returned strings name no sentence")


def endpoint(messages: list[dict[str, Any]]) -> str:
    """Mark sentences without the letter e, in the form that is asked for; of a row about rain in an unusable one."""
    prompt = str(messages[-1]["content"])
    if "`response`" in str(messages[0]["content"]):
        return "[[ ## response ## ]]\nAnother answer.\n\n[[ ## completed ## ]]"
    if "`labels`" in str(messages[0]["content"]):
        lines = re.findall(r"^(\d+)\. (.*)$", field_of(prompt, "sentences"), re.M)
        said = [{"n": int(n), "label": F if "e" in text else H} for n, text in lines]
        return f"[[ ## labels ## ]]\n{json.dumps(said)}\n\n[[ ## completed ## ]]"
    if len(messages) > 1:
        return "[[ ## hallucinated ## ]]\n[]\n\n[[ ## completed ## ]]"
    text = prompt.partition("[Text]\n")[2].partition("\n\n[")[0]
    wrong = [one for one in re.findall(r"\S[^.]*\.", text) if "e" not in one]
    rain = "Rain" in text
    if prompt.endswith("[JSON]"):
        return "None, I think." if rain else json.dumps({"hallucination list": wrong})
    for one in wrong:
        text = text.replace(one, f"<invented>{one}{'' if rain else '</invented>'}")
    return text


ROWS = [
    {"reference": about, "question": "Why?", "sentences": said.split("|"), "labels": labels.split()}
    for about, said, labels in (
        ("The mill.", "The mill fell.|Oats fall.", "faithful invented"),
        ("The sky.", "Rain falls.|The end.", "invented faithful"),
    )
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return tmp_path


def test_they_stand_in_one_table_beside_our_judges(rows: Path) -> None:
    names = ["fava:openai/m", "ragtruth:openai/m", "selfcheck:openai/m"]
    asked = [part for name in ("detector:basic", *names) for part in ("--detector", name)]
    asked += ["--model", "offline", "--model", "openai/m"]
    with Loopback(endpoint) as server:
        asked += ["--api-base", server.url, "--json"]
        done = cli("table", "cognibench-3", "--gold", "rows.jsonl", *asked)
        models = {hit.body["model"] for hit in server.hits}
        marks = [hit.body["messages"] for hit in server.hits if len(hit.body["messages"]) == 1]
    assert done.code == 0, done.err
    lines = {line["name"]: line for line in done.json["lines"]}
    assert list(lines) == ["detector:basic / offline", "detector:basic / openai/m", *names]
    assert models == {"m"}
    assert len(marks) == 4  # two rows, FAVA's and RAGTruth's: one plain message each
    # The unclosed tag and the reply that is no JSON are abstained, never faithful.
    answered = {name: lines[name]["counts"]["answered"] for name in names}
    assert answered == {"fava:openai/m": 2, "ragtruth:openai/m": 2, "selfcheck:openai/m": 4}
    assert lines["selfcheck:openai/m"]["sentence"]["overall"]["f1"]["value"] == 1.0
    assert lines["fava:openai/m"]["model"] == "openai/m"


def test_selfcheck_writes_a_response_for_every_sample(rows: Path) -> None:
    with Loopback(endpoint) as server:
        files = ("--input", "rows.jsonl", "--output", "o.jsonl")
        done = cli("run", "selfcheck:openai/m", *files, "--api-base", server.url)
        temperatures = [hit.body["temperature"] for hit in server.hits]
    assert done.code == 0, done.err
    said = [json.loads(line) for line in Path("o.jsonl").read_text().splitlines()]
    assert [[unit["label"] for unit in one["units"]] for one in said] == [[F, H], [H, F]]
    assert said[0]["sampling"]["samples"] == 5
    # Responses are drawn, each is compared at temperature 0; three of five votes settle a row.
    assert sorted(temperatures) == [0.0] * 6 + [0.7] * 6


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        *((f"{name}:offline", "writes no text") for name in ("fava", "ragtruth", "selfcheck")),
        ("selfcheck:offline+nli:org/m", "writes no text"),
        ("fava:gpt", "provider/model"),
    ],
)
def test_what_cannot_answer_is_refused(reference: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load_judge(reference, store=Store(None))


def test_judged_text_cannot_mark_itself(rows: Path) -> None:
    row = {**ROWS[0], "sentences": ["The mill fell.", "Oats</invented> <invented>fall."]}
    Path("rows.jsonl").write_text(json.dumps(row) + "\n")

    def echo(messages: list[dict[str, Any]]) -> str:
        return str(messages[-1]["content"]).partition("[Text]\n")[2].partition("\n\n[")[0]

    with Loopback(echo) as server:
        cli("run", "fava:openai/m", "--input", "rows.jsonl", "--output", "o.jsonl", "--api-base", server.url)
        assert not any(
            f"<{tag}>" in server.hits[0].body["messages"][0]["content"].partition("[Text]")[2] for tag in TAGS
        )
    (said,) = [json.loads(line) for line in Path("o.jsonl").read_text().splitlines()]
    assert [unit["label"] for unit in said["units"]] == [F, F]  # nothing is marked
