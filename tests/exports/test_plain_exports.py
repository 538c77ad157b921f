"""Exports of a judge whose prompt stands as its user wrote it: the same messages, and replies that are read alike."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import dspy
import pytest
from parity import executed, nasty_cases, parity, rows_of

import jurist
from jurist.cases import Case
from jurist.errors import UsageError
from jurist.exports import EXPORTERS, Subject
from jurist.jobs.exporting import subject_of
from jurist.keeping.artifacts import Store
from jurist.optimizers.demonstrations import add_remembered_rows
from jurist.programs.judge import Judge
from jurist.programs.state import PromptState


class Send(dspy.Signature):
    conversation: str = dspy.InputField()
    claim: str = dspy.InputField()
    verdict: Literal["send", "hold"] = dspy.OutputField()


class Grade(dspy.Signature):
    conversation: str = dspy.InputField()
    claim: str = dspy.InputField()
    score: float = dspy.OutputField(ge=0, le=1)


class Better(dspy.Signature):
    conversation: str = dspy.InputField()
    claim: str = dspy.InputField()
    better: Literal["first", "second", "tie"] = dspy.OutputField()


TEXT = "Read this.\n\n<talk>\n{{conversation}}\n</talk>\nClaim: {{ claim }}\n"
MESSAGES = [
    {"role": "system", "content": "Be fair. {{conversation}}"},
    {"role": "user", "content": "Ready?"},
    {"role": "assistant", "content": "Yes."},
    {"role": "user", "content": "{{claim}} ({{claim}})"},
]
JUDGES = {
    "label": Judge(name="send", signature=Send, prompt=TEXT, positive="hold", values={"stop": "hold"}),
    "score": Judge(name="grade", signature=Grade, prompt=MESSAGES),
    "pair": Judge(
        name="better",
        signature=Better,
        prompt=TEXT,
        answer=jurist.Preference(first="conversation", second="claim"),
    ),
}
GOLD: dict[str, tuple[Any, ...]] = {"label": ("hold",), "score": (0.5,), "pair": ("tie",)}
REPLIES: dict[str, tuple[str, ...]] = {
    "label": (
        "hold",
        "**Send.**",
        "Verdict: stop",
        '{"why": "x", "verdict": "send"}',
        "send or hold",
        "I hold on",
    ),
    "score": ("0.5", "Score: 1", "1.5", "0.5 or 0.6", "**0.25**"),
    "pair": ("A", "second", "tie", "both", "A and B", "neither"),
}


def subject(kind: str, store: Path, *, rewritten: bool = False, remembers: bool = False) -> Subject:
    judge = JUDGES[kind]
    state = PromptState.of(judge.basic())
    case = replace(nasty_cases(judge)[1], gold=GOLD[kind])
    if rewritten:
        state = state.with_instruction("self", "Judge {{claim}}, and mind {{ y, {% z %} and {#.")
        state = state.with_demos("self", (judge.demo(case),))
    if remembers:
        cases = [
            Case(inputs={"conversation": f"c {n}", "claim": f"d {n}"}, gold=GOLD[kind]) for n in range(4)
        ]
        state = add_remembered_rows(judge, cases, state, 2, 4000)
    card = {"adapter": "plain", "thresholds": {"samples": 1}}
    return subject_of(Store(store).save(judge, state, card, [], make_latest=True), judge)


@pytest.mark.parametrize("rewritten", [False, True])
@pytest.mark.parametrize("target", ["messages", "python"])
@pytest.mark.parametrize("kind", sorted(JUDGES))
def test_an_export_sends_what_the_judge_sends(
    kind: str, target: str, rewritten: bool, tmp_path: Path
) -> None:
    exported = subject(kind, tmp_path, rewritten=rewritten)
    assert parity(target, exported, rows_of(exported, nasty_cases(JUDGES[kind]))) == []


@pytest.mark.parametrize("kind", sorted(JUDGES))
def test_rows_that_are_shown_stand_where_the_judge_shows_them(kind: str, tmp_path: Path) -> None:
    exported = subject(kind, tmp_path, remembers=True)
    assert parity("python", exported, rows_of(exported, nasty_cases(JUDGES[kind])[:4])) == []


def test_a_prompt_that_nobody_rewrote_is_the_user_s_own_again() -> None:
    for kind, wanted in (("label", [{"role": "user", "content": TEXT}]), ("score", MESSAGES)):
        judge = JUDGES[kind]
        text = EXPORTERS["messages"].render(subject_of(PromptState.of(judge.basic()), judge))
        own = json.dumps(wanted).replace("{{ claim }}", "{{claim}}")
        assert json.loads(text)["messages"] == json.loads(own)


@pytest.mark.parametrize("kind", sorted(REPLIES))
def test_an_exported_file_reads_replies_as_the_judge_does(
    kind: str, tmp_path: Path, serve: Callable[..., Any], fake_key: str
) -> None:
    exported = executed(EXPORTERS["python"].render(subject(kind, tmp_path)))["_JUDGE"]
    inputs = {"conversation": "c", "claim": "d"}
    for reply in REPLIES[kind]:
        server = serve(lambda messages, reply=reply: reply)
        loaded = jurist.load(
            JUDGES[kind], version="basic", model=jurist.Model(name="openai/m", api_base=server.url)
        )
        verdict = loaded(**inputs)
        own = exported.ask(lambda messages, more, reply=reply: (reply, "stop"), inputs)
        assert (own["status"], own["value"]) == (verdict.status, verdict.value), reply


@pytest.mark.parametrize("target", sorted(EXPORTERS))
def test_every_target_takes_a_prompt_as_it_stands(target: str, tmp_path: Path) -> None:
    exported = subject("label", tmp_path, rewritten=True)
    if target == "langfuse":  # it would take the {{claim}} of a judged text for its own variable
        with pytest.raises(UsageError, match="takes for a variable"):
            EXPORTERS[target].render(exported)
        exported = subject("label", tmp_path / "basic")
    text = EXPORTERS[target].render(exported)
    if EXPORTERS[target].suffix == ".py":
        compile(text, "exported.py", "exec")
