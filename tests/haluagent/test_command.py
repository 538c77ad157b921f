"""``jurist generate haluagent`` and ``jurist assess``: the chain offline, stopped and continued, in both languages."""

import json
from pathlib import Path

import pytest
from fakes import Scripted, lm_of, reply, user_of
from small import cli, read_jsonl

from jurist.papers.haluagent.items import Choice, read_items


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JURIST_STORE", raising=False)


def run(*argv):
    done = cli(*argv)
    return done.code, done.out, done.err


def make(output, *more):
    return run("generate", "haluagent", "--input", "docs.jsonl", "--output", output, *more)


TEXT = (
    "The saxophone was invented by Adolphe Sax. He was born in Dinant in 1814. The body is made of brass. "
    "The tenor saxophone is longer than the alto saxophone. Sax died in Paris on 7 February 1894."
)
CHINESE = "长江比黄河长。大坝由混凝土筑成。武汉长江大桥于1957年10月15日通车。李白著有《早发白帝城》。孔庙位于东城区。"


def documents(count=4, text=TEXT):
    rows = [
        {"id": f"d{n}", "topic": "music", "title": f"Sax {n}", "text": f"{text} Nr {n}."}
        for n in range(count)
    ]
    Path("docs.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(Path(folder).rglob("*.*"))}


def test_a_run_that_is_stopped_goes_on_and_ends_in_the_same_files():
    documents()
    code, _, err = make("whole", "--sample", "2")
    assert code == 0, err
    code, _, err = make("parts", "--sample", "2", "--max-calls", "25")
    assert code == 1
    assert "--resume" in err
    code, out, err = make("parts", "--sample", "2", "--max-calls", "40", "--resume", "--json")
    assert code == 0, err
    spend = json.loads(out)["spend"]["total"]
    assert spend["replayed"] >= 20
    assert spend["calls"] + spend["replayed"] <= 40
    assert files("whole") == files("parts")
    code, _, err = make("parts")
    assert code == 2
    assert "exists" in err


def test_what_is_made_adds_up_and_is_assessed():
    documents()
    code, out, _ = make("bench", "--json", "--sample", "3")
    assert code == 0
    data = json.loads(out)
    items = read_items("bench/benchmark.jsonl")
    assert data["statistics"]["items"] == len(items) == sum(data["statistics"]["formats"].values())
    verified, rejected = (
        read_jsonl(Path("bench/verified.jsonl")),
        read_jsonl(Path("bench/verified.rejects.jsonl")),
    )
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
    code, out, err = run("assess", "offline", "--benchmark", "bench/benchmark.jsonl", "--json")
    assert code == 0, err
    (model,) = json.loads(out)["models"]
    assert model["items"] == len(items)
    assert set(model["formats"]) <= {"generative", "single-choice", "true-false"}


def test_a_document_that_is_there_twice_is_written_from_once():
    documents(1)
    row = json.loads(Path("docs.jsonl").read_text())
    again = {**row, "id": "copy", "text": row["text"].replace("was invented", "was  invented").upper()}
    Path("docs.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(again) + "\n")
    code, out, err = make("bench", "--json")
    assert code == 0, err
    assert "near-duplicates" in err
    found = json.loads(out)
    assert (found["passages"], found["duplicate_passages"]) == (1, 1)


def test_a_chinese_document_goes_through_the_whole_chain():
    documents(4, CHINESE)
    code, out, err = make("bench", "--generator", "haluagent-zh:basic", "--json")
    assert code == 0, err
    assert json.loads(out)["statistics"]["languages"] in ({"zh": n} for n in range(1, 5))
    code, out, err = run("assess", "offline", "--benchmark", "bench/benchmark.jsonl")
    assert code == 0, err
    assert "hallucination rates" in out


def test_models_that_know_and_that_believe_everything_are_told_apart(monkeypatch):
    documents()
    assert make("bench")[0] == 0
    items = read_items("bench/benchmark.jsonl")

    def said(request):
        text = user_of(request)
        if "correct_answer" in text:
            return reply("chat", conflict="wrong on purpose" in text)
        if "true or false" in text:
            return reply("chat", response="True")
        if "Choose" in text:
            return reply("chat", response="I cannot choose.")
        return reply("chat", response="wrong on purpose")

    engine = Scripted(said)
    for place in ("jurist.keeping.loading.connect", "jurist.jobs.assessing.connect"):
        monkeypatch.setattr(place, lambda model, context, purpose="judge": lm_of(engine, context, purpose))
    code, out, err = run(
        "assess", "offline", "--benchmark", "bench/benchmark.jsonl", "--json", "--max-unusable", "1"
    )
    assert code == 0, err
    (model,) = json.loads(out)["models"]
    assert model["errors"]["false_negative"]["value"] == 1.0
    assert model["errors"]["false_positive"]["value"] == 0.0
    assert model["unanswered"]["single-choice"] == sum(isinstance(item, Choice) for item in items)
    assert model["formats"]["generative"]["value"] == 1.0
