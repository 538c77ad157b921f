"""``jurist new``: a prompt that somebody has becomes a judge whose instruction it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import cli, write_jsonl

from jurist.errors import UsageError
from jurist.exports import EXPORTERS, rendered, subject_of
from jurist.exports.incoming import IncomingPrompt, read_prompt
from jurist.exports.judge_file import judge_source
from jurist.programs.catalogue import find
from jurist.programs.state import PromptState, normalise_instruction

TEXT = "Is the reply polite?\n\nMessage: {{message}}\nReply: {{ reply }}"
WANTED = "Is the reply polite?\n\nMessage: `message`\nReply: `reply`"
MESSAGES = [{"role": "system", "content": "Be fair to {braces}."}, {"role": "user", "content": TEXT}]
FORMS: dict[str, tuple[str, str, str]] = {
    "markdown": ("p.md", TEXT, WANTED),
    "f-string": ("p.txt", TEXT.replace("{{", "{").replace("}}", "}").replace("{ reply }", "{reply}"), WANTED),
    "messages": ("p.json", json.dumps(MESSAGES), f"Be fair to {{braces}}.\n\nuser:\n{WANTED}"),
    "mlflow text": ("p.json", json.dumps({"name": "x", "template": TEXT}), WANTED),
    "promptfoo": ("p.yaml", f"prompts:\n  - {json.dumps(TEXT)}\nproviders: [echo]\n", WANTED),
    "promptfoo messages": (
        "p.yaml",
        f"prompts: [{json.dumps(json.dumps(MESSAGES))}]",
        f"Be fair to {{braces}}.\n\nuser:\n{WANTED}",
    ),
    "dotted": ("p.md", "Judge {{inputs.message}} and {{{reply}}}", "Judge `message` and `reply`"),
}


@pytest.mark.parametrize("form", sorted(FORMS))
def test_every_form_is_read(form: str, tmp_path: Path) -> None:
    name, text, wanted = FORMS[form]
    (tmp_path / name).write_text(text, "utf-8")
    assert read_prompt(tmp_path / name) == IncomingPrompt(instruction=wanted, inputs=("message", "reply"))


@pytest.mark.parametrize("target", ["langchain", "mlflow", "messages", "jinja2"])
def test_what_we_export_is_read_back_whole(target: str, tmp_path: Path) -> None:
    judge = find("fect")
    state = PromptState.of(judge.basic()).with_instruction("self", 'Mind {x}, {% y and "z".')
    (tmp_path / "p.json").write_text(rendered(EXPORTERS[target], subject_of(state, judge)), "utf-8")
    found = read_prompt(tmp_path / "p.json")
    assert found.inputs == ("conversation", "claim")
    assert 'Mind {x}, {% y and "z".' in found.instruction


BAD: dict[str, tuple[str, str, str]] = {
    "nothing": ("p.md", "no variable", "no variable"),
    "logic": ("p.md", "{% if x %}{{x}}{% endif %}", "logic"),
    "sections": ("p.md", "{{#if x}}{{x}}{{/if}}", "logic"),
    "keyword": ("p.md", "{{class}}", "cannot be a field"),
    "json": ("p.json", "{", "not JSON"),
    "yaml": ("p.yaml", "a: [", "not YAML"),
    "other": ("p.json", "[1, 2]", "no prompt that is known"),
    "two": ("p.yaml", "prompts: [a, b]", "2 prompts"),
    "gone": ("p.yaml", "prompts: [file://none.txt]", "cannot be read"),
    "kind": (
        "p.json",
        json.dumps({"lc": 1, "kwargs": {"messages": [{"id": ["ToolMessage"]}]}}),
        "of the kind",
    ),
}


@pytest.mark.parametrize("how", sorted(BAD))
def test_what_is_no_prompt_is_one_line(how: str, tmp_path: Path) -> None:
    name, text, words = BAD[how]
    (tmp_path / name).write_text(text, "utf-8")
    done = cli(
        "new", "x", "--from", str(tmp_path / name), "--labels", "a,b", "--output", str(tmp_path / "x.py")
    )
    assert (done.code, done.out) == (1, "") or done.code == 2
    assert words in done.err
    assert not (tmp_path / "x.py").exists()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"labels": ["a"]}, "no labels"),
        ({"labels": ["a", "a"]}, "no labels"),
        ({"positive": ["c"]}, "does not part"),
        ({"positive": ["a", "b"]}, "does not part"),
        ({"unit": "z"}, "no input"),
        ({"name": "My Judge"}, "cannot name"),
    ],
)
def test_settings_that_fit_no_judge_are_refused(more: dict[str, Any], words: str) -> None:
    fitting: dict[str, Any] = {"name": "x", "labels": ["a", "b"], "positive": [], "unit": ""}
    with pytest.raises(UsageError, match=words):
        judge_source(
            source="p", prompt=IncomingPrompt(instruction="Judge `x`.", inputs=("x",)), **{**fitting, **more}
        )


PIECES = ['"', '"""', "\\", "\n", "\r", "  ", "x", "{y}", "中", "'", "\t"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_the_file_gives_the_instruction_back(text: str) -> None:
    prompt = IncomingPrompt(instruction=f"Start {text}".strip(), inputs=("x",))
    made: dict[str, Any] = {"__name__": "made"}
    source = judge_source("some-judge", "p.md", prompt, ["a", "b"], [])
    exec(compile(source, "made.py", "exec", dont_inherit=True), made)  # noqa: S102
    plain = prompt.instruction.replace("\r\n", "\n").replace("\r", "\n")
    lines = plain.expandtabs().split("\n")
    wanted = "\n".join(line if line.strip() else "" for line in lines)
    assert made["SomeJudge"].instructions == normalise_instruction(wanted)
    assert made["judge"].answer.positive == {"b"}


def test_from_a_prompt_to_a_compiled_judge_and_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.md").write_text(TEXT, "utf-8")
    assert cli("new", "polite-reply", "--from", "p.md", "--labels", "yes,no").code == 0
    rows = [
        {
            "group": f"g{place}",
            "message": f"m{place}",
            "reply": f"Thanks {place}" if place % 2 else f"Go {place}",
            "label": "yes" if place % 2 else "no",
        }
        for place in range(24)
    ]
    write_jsonl(Path("gold.jsonl"), rows)
    fast = ("--optimizer", "fewshot", "--set", "sizes=1", "--set", "sets=1", "--force")
    assert cli("compile", "polite_reply.py:judge", "--gold", "gold.jsonl", *fast).code == 0
    assert cli("compare", "polite-reply", "polite-reply:basic", "--gold", "gold.jsonl").code == 0
    out = cli("export", "polite-reply", "--to", "langchain").out
    assert "Is the reply polite?" in out
    again = cli("new", "polite-reply", "--from", "p.md", "--labels", "yes,no")
    assert again.code in (1, 2)
    assert "exists" in again.err
