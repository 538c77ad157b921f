"""A user's prompt as it stands: what is sent is the text with the values in it, and the reply's words say the label."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import dspy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import Loopback
from small import cli, ok, read_jsonl, write_jsonl

import jurist
from jurist.errors import JudgeError, UsageError
from jurist.programs.definition import read_definition, write_definition
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge
from jurist.programs.state import PromptState
from jurist.text.templates import Template, normalise_instruction

Serve = Callable[..., Loopback]


class Reply(dspy.Signature):
    message: str = dspy.InputField()
    reply: str = dspy.InputField()
    label: Literal["yes", "no"] = dspy.OutputField()


class Graded(dspy.Signature):
    message: str = dspy.InputField()
    reply: str = dspy.InputField()
    score: int = dspy.OutputField(ge=1, le=5)


class Shared(dspy.Signature):
    message: str = dspy.InputField()
    reply: str = dspy.InputField()
    score: float = dspy.OutputField(ge=0.0, le=1.0)


class Truth(dspy.Signature):
    message: str = dspy.InputField()
    reply: str = dspy.InputField()
    polite: bool = dspy.OutputField()


class Better(dspy.Signature):
    message: str = dspy.InputField()
    reply: str = dspy.InputField()
    better: Literal["first", "second", "tie"] = dspy.OutputField()


TEXT = "Is the reply polite?\n\nMessage: {{message}}\nReply: {{ reply }}\n"
MESSAGE, REPLY = "Hello {{reply}} {message}", 'A "B"\n\n{{message}} \\1 <x>'
FILLED = f"Is the reply polite?\n\nMessage: {MESSAGE}\nReply: {REPLY}\n"


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def system(text: str) -> dict[str, str]:
    return {"role": "system", "content": text}


def said(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


SENT: dict[str, tuple[Any, list[dict[str, str]]]] = {
    "text": (TEXT, [user(FILLED)]),
    "spaces": (f"\n\t  {TEXT}  \n\n", [user(f"\n\t  {FILLED}  \n\n")]),
    "single braces": (
        'Judge {reply} on {message}: {"label": "yes"}',
        [user(f'Judge {REPLY} on {MESSAGE}: {{"label": "yes"}}')],
    ),
    "a variable twice": (
        "{{reply}}\n---\n{{message}}\n---\n{{reply}}",
        [user(f"{REPLY}\n---\n{MESSAGE}\n---\n{REPLY}")],
    ),
    "dotted": ("{{ inputs.message }} / {{inputs.reply}}", [user(f"{MESSAGE} / {REPLY}")]),
    "messages": ([system("Be fair.\n"), user(TEXT)], [system("Be fair.\n"), user(FILLED)]),
    "variables in two messages": (
        [system("Context: {{message}}"), user("{{reply}}")],
        [system(f"Context: {MESSAGE}"), user(REPLY)],
    ),
    "an example in the prompt": (
        [system("Be fair."), user("Thanks!"), said("yes"), user("{{message}} {{reply}}")],
        [system("Be fair."), user("Thanks!"), said("yes"), user(f"{MESSAGE} {REPLY}")],
    ),
}


def judge_of(prompt: Any = TEXT, signature: Any = Reply, **settings: Any) -> Judge:
    if signature is Reply:
        settings = {"positive": "no", **settings}
    return Judge(name="polite-reply", signature=signature, prompt=prompt, **settings)


@pytest.mark.parametrize("form", sorted(SENT))
def test_the_prompt_is_sent_with_the_values_and_nothing_else(form: str, serve: Serve, fake_key: str) -> None:
    prompt, wanted = SENT[form]
    server = serve(lambda messages: "no")
    loaded = jurist.load(judge_of(prompt), model=jurist.Model(name="openai/m", api_base=server.url))
    verdict = loaded(message=MESSAGE, reply=REPLY)
    assert server.hits[0].body["messages"] == wanted
    assert (verdict.label, loaded.adapter) == ("no", "plain")


HOSTILE = (
    "{{message}}",
    "{{reply}}",
    "{message}",
    "{% x %}",
    "[[ ## label ## ]]",
    "<<CUSTOM-TYPE",
    "\\g<0>",
    "\r\n",
)
VALUES = st.text(st.characters(codec="utf-8"), max_size=40) | st.sampled_from(HOSTILE)
AROUND = st.text(st.characters(codec="utf-8", exclude_characters="{}"), max_size=20)


@settings(max_examples=100)
@given(VALUES, VALUES, AROUND, AROUND, AROUND)
def test_values_come_out_once_and_as_they_are(
    message: str, reply: str, before: str, between: str, after: str
) -> None:
    judge = judge_of(f"{before}{{{{message}}}}{between}{{{{ reply }}}}{after}")
    sent = judge.adapter("plain").format(judge.signature, [], {"message": message, "reply": reply})
    assert sent == [user(f"{before}{message}{between}{reply}{after}")]


@given(
    st.lists(
        st.sampled_from(
            ["{{message}}", "{{reply}}", " ", "\n", "\t", "  x", "user:\n", "system:", '"""', "\\", "中"]
        ),
        max_size=12,
    ).map("".join)
)
def test_what_nobody_rewrote_is_the_prompt_again(text: str) -> None:
    judge = judge_of(f"{text}{{{{message}}}}{{{{reply}}}}")
    template = judge.template
    assert template is not None
    (predictor,) = PromptState.of(judge.basic()).predictors.values()
    assert template.revised(predictor.instructions) is template
    assert normalise_instruction(template.instruction) == template.instruction
    again = read_definition(json.loads(json.dumps(write_definition(judge))))
    assert (again.prompt, again.template) == (judge.prompt, template)


def test_a_lost_variable_that_is_named_as_a_role_begins_no_message() -> None:
    template = Template.of([system("S"), user("{{user}}")])
    revised = template.revised("New.\n\nuser:\nGo on.")
    assert revised.messages == (("system", "New."), ("user", "Go on.\n\nuser:\n{{user}}"))


REWRITTEN: dict[str, tuple[Any, str, list[dict[str, str]]]] = {
    "a text": (TEXT, "Say yes or no: {{message}} / {{reply}}", [user("Say yes or no: m / r")]),
    "a lost variable": (TEXT, "Is {{reply}} polite?", [user("Is r polite?\n\nmessage:\nm")]),
    "a variable of nobody": (TEXT, "{{message}} {{reply}} {{tone}}", [user("m r {{tone}}")]),
    "single braces": ("{message}{reply}", "J {{message}} {{reply}} {x}", [user("J m r {x}")]),
    "messages with their roles": (
        [system("S"), user(TEXT)],
        "New.\n\nuser:\n{{message}}|{{reply}}",
        [system("New."), user("m|r")],
    ),
    "messages without roles": (
        [system("S"), user(TEXT)],
        "Is {{reply}} polite to {{message}}?",
        [user("Is r polite to m?")],
    ),
}


@pytest.mark.parametrize("case", sorted(REWRITTEN))
def test_a_rewritten_prompt_is_sent_with_the_values_in_it(case: str) -> None:
    prompt, instruction, wanted = REWRITTEN[case]
    judge = judge_of(prompt)
    signature = judge.signature.with_instructions(instruction)
    assert judge.adapter("plain").format(signature, [], {"message": "m", "reply": "r"}) == wanted


def test_demonstrations_are_turns_before_the_row() -> None:
    judge = judge_of([system("Be fair."), user("{{message}}|{{reply}}")])
    demos = [{"message": "a", "reply": "b", "label": "yes"}, {"message": "c"}, {"reply": "d", "label": "no"}]
    sent = judge.adapter("plain").format(judge.signature, demos, {"message": "m", "reply": "r"})
    assert sent == [
        *(system("Be fair."), user("a|b"), said("yes"), user("(not given)|d"), said("no")),
        user("m|r"),
    ]


READ: dict[str, tuple[Judge, str, Any]] = {
    "label": (judge_of(), "no", "no"),
    "decorated": (judge_of(), "**No.**", "no"),
    "after a lead": (judge_of(), "It is rude.\nVerdict: no", "no"),
    "an object": (judge_of(), '{"reason": "rude", "verdict": "no"}', "no"),
    "a word of the files": (judge_of(values={"rude": "no", "fine": "yes"}), "Rude", "no"),
    "two labels": (judge_of(), "yes\nno", None),
    "negated": (judge_of(), "not no", None),
    "nothing": (judge_of(), "I cannot say.", None),
    "bool": (judge_of(signature=Truth, positive="false"), "True", "true"),
    "bool in other words": (
        judge_of(signature=Truth, positive="false", values={"polite": "true", "rude": "false"}),
        "rude",
        "false",
    ),
    "score": (judge_of(signature=Graded), "Score: 4", 4),
    "score out of range": (judge_of(signature=Graded), "6", None),
    "part": (judge_of(signature=Shared), "0.75", 0.75),
    "part after a lead": (judge_of(signature=Shared), "Score: 0.75", 0.75),
    "part out of range": (judge_of(signature=Shared), "1.5", None),
}


@pytest.mark.parametrize("case", sorted(READ))
def test_the_words_of_the_reply_say_the_answer(case: str, serve: Serve, fake_key: str) -> None:
    judge, reply, wanted = READ[case]
    server = serve(lambda messages: reply)
    loaded = jurist.load(judge, model=jurist.Model(name="openai/m", api_base=server.url))
    verdict = loaded(message="m", reply="r")
    assert (verdict.value, verdict.status) == (wanted, "abstained" if wanted is None else "verdict")


def test_a_reply_that_was_cut_off_says_nothing(serve: Serve, fake_key: str) -> None:
    server = serve(lambda messages: "no", ended="length")
    loaded = jurist.load(judge_of(), model=jurist.Model(name="openai/m", api_base=server.url, max_tokens=1))
    verdict = loaded(message="m", reply="r")
    assert (verdict.status, "raise --max-tokens" in verdict.error) == ("abstained", True)


@pytest.mark.parametrize(("first", "second", "better"), [("A", "B", "first"), ("reply", "message", "second")])
def test_a_pair_is_asked_in_both_orders_and_read_by_its_places(
    first: str, second: str, better: str, serve: Serve, fake_key: str
) -> None:
    pair = jurist.Preference(first="message", second="reply")
    judge = judge_of("A: {{message}}\nB: {{reply}}", Better, answer=pair)
    server = serve(lambda messages: first if "A: m" in messages[-1]["content"] else second)
    loaded = jurist.load(judge, model=jurist.Model(name="openai/m", api_base=server.url))
    assert loaded(message="m", reply="r").value == better
    assert [hit.body["messages"][0]["content"] for hit in server.hits] == ["A: m\nB: r", "A: r\nB: m"]


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "an input that is not in the prompt": (lambda: judge_of("{{reply}}"), JudgeError, "same names: message"),
    "a variable that is no input": (lambda: judge_of(TEXT + "{{tone}}"), JudgeError, "same names: tone"),
    "logic": (lambda: judge_of(TEXT + "{% if x %}"), JudgeError, "more than variables"),
    "no prompt": (lambda: judge_of([{"role": "user"}]), JudgeError, "neither text nor messages"),
    "a program": (lambda: judge_of(program=dspy.ChainOfThought(Reply)), JudgeError, "asks once"),
    "two prompts": (
        lambda: judge_of(signature=Reply.with_instructions("Judge it."), positive="no"),
        JudgeError,
        "two prompts",
    ),
    "a judge without one": (lambda: jurist.load(FECT, adapter="plain"), UsageError, "no prompt of a user"),
    "a form that is none": (lambda: jurist.load(FECT, adapter="xml"), UsageError, "no adapter is called"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_what_cannot_be_sent_as_it_stands_is_refused_in_one_line(case: str) -> None:
    make, kind, words = REFUSED[case]
    with pytest.raises(kind, match=words):
        make()


def made() -> tuple[Path, Path]:
    """Make a judge of a prompt, as a user does, and gold for it; return both files."""
    Path("prompt.md").write_text(TEXT, "utf-8")
    rows = []
    for group in range(16):
        for number in range(3):
            rude = (group + number) % 2 == 1
            reply = f"{'Go away' if rude else 'Thank you'}, {group}.{number}"
            rows.append(
                {"group": f"g{group}", "message": "Hi", "reply": reply, "label": "no" if rude else "yes"}
            )
    gold = write_jsonl(Path("gold.jsonl"), rows)
    ok("new", "polite-reply", "--from", "prompt.md", "--gold", gold, "--positive", "no", "--labels", "yes,no")
    return Path("polite_reply.py"), gold


def polite_model(messages: list[dict[str, Any]]) -> str:
    """Answer everything yes in the prompt of the user, and rightly in DSPy's layout."""
    if "[[ ## label ## ]]" not in str(messages[-1]["content"]):
        return "Yes."
    rude = "Go away" in str(messages[-1]["content"]).partition("[[ ## reply ## ]]")[2]
    return f"[[ ## label ## ]]\n{'no' if rude else 'yes'}\n\n[[ ## completed ## ]]"


def test_from_a_prompt_to_its_compiled_form_and_back(serve: Serve, no_waiting: None) -> None:
    file, gold = made()
    server = serve(polite_model)
    named = ("--model", "openai/m", "--api-base", server.url, "--yes")
    found = ok("evaluate", f"{file}:judge:basic", "--gold", gold, "--json", *named)
    wanted = [
        user(TEXT.replace("{{message}}", row["message"]).replace("{{ reply }}", row["reply"]))
        for row in read_jsonl(gold)
    ]
    sent = [hit.body["messages"] for hit in server.hits]
    assert sorted(map(str, sent)) == sorted(str([one]) for one in wanted)
    assert found.json["counts"]["units"]["answered"] == 48

    small = ("--set", "steps=1", "--set", "arm=layout", "--set", "patience=1")
    done = ok("compile", f"{file}:judge", "--gold", gold, *small, *named)
    assert "prompt: your text as it stands -> chat layout" in done.out
    card = json.loads(Path("compiled/polite-reply/1/card.json").read_text())
    assert (card["adapter"], card["job"]["adapter"], card["decision"]["verdict"]) == (
        "chat",
        "plain",
        "better",
    )
    diff = ok("artifacts", "diff", "polite-reply:basic", "polite-reply@1")
    assert "## form: your text as it stands -> chat layout" in diff.out
    assert "chat" in ok("export", "polite-reply@1", "--to", "markdown").out

    server.hits.clear()
    rows = write_jsonl(Path("rows.jsonl"), [{"message": "Hi", "reply": "Go away {{message}}"}])
    ok("run", "polite-reply:basic", "--input", rows, "--output", "basic.jsonl", *named)
    ok("run", "polite-reply@1", "--input", rows, "--output", "one.jsonl", *named)
    first, second = (hit.body["messages"] for hit in server.hits)
    assert first == [user(TEXT.replace("{{message}}", "Hi").replace("{{ reply }}", "Go away {{message}}"))]
    assert "Message: `message`\n" in second[0]["content"]
    assert [read_jsonl(Path(name))[0]["label"] for name in ("basic.jsonl", "one.jsonl")] == ["yes", "no"]

    exported = json.loads(ok("export", f"{file}:judge:basic", "--to", "messages").out)
    assert exported["messages"] == [user(TEXT.replace("{{ reply }}", "{{reply}}"))]


def test_a_version_keeps_the_prompt_that_its_file_had(serve: Serve, no_waiting: None) -> None:
    file, gold = made()
    server = serve(lambda messages: "no" if "Go away" in str(messages[-1]["content"]) else "yes")
    named = ("--model", "openai/m", "--api-base", server.url, "--yes")
    ok("compile", f"{file}:judge", "--gold", gold, "--optimizer", "threshold", "--force", *named)
    file.write_text(file.read_text("utf-8").replace("Is the reply polite?", "Is it kind?"), "utf-8")
    server.hits.clear()
    rows = write_jsonl(Path("rows.jsonl"), [{"message": "Hi", "reply": "Go away"}])
    for number, judge in enumerate((f"{file}:judge", f"{file}:judge@1", "polite-reply@1")):
        cli(
            "run",
            f"{judge}:basic" if number == 0 else judge,
            "--input",
            rows,
            "--output",
            f"{number}.jsonl",
            *named,
        )
    begins = [hit.body["messages"][0]["content"].partition("\n")[0] for hit in server.hits]
    assert begins == ["Is it kind?", "Is the reply polite?", "Is the reply polite?"]
