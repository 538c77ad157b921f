"""Compiled verifiers: their prompts verify what the generator writes, and the version remembers them."""

import json
import shutil
from pathlib import Path

import pytest
from fakes import reply
from loopback import field_of
from small import cli, ok, read_jsonl

from jurist.keeping.artifacts import Store

STRICT = "Say no to every relation."
NAMES = ("Adolphe Sax", "Clara Schumann", "Ada Lovelace")


def simulated(messages):
    """Write three items a document; verify types as the instruction of the verifier says; propose that instruction."""
    system, text = str(messages[0]["content"]), str(messages[-1]["content"])
    if "`fits`" in system:
        is_relation = field_of(text, "type") == "relation"
        fits = "no" if is_relation and STRICT in system else "yes"
        return reply("chat", reason="by type", fits=fits)
    if "`hallucinated`" in system:
        return reply("chat", reason="another", hallucinated="yes")
    if "`correct`" in system:
        return reply("chat", reason="it stands there", correct="yes")
    if "`types`" in system:
        return reply("chat", types=["relation", "entity", "entity"])
    if "`hallucinated_answers`" in system:
        return reply("chat", hallucinated_answers=list(NAMES))
    if "`question`" in system:
        return reply(
            "chat", question="Who was it?", correct_answer="Paul Klee", passage=field_of(text, "knowledge")
        )
    return reply("chat", instruction=f"{STRICT} {field_of(text, 'current_instruction')}")


@pytest.fixture
def ends(serve, fake_key):
    """Keep a version of ``label-check``, and return the options that name the model."""
    rows = [
        {"id": f"d{n}", "text": f"Paul Klee came to the town of {n} Mills. It is old."} for n in range(16)
    ]
    Path("docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = ("--model", "openai/x", "--api-base", serve(simulated).url, "--yes")
    Path("strict.txt").write_text(STRICT)
    ok("artifacts", "add", "label-check", "--instruction", "strict.txt")
    return asked


def passed(folder):
    """Return the types of the items that passed."""
    return {row["type"] for row in read_jsonl(Path(folder) / "verified.jsonl")}


def test_a_compiled_verifier_stands_in_generate_compile_and_export(ends):
    make = ("generate", "haluagent", "--input", "docs.jsonl", "--types", "entity", "--generator")
    ok(*make, "haluagent:basic", "--output", "basic", *ends)
    ok(*make, "haluagent:basic", "--output", "strict", "--verifier", "label-check@1", *ends)
    assert (passed("basic"), passed("strict")) == ({"relation", "entity"}, {"entity"})
    assert json.loads(Path("strict/CARD.json").read_text())["made"]["verifiers"] == ["label-check@1"]
    few = ("--set", "rewrites=1", "--set", "steps=1", "--force", "--anyway", "--types", "entity")
    compile_command = ("compile", "haluagent", "--gold", "docs.jsonl", "--optimizer", "cfaith", *few, *ends)
    made = ok(*compile_command, "--verifier", "label-check@1", "--json")
    version = Store("compiled").load("label-check@1")
    assert made.json["verifiers"] == {"label-check@1": version.sha256}
    assert made.json["frozen"] != ok(*compile_command, "--json").json["frozen"]
    ok(*make, "haluagent@1", "--output", "version", *ends)  # its verifiers go with it
    assert passed("version") == {"entity"}
    assert "It is from label-check@1." in ok("export", "haluagent@1", "--to", "markdown").out
    copied = ok("artifacts", "copy", "haluagent@1", "--to", "other", "--json")
    assert copied.json["copied"] == ["label-check@1", "haluagent@1"]
    ok(*make, "haluagent@1", "--output", "copy", "--store", "other", *ends)
    assert passed("copy") == {"entity"}
    other = cli(*make, "haluagent@2", "--output", "no", "--verifier", "label-check@1", *ends)
    assert (other.code, other.err.count("\n")) == (1, 1)
    assert "haluagent@2 was compiled with its own verifiers, not with label-check@1" in other.err
    shutil.rmtree("compiled/label-check")
    for command in (
        (*make, "haluagent@1", "--output", "no", *ends),
        ("export", "haluagent@1", "--to", "markdown"),
    ):
        gone = cli(*command)
        assert (gone.code, gone.err.count("\n")) == (1, 1)
        assert "haluagent@1 is verified by label-check@1, which cannot be used" in gone.err


def test_an_export_of_a_generator_holds_the_prompts_of_its_verifiers(ends):
    verified = ("--verifier", "label-check@1")
    export = ("export", "haluagent:basic", *verified, "--to")
    page = ok(*export, "markdown").out
    assert "It is from label-check@1.\n" in page
    assert page.count(STRICT) == 1
    assert "It is from the basic prompt of answer-check." in page
    assert "- verified_by: `label-check@1`" in page
    for words, command in (
        ("haluagent goes on by jurist's own code", (*export, "python")),
        ("no step that a compiled judge can verify", ("export", "fect", *verified, "--to", "python")),
        (
            "label-check@1 has its prompt in the language en, and haluagent is asked in zh",
            (*export, "markdown", "--language", "zh"),
        ),
    ):
        refused = cli(*command)
        assert (refused.code in (1, 2), refused.err.count("\n")) == (True, 1)
        assert words in refused.err


def test_an_export_in_chinese_says_in_which_words_a_type_is_given():
    export = ("export", "label-check:basic", "--to", "messages", "--language")
    assert "give type as one of 虚构事实, 属性错误, " in ok(*export, "zh").err
    assert "give type" not in ok(*export, "en").err


def test_a_verifier_has_the_language_of_the_generator(ends):
    rows = [{"id": f"d{n}", "text": f"古琴有七根弦，第{n}根最长。"} for n in range(3)]
    Path("zh.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    make = ("generate", "haluagent", "--input", "zh.jsonl", "--output", "zh", *ends)
    refused = cli(*make, "--verifier", "label-check@1")
    assert "label-check@1 has its prompt in the language en, and haluagent is asked in zh" in refused.err


@pytest.mark.parametrize(
    ("verifier", "words"),
    [
        ("label-check", "names no version"),
        ("label-check@9", "there is no label-check@9"),
        ("qa-conflict@1", "haluagent has no step that qa-conflict verifies"),
    ],
)
def test_a_verifier_that_cannot_stand_there_is_refused_in_one_line(ends, verifier, words):
    done = cli(
        "generate", "haluagent", "--input", "docs.jsonl", "--output", "no", "--verifier", verifier, *ends
    )
    assert (done.code in (1, 2), done.err.count("\n")) == (True, 1)
    assert words in done.err
    assert not Path("no").exists()


def test_a_version_that_more_than_a_prompt_decides_is_no_verifier(ends):
    few = ("--set", "rewrites=1", "--set", "steps=1", "--no-words", "--samples", "3", "--force", "--anyway")
    ok("compile", "label-check", "--optimizer", "cfaith", *few, "--max-calls", "4000", *ends)
    done = cli(
        "generate",
        "haluagent",
        "--input",
        "docs.jsonl",
        "--output",
        "no",
        "--verifier",
        "label-check@2",
        *ends,
    )
    assert "label-check@2 is decided by 3 samples" in done.err
    done = cli(
        "generate",
        "dialogue",
        "--input",
        "docs.jsonl",
        "--output",
        "no",
        "--verifier",
        "label-check@1",
        *ends,
    )
    assert "dialogue has no step that a compiled judge can verify" in done.err
