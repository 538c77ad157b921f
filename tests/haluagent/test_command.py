"""``jurist generate haluagent`` and ``jurist assess``: the chain offline, stopped and continued, in both languages."""

import json
from pathlib import Path

import pytest
from small import FAST, cli, ok, read_jsonl, write_jsonl

import jurist
from jurist.gold.goldset import Gold
from jurist.papers.haluagent.items import read_items
from jurist.programs.haluagent.judges import VERIFIERS
from jurist.signatures.haluagent_labels import TYPES

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
        ((TEXT, "Привет."), 0, "11 of 12 questions gave no item"),
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
    done = ok(*MAKE, "bench", "--json")
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
    silent = [row for row in rejected if "hallucinated_answer" not in row]
    assert card["acceptance"]["overall"]["of"] == data["kept"] + data["rejected"] - len(silent)
    assert (data["documents"], data["cases"]) == (6, 36)
    yields = card["yield_by_type"]
    assert {kind: counts["questions"] for kind, counts in yields.items()} == dict.fromkeys(TYPES, 6)
    assert sum(counts["items"] for counts in yields.values()) == card["acceptance"]["overall"]["of"]
    assert sum(counts["kept"] for counts in yields.values()) == data["kept"]
    assert yields["spatiotemporal"]["kept"] == yields["spatiotemporal"]["as_asked"] == data["kept"]
    assert yields["entity"]["items"] == 0  # the offline engine asks for years and numbers
    failing = [row for row in rejected if any("hallucination:" in reason for reason in row["reasons"])]
    passing = sum(counts["hallucination"] for counts in yields.values())
    assert passing == card["acceptance"]["overall"]["of"] - len(failing)
    assert card["acceptance"]["form"]["value"] == pytest.approx(data["check_rates"]["form"])
    assert card["statistics"] == data["statistics"]
    for judge in VERIFIERS:  # what people label to see how far verification can be trusted (Table 2)
        assert len(Gold.load("bench/verified.jsonl", judge, labelled=False).cases)
    done = ok("assess", "offline", "--benchmark", "bench/benchmark.jsonl", "--json")
    of_folder = jurist.assess("offline", "bench")  # beside it are files of other rows, and an empty one
    assert of_folder.answers == jurist.assess("offline", "bench/benchmark.jsonl").answers
    (model,) = done.json["models"]
    assert model["items"] == len(items)
    assert set(model["formats"]) <= {"generative", "single-choice", "true-false"}


def test_a_chinese_document_goes_through_the_whole_chain():
    documents(4, CHINESE)
    done = ok(*MAKE, "bench", "--generator", "haluagent-zh:basic", "--json")
    assert done.json["statistics"]["languages"] in ({"zh": n} for n in range(1, 5))
    done = ok("assess", "offline", "--benchmark", "bench/benchmark.jsonl")
    assert "hallucination rates" in done.out


def test_models_are_assessed_by_a_version_that_words_decide(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = []
    for number in range(120):
        tone = "Sadly" if number % 2 else "Gladly"
        rows.append(
            {
                "question": f"Who built mill {number}?",
                "correct_answer": f"Builder {number}.",
                "response": f"{tone}, it was builder {number * 7 % 120}.",
                "conflict": bool(number % 2),
                "group": f"g{number}",
            }
        )
    write_jsonl(Path("gold.jsonl"), rows)
    ok("compile", "qa-conflict", "--gold", "gold.jsonl", *FAST)
    assert jurist.Store().load("qa-conflict@1").word_rule is not None
    item = {"id": "1", "format": "generative", "type": "entity", "question": "Who?", "correct_answer": "Ada."}
    write_jsonl(Path("items.jsonl"), [item])
    argv = (
        "assess",
        "offline",
        "--benchmark",
        "items.jsonl",
        "--judge",
        "qa-conflict@1",
        "--max-unusable",
        1,
    )
    assert "judge: qa-conflict@1" in ok(*argv).out
    refused = cli(*argv, "--samples", 3)
    assert refused.code == 2
    assert "decided by words too" in refused.err
