"""``jurist new``: a prompt that somebody has becomes a judge whose instruction it is."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import cli, ok, read_jsonl, write_jsonl

from jurist.jobs.incoming import answer_of_labels, judge_source, read_prompt
from jurist.text.templates import Template

TEXT = "Is the reply polite?\n\nMessage: {{message}}\nReply: {{ reply }}"
SINGLE = TEXT.replace("{{", "{").replace("}}", "}").replace("{ reply }", "{reply}")
DOTTED = "Judge {{inputs.message}} and {{reply}}\n"
MESSAGES = [{"role": "system", "content": "Be fair to {braces}."}, {"role": "user", "content": TEXT}]

FORMS: dict[str, tuple[str, str, Any]] = {
    "markdown": ("p.md", TEXT, TEXT),
    "f-string": ("p.txt", SINGLE, SINGLE),
    "messages": ("p.json", json.dumps(MESSAGES), MESSAGES),
    "messages of a request": ("p.json", json.dumps({"model": "m", "messages": MESSAGES}), MESSAGES),
    "of Windows": ("p.txt", "\ufeff" + TEXT.replace("\n", "\r\n"), TEXT),
    "dotted": ("p.md", DOTTED, DOTTED),
}


@pytest.mark.parametrize("form", sorted(FORMS))
def test_every_form_is_read(form: str, tmp_path: Path) -> None:
    name, text, wanted = FORMS[form]
    (tmp_path / name).write_bytes(text.encode())
    template = read_prompt(tmp_path / name)
    assert (template.as_prompt(), template.variables) == (wanted, ("message", "reply"))


BAD: dict[str, tuple[str, str, str]] = {
    "nothing": ("p.md", "no variable", "no variable"),
    "logic": ("p.md", "{% if x %}{{x}}{% endif %}", "more than variables"),
    "sections": ("p.md", "{{#if x}}{{x}}{{/if}}", "more than variables"),
    "keyword": ("p.md", "{{ _x }}", "cannot be a field"),
    "signature": ("p.md", "{{ x }} {{ instructions }}", "cannot be a field"),
    "json": ("p.json", "{", "not JSON"),
    "other": ("p.json", "[1, 2]", "no prompt that is known"),
    "gone": ("none/p.md", "", "cannot be read"),
}


@pytest.mark.parametrize("how", sorted(BAD))
def test_what_is_no_prompt_is_one_line(how: str, tmp_path: Path) -> None:
    name, text, words = BAD[how]
    if how != "gone":
        (tmp_path / name).write_text(text, "utf-8")
    asked = ("--from", tmp_path / name, "--labels", "a,b", "--output", tmp_path / "x.py")
    done = cli("new", "x", *asked)
    assert (done.code, done.out) == (1, "") or done.code == 2
    assert words in done.err
    assert not (tmp_path / "x.py").exists()


ASKED: dict[str, tuple[tuple[str, ...], str, list[Any], str]] = {
    "labels": (("--labels", "yes,no", "--positive", "yes"), "label", ["yes", "no"], "balanced_accuracy"),
    "labels alike": (("--labels", "yes,no,not sure"), "label", ["yes", "not sure"], "balanced_accuracy"),
    "one of three": (("--labels", "a,b,c", "--positive", "a"), "label", ["a", "b"], "balanced_accuracy"),
    "score": (("--score", "1-5"), "score", [1, 5], "quadratic_kappa"),
    "part of a score": (("--score", "0.0-1.0"), "score", [0.25, 1.0], "quadratic_kappa"),
    "preference": (("--prefer", "message,reply"), "better", ["first", "tie"], "balanced_accuracy"),
}


@pytest.mark.parametrize("kind", sorted(ASKED))
def test_every_kind_of_answer_is_judged_from_its_file(kind: str) -> None:
    asked, field, golds, metric = ASKED[kind]
    Path("p.md").write_text(TEXT, "utf-8")
    ok("new", "polite-reply", "--from", "p.md", *asked)
    rows = [{"group": f"g{gold}", "message": f"m {gold}", "reply": "Hi.", field: gold} for gold in golds]
    write_jsonl(Path("gold.jsonl"), rows)
    done = ok("evaluate", "polite_reply.py:judge:basic", "--gold", "gold.jsonl", "--json")
    assert (done.json["counts"]["units"]["total"], done.json["metric"]) == (2, metric)


LABELS = answer_of_labels(["a", "b"])
PIECES = ['"', '"""', "\\", "\n", "\r", "  ", "x", "{y}", "中", "'", "\t", "\u2028", "\x00", "\u200b"]


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.sampled_from(["some-judge", "none", "2"]),
    st.booleans(),
)
def test_the_file_gives_the_prompt_back(text: str, name: str, alone: bool) -> None:
    names = "".join(f"{{{{{one}}}}}" for one in ("x", *LABELS.names))
    prompt: Any = f"{text}{names}{text}"
    if not alone:
        prompt = [{"role": "system", "content": text}, {"role": "user", "content": prompt}]
    made: dict[str, Any] = {"__name__": "made"}
    source = judge_source(name, "p.md", Template.of(prompt), LABELS)
    exec(compile(source, "made.py", "exec", dont_inherit=True), made)  # noqa: S102
    assert made["judge"].prompt == prompt
    assert made["judge"].answer.positive == {"b"}
    assert "positive" not in answer_of_labels(["a", "b", "c"]).arguments


def judge_of(form: str) -> str:
    """Write the prompt in a form and make a judge of it; return what names it."""
    name, text, _ = FORMS[form]
    Path(name).write_text(text, "utf-8")
    ok("new", "polite-reply", "--from", name, "--labels", "yes,no")
    return "polite_reply.py:judge"


def test_a_file_that_is_there_is_not_written_over() -> None:
    judge_of("messages")
    refused = {
        "polite-reply": "exists",
        "My Judge": "is not usable",
        "answer-check": "my-answer-check",
        "fect": "my-fect",
        "haluagent": "my-haluagent",
    }
    for name, words in refused.items():
        done = cli("new", name, "--from", FORMS["messages"][0], "--labels", "yes,no")
        assert (done.code in (1, 2), words in done.err, len(done.lines)) == (True, True, 1)


def ann_says(number: int) -> str:
    return "no" if number % 3 == 0 else "yes"


def bob_says(number: int) -> str:
    return "no" if number % 2 else "yes"


RATED = {
    # what the rows hold of n, and what the command is told
    "columns of their own": (lambda n: {"rater:ann": ann_says(n), "rater:bob": bob_says(n)}, []),
    "columns that are named": (
        lambda n: {"Ann": ann_says(n), "Bob": bob_says(n), "gpt_label": "no"},
        ["--column", "Ann=rater:ann", "--column", "Bob=rater:bob"],
    ),
    "columns of raters": (
        lambda n: {"ann": ann_says(n), "bob": bob_says(n), "gpt_label": "no"},
        ["--raters", "ann,bob"],
    ),
    "an object": (lambda n: {"ratings": {"ann": ann_says(n), "bob": bob_says(n)}}, []),
}


@pytest.mark.parametrize("layout", RATED)
def test_what_several_raters_said_makes_a_judge_whose_file_names_them(layout: str) -> None:
    said, named = RATED[layout]
    Path("p.md").write_text(TEXT, "utf-8")
    rows = [{"message": f"Message number {n}", "reply": "Hi.", **said(n)} for n in range(12)]
    write_jsonl(Path("rated.jsonl"), rows)
    done = ok("new", "polite-reply", "--from", "p.md", "--gold", "rated.jsonl", *named)
    assert "labels yes, no" in done.out
    assert "6 labelled rows in 6 groups\n" in done.out
    for number, row in enumerate(rows):
        row["message"] = f"Message {number % 4}"
        row["reply"] = f"Hi, {number}."
    write_jsonl(Path("shared.jsonl"), rows)
    shared = ok("new", "shared-message", "--from", "p.md", "--gold", "shared.jsonl", *named)
    assert "rows with the same message are one group" in shared.out
    assert (
        "the majority of 2 raters (ann, bob); all agree on 6 of 12 units with two ratings or more; 6 cases"
        in done.out
    )
    assert "next: jurist evaluate polite_reply.py:judge:basic --gold rated.jsonl" in done.err
    found = ok("gold", "agreement", "polite_reply.py:judge", "rated.jsonl", "--json").json
    assert (found["raters"], found["units"]) == (["ann", "bob"], 12)
    merged = ("--merge", "majority", "--output", "gold.jsonl", "--json")
    assert ok("gold", "import", "polite_reply.py:judge", "rated.jsonl", *merged).json["cases"] == 6


def test_a_row_for_each_rater_makes_a_judge_too() -> None:
    Path("p.md").write_text(TEXT, "utf-8")
    rows = [
        {
            "message": f"Message number {n}",
            "reply": "Hi.",
            "verdict": bob_says(n) if who == "bob" else ann_says(n),
            "who": who,
        }
        for n in range(12)
        for who in ("ann", "bob")
    ]
    write_jsonl(Path("rated.jsonl"), rows)
    done = ok("new", "polite-reply", "--from", "p.md", "--gold", "rated.jsonl", "--column", "who=rater")
    assert "the majority of 2 raters (ann, bob)" in done.out


def test_rows_that_cannot_be_used_are_set_aside_with_their_reasons() -> None:
    Path("prompt.md").write_text("May it go? ok or bad. {{policy}} {{reply}}")
    lines = [
        json.dumps({"policy": f"p{n}", "reply": f"r{n}", "label": ("ok", "bad")[n % 2]}) for n in range(8)
    ]
    lines[3] = "{broken"
    lines[5] = json.dumps({"policy": "p", "reply": ["no", "text"], "label": "ok"})
    Path("gold.jsonl").write_text("\n".join(lines))
    command = ("new", "tone", "--from", "prompt.md", "--gold", "gold.jsonl")
    refused = cli(*command)
    assert (refused.code, "gold.jsonl:4: broken JSON" in refused.err) == (1, True)
    told = ok(*command, "--rejects", "aside.jsonl")
    assert (
        "6 labelled rows in 6 groups; 2 cannot be used: they are in aside.jsonl, with the reasons" in told.out
    )
    assert "--gold gold.jsonl --rejects aside.jsonl" in told.err
    assert [row["source"] for row in read_jsonl(Path("aside.jsonl"))] == ["gold.jsonl:4", "gold.jsonl:6"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--labels", "ok,bad", "--rejects", "aside.jsonl"), "say how --gold is read; add --gold"),
        (("--gold", "gold.jsonl", "--rejects", "gold.jsonl"), "would write into gold.jsonl"),
        (("--gold", "gold.jsonl", "--rejects", "prompt.md"), "would write into prompt.md"),
    ],
)
def test_rejects_write_over_no_other_file(options: tuple[str, ...], words: str) -> None:
    Path("prompt.md").write_text("May it go? ok or bad. {{policy}} {{reply}}")
    rows = [{"policy": f"p{n}", "reply": f"r{n}", "label": ("ok", "bad")[n % 2]} for n in range(4)]
    write_jsonl(Path("gold.jsonl"), rows)
    before = Path("gold.jsonl").read_bytes()
    refused = cli("new", "tone", "--from", "prompt.md", *options)
    assert (refused.code, words in refused.err) == (2, True), refused.err
    assert Path("gold.jsonl").read_bytes() == before
    assert not Path("tone.py").exists()
