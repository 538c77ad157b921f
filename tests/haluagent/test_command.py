"""``jurist generate haluagent`` and ``jurist assess``: the chain offline, stopped and continued, in both languages."""

import json
import re
import runpy
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from judges import save
from pages import ROOT
from small import cli, ok, read_jsonl, write_jsonl

from jurist.keeping.artifacts import Store
from jurist.papers.haluagent.items import read_items
from jurist.programs.frozen import VerifierPrompt, frozen_predictors
from jurist.programs.haluagent.judges import ANSWER_CHECK
from jurist.programs.haluagent.writing import HALUAGENT_ZH

MAKE = ("generate", "haluagent", "--input", "docs.jsonl", "--output")


# The offline verifier takes a wrong year that another sentence of the document holds for one that is right.
MIXED = (
    "The school of Dinant opened in 1873. Other schools opened in 1850, in 1856, in 1861, in 1864, in 1867, in 1877, "
    "in 1880, in 1884 and in 1889."
)
TEXT = (
    "The saxophone was invented by Adolphe Sax. He was born in Dinant in 1814. The body is made of brass. "
    "The tenor saxophone is longer than the alto saxophone. Sax died in Paris on 7 February 1894."
)
CHINESE = "长江比黄河长。大坝由混凝土筑成。武汉长江大桥于1957年10月15日通车。李白著有《早发白帝城》。孔庙位于东城区。"


def documents(count=4, text=TEXT, mixed=0):
    texts = [text] * count + [MIXED] * mixed
    rows = [
        {"id": f"d{n}", "topic": "music", "title": f"Sax {n}", "text": f"{one} Nr {n}."}
        for n, one in enumerate(texts)
    ]
    write_jsonl(Path("docs.jsonl"), rows)


@pytest.mark.parametrize(
    ("texts", "code", "words"),
    [
        (("!!! ??? ... ---", "。。。！"), 1, "none of the 2 documents has words to write from"),
        (("Привет.", "x" * 5000), 3, "bench holds no item: nothing that was written passed"),
        ((TEXT, "Привет."), 0, "1 of 2 texts gave no item"),
    ],
)
def test_documents_that_nothing_can_be_written_from_are_said(texts, code, words):
    write_jsonl(Path("docs.jsonl"), [{"text": text} for text in texts])
    done = cli(*MAKE, "bench", "--generator", "haluagent:basic")
    assert done.code == code, done.err
    assert words in done.out + done.err
    assert "label" not in done.err


def test_what_is_made_adds_up_and_is_assessed():
    documents(mixed=2)
    done = ok(*MAKE, "bench", "--json", "--sample", "3")
    data = done.json
    items = read_items("bench/benchmark.jsonl")
    assert data["statistics"]["items"] == len(items) == sum(data["statistics"]["formats"].values())
    verified, rejected = (read_jsonl(Path(f"bench/verified{name}.jsonl")) for name in ("", ".rejects"))
    assert data["kept"] == len(verified)
    assert data["rejected"] == len(rejected)
    assert all(row["reasons"] for row in rejected)
    assert {item.topic for item in items} == {"music"}
    card = json.loads(Path("bench/CARD.json").read_text())
    assert card["acceptance"]["overall"]["count"] == data["kept"]
    assert card["acceptance"]["overall"]["of"] == data["kept"] + data["rejected"]
    assert card["acceptance"]["form"]["value"] == pytest.approx(data["check_rates"]["form"])
    assert card["statistics"] == data["statistics"]
    sheet = read_jsonl(Path("bench/check/answer-check.jsonl"))
    assert {row["id"] for row in sheet} == set(json.loads(Path("bench/check/passed.json").read_text()))
    assert all(row["knowledge"] and "correct" not in row for row in sheet)
    done = ok("assess", "offline", "--benchmark", "bench/benchmark.jsonl", "--json")
    (model,) = done.json["models"]
    assert model["items"] == len(items)
    assert set(model["formats"]) <= {"generative", "single-choice", "true-false"}


def test_a_chinese_document_goes_through_the_whole_chain():
    documents(4, CHINESE)
    done = ok(*MAKE, "bench", "--generator", "haluagent-zh:basic", "--json")
    assert done.json["statistics"]["languages"] in ({"zh": n} for n in range(1, 5))
    done = ok("assess", "offline", "--benchmark", "bench/benchmark.jsonl")
    assert "hallucination rates" in done.out


def test_what_people_say_is_held_against_what_verification_says(capsys):
    documents(6, mixed=6)
    ok(*MAKE, "bench", "--sample", "4")
    passed = json.loads(Path("bench/check/passed.json").read_text())
    Path("people").mkdir()
    fields = {"answer-check": "correct", "hallucination-check": "hallucinated", "label-check": "fits"}
    for judge, field in fields.items():
        rows = read_jsonl(Path(f"bench/check/{judge}.jsonl"))
        for row in rows:
            row[field] = "yes" if judge != "label-check" or passed[row["id"]] else "no"
            row["ratings"] = {"ann": row[field], "bea": row[field], "cid": "yes"}
        write_jsonl(Path(f"people/{judge}.jsonl"), rows)
    page = (ROOT / "docs" / "haluagent.md").read_text(encoding="utf-8")
    recipe = next(block for block in re.findall(r"```python\n(.*?)```", page, re.S) if "accepted" in block)
    Path("recipe.py").write_text(recipe)
    capsys.readouterr()
    runpy.run_path("recipe.py")
    accepted = json.loads(Path("bench/CARD.json").read_text())["acceptance"]["overall"]["value"]
    assert capsys.readouterr().out == f"with verification 100.0%, without {accepted:.1%}\n"
    parts = [read_jsonl(Path(f"people/label-check-{kind}.jsonl")) for kind in ("passed", "rejected")]
    assert [{row["fits"] for row in part} for part in parts] == [{"yes"}, {"no"}]
    ok("gold", "agreement", "label-check", "people/label-check-rejected.jsonl")


def test_verifiers_take_the_prompts_of_compiled_judges():
    documents(5)
    kept = save(Store("compiled"), ANSWER_CHECK)
    done = ok(*MAKE, "bench", "--verifier", "answer-check@1", "--json")
    found = done.json
    assert found["verifiers"] == ["answer-check@1"]
    assert cli(*MAKE, "bench", "--resume").err.count("another job") == 1
    prompt = VerifierPrompt.of("answer-check@1", kept.program(ANSWER_CHECK))
    program = replace(HALUAGENT_ZH, verifiers=(prompt,)).basic()
    said = [one.signature.instructions for one in frozen_predictors(program)]
    assert said.count(prompt.prompt.instructions) == 1
    few = "--set rewrites=1 --set steps=1 --max-calls 2000 --force --anyway --split 40/20/40"
    given = shlex.split(f"compile haluagent --gold docs.jsonl --optimizer cfaith {few}")
    for seed in range(20):
        done = cli(*given, "--verifier", "answer-check@1", "--seed", seed, "--json")
        if done.code == 0 or "comes out empty" not in done.err:
            break
    assert done.code == 0, done.err
    assert [one["name"] for one in done.json["verifiers"]] == ["answer-check@1"]
    done = ok(*MAKE, "again", "--generator", "haluagent@1", "--json")
    assert done.json["verifiers"] == ["answer-check@1"]
    done = cli(*MAKE, "more", "--generator", "haluagent@1", "--verifier", "answer-check@1")
    assert (done.code, "keeps the verifiers" in done.err) == (2, True)
    done = cli(*MAKE, "more", "--generator", "haluagent:basic", "--verifier", "qa-conflict:basic")
    assert (done.code, "asks what qa-conflict" in done.err) == (1, True)


def test_a_document_that_is_there_twice_is_written_from_once():
    documents(1)
    row = json.loads(Path("docs.jsonl").read_text())
    again = {**row, "id": "copy", "text": row["text"].replace("was invented", "was  invented").upper()}
    write_jsonl(Path("docs.jsonl"), [row, again])
    done = ok(*MAKE, "bench", "--json")
    assert "near-duplicates" in done.err
    found = done.json
    assert (found["passages"], found["duplicate_passages"]) == (1, 1)
