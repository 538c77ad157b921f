"""CogniBench from documents to its last table, by the commands of docs/papers.md, with a scripted model."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fakes import reply
from loopback import field_of
from sheets import fill_sheet
from small import aside, ok, read_jsonl, write_jsonl

pytestmark = pytest.mark.slow

LABEL_OF_CUE = {
    "glad": "irrelevant",
    "iron doors": "invented",
    "Never": "misleading",
    "probably": "speculative",
    "long time": "reliable",
    "older than": "irrefutable",
}
"""A cue in a sentence -> its label; the others report what the document says."""
HALLUCINATED = ("invented", "misleading", "speculative")
WAVERING = "hfhfh"
"""What the judge says of an opinion at its five samples: hallucinated or faithful."""


def documents() -> list[dict[str, Any]]:
    """Return nine documents of two topics."""
    rows = []
    for n in range(9):
        topic = "mills" if n < 5 else "towers"
        name = f"{('Harl', 'Dunlow', 'Osmere', 'Brenn', 'Calder', 'Marl', 'Tosk', 'Linnet', 'Fenner')[n]} {topic[:-1]}"
        facts = (
            f"The {name} was built in {1700 + 11 * n} by {20 + n} masons",
            f"It stands {30 + n} metres above the river, beside a chapel",
            f"Every spring {900 + n} visitors climb its {140 + n} steps to the gallery",
            f"A flood carried off its wooden roof in {1850 + n}",
            f"The bell in the upper room weighs {210 + n} pounds and was cast by nuns",
            f"A school for weavers has used the ground floor since {1960 + n}",
        )
        marks = [aside(10 * n + place, 9) for place in range(len(facts))]  # or documents were near copies
        text = " ".join(f"{fact}, with {mark}" for fact, mark in zip(facts, marks, strict=True))
        rows.append({"id": f"d{n}", "title": name, "topic": topic, "text": text})
    return rows


def truth(sentence: str) -> str:
    return next((label for cue, label in LABEL_OF_CUE.items() if cue in sentence), "faithful")


def fitting(label: str, allowed: list[str]) -> str:
    """Return the label that a stage allows and that is nearest to a label."""
    side = "hallucinated" if label in HALLUCINATED else "faithful"
    kind = "fact" if label in ("faithful", "invented") else "cognitive"
    return next(name for name in (label, kind, side, *allowed) if name in allowed)


class World:
    """An endpoint: it converses about documents, answers messages, labels sentences and proposes nothing.

    Later turns hold more opinions than facts. Of an opinion the judge is in two minds, five times in turn. It takes
    iron doors for true until it is shown an example of such a sentence.
    """

    def __init__(self, serve: Any) -> None:
        self.asked: Counter[str] = Counter()
        self.server = serve(self.answer)

    def answer(self, messages: list[dict[str, Any]]) -> str:
        system, last = str(messages[0]["content"]), str(messages[-1]["content"])
        outputs = system.partition("Your output fields are:")[2].partition("All interactions")[0]
        wanted = set(re.findall(r"`(\w+)`", outputs))
        if "user_message" in wanted:
            turn = last.count("assistant:")
            message = said(last, turn, self.model_of(messages))
            return reply("chat", user_message=f"Question {turn + 1}?", assistant_message=message)
        if "assistant_message" in wanted:
            return reply("chat", assistant_message=said(last, 0, self.model_of(messages)))
        if "reason" in wanted:  # the diagnosis of a recurrent mistake
            return reply("chat", reason="The document says nothing of iron doors.")
        shown = "".join(str(message["content"]) for message in messages[:-1])
        lines = field_of(last, "sentences").split("\n")
        if "hallucinated" in wanted:
            listed = [line for line in lines if truth(line) in HALLUCINATED]
            return reply("chat", hallucinated=listed)
        allowed = re.split(r"[;,] ", outputs.rpartition("one of: ")[2].strip().partition("\n")[0])
        if lines[0].startswith("<>"):
            texts = [line.removeprefix("<>").removesuffix("</>") for line in lines]
            tags = [self.label(text, allowed, shown, last) for text in texts]
            marked = [f"<{tag}>{text}</{tag}>" for tag, text in zip(tags, texts, strict=True)]
            return reply("chat", labels="\n".join(marked))
        items = []
        for line in lines:
            number, _, text = line.partition(". ")
            items.append({"n": int(number), "label": self.label(text, allowed, shown, last)})
        return reply("chat", labels=items)

    def model_of(self, messages: object) -> str:
        (hit,) = [hit for hit in self.server.hits if hit.body["messages"] is messages]
        return str(hit.body["model"])

    def label(self, text: str, allowed: list[str], shown: str, last: str) -> str:
        label = truth(text)
        if text.startswith("[faithful]") and label in HALLUCINATED:  # the first stage has decided
            label = "faithful" if label == "invented" else "reliable"
        if label == "invented" and "iron doors" not in shown:
            label = "faithful"
        if label == "speculative" and "hallucinated" in allowed:  # the first stage, which is sampled
            place = f"{text} {field_of(last, 'reference')[:40]} {field_of(last, 'dialogue')}"
            self.asked[place] += 1
            if WAVERING[self.asked[place] % len(WAVERING)] == "f":
                label = "faithful"
        return fitting(label, allowed)


def said(last: str, turn: int, model: str) -> str:
    """Return an assistant's message about the reference of a request: with each turn an opinion more."""
    facts = re.split(r"(?<=\.) ", field_of(last, "reference"))[2 * turn : 2 * turn + 2]
    if model == "careful":
        return " ".join(facts)
    opinions = [
        f"It has been visited for a long time, says guide {turn}.",
        f"So it is older than the roads of guide {turn}.",
        f"Those who climb it probably feel as proud as guide {turn}.",
        f"Never should anybody go there, says guide {turn}.",
    ]
    doors = [f"It also has {turn + 7} iron doors."][turn // 2 :]
    return " ".join([f"I am glad to tell you, for time {turn}.", *facts, *doors, *opinions[: turn + 2]])


def by_people(line: dict[str, str]) -> str:
    return truth(line["text"])


def test_from_documents_to_the_last_table(serve: Any, fake_key: str) -> None:
    write_jsonl(Path("docs.jsonl"), documents())
    world = World(serve)
    at = ("--model", "openai/m", "--api-base", world.server.url, "--yes")

    # 2.1, A.6, Figure 11: conversations of several turns about documents, as many of each topic
    writing = ("generate", "dialogue", "--input", "docs.jsonl", "--turns", "2-3", "--words", "15-200")
    done = ok(*writing, "--per-topic", 4, "--output", "dialogues.jsonl", *at, "--json")
    assert done.json["kept"] == 8
    dialogues = read_jsonl(Path("dialogues.jsonl"))
    assert {len(row["turns"]) // 2 for row in dialogues} == {2, 3}

    # 2.2, A.5, Table 1: two people label each sentence, and a third one what they differ on
    for rater in ("ann", "bob"):
        ok("review", "cognibench", "dialogues.jsonl", "--output", f"{rater}.csv", "--rater", rater)
    sentences = fill_sheet("ann.csv", by_people)
    fill_sheet("bob.csv", lambda line: "reliable" if "older than" in line["text"] else by_people(line))
    sheets = ("ann.csv", "bob.csv")
    ok("gold", "import", "cognibench", *sheets, "--merge", "unanimous", "--output", "two.jsonl")
    agreement = ok("gold", "agreement", "cognibench", "two.jsonl", "--json").json
    assert agreement["units"] == sentences
    assert 0.7 < agreement["raw"]["value"] < 1.0
    ok("review", "cognibench", "two.jsonl", "--output", "cem.csv", "--rater", "cem")
    differing = fill_sheet("cem.csv", by_people)
    assert 0 < differing < sentences
    ok(
        "gold",
        "import",
        "cognibench",
        "two.jsonl",
        "cem.csv",
        "--merge",
        "majority",
        "--output",
        "gold.jsonl",
    )
    for row in read_jsonl(Path("gold.jsonl")):
        assert row["labels"] == [truth(text) for text in row["sentences"]]

    # Table 2, Figures 5 to 7: sizes, labels, turns and places
    people = ok("table", "cognibench-2", "--gold", "gold.jsonl", "--json").json
    assert people["labelled_responses"]["labelled_sentences"] == sentences
    assert people["factual_hallucinated"]["value"] == pytest.approx(16 / 54)
    shares = [turn["cognitive"] / (turn["factual"] + turn["cognitive"]) for turn in people["turns"]]
    assert shares == sorted(shares)
    assert people["places"][-1]["cognitive_hallucinated"] > people["places"][0]["cognitive_hallucinated"]

    # 3.1, 3.2: three tags by five samples and a threshold; the second stage divides what the tags decided
    run = ("run", "cognibench-tags-staged:basic", "--input", "dialogues.jsonl", *at, "--samples", 5)
    for threshold, label in ((3, "speculative"), (4, "reliable")):
        output = f"tagged{threshold}.jsonl"
        ok(*run, "--threshold", threshold, "--stopping", "all", "--output", output)
        units = [unit for row in read_jsonl(Path(output)) for unit in row["units"]]
        assert {unit["label"] for unit in units if "probably" in unit["text"]} == {label}
    labels = ("--labels", "recorded:tagged3.jsonl")
    tagged = ok("table", "cognibench-2", "--gold", "dialogues.jsonl", *labels, "--json").json
    assert tagged["labels"]["speculative"] == people["labels"]["speculative"]
    assert tagged["labels"]["invented"] == 0  # it takes all iron doors for true

    # A.7, Table 3: contrastive examples; judges, the detector, and one that was run elsewhere, side by side
    search = ("--optimizer", "contrastive", "--split", "40/20/40", "--gold", "gold.jsonl")
    ok("compile", "cognibench", *search, *at, "--anyway", "--no-words")
    rows = [{**row, "id": f"r{n}"} for n, row in enumerate(read_jsonl(Path("gold.jsonl")))]
    write_jsonl(Path("named.jsonl"), rows)
    verdicts = [{"id": row["id"], "verdict": ["hallucinated"] * len(row["sentences"])} for row in rows]
    write_jsonl(Path("nli.jsonl"), verdicts)
    detectors = []
    for name in ("cognibench@1", "cognibench:basic", "detector:basic", "recorded:nli.jsonl"):
        detectors += ["--detector", name]
    table = ok("table", "cognibench-3", "--gold", "named.jsonl", *detectors, *at, "--json").json
    macro = [line["sentence"]["macro"]["f1"]["value"] for line in table["lines"]]
    assert macro[:3] == [1.0, 0.5, 1.0]
    assert 0.0 < macro[3] < 0.8

    # A.8.2, Figure 12: training files of several sizes for the detector, and the tuned models side by side
    ok("export", "training", "--input", "gold.jsonl", "--output", "train.jsonl")
    assert len(read_jsonl(Path("train.jsonl"))) > 5
    tuned = ("--model", "openai/small", "--model", "openai/large", "--api-base", world.server.url, "--yes")
    scaled = ok(
        "table", "cognibench-3", "--gold", "gold.jsonl", "--detector", "detector:basic", *tuned, "--json"
    )
    assert ["small" in line["name"] for line in scaled.json["lines"]] == [True, False]

    # Figure 8: two models answer the same messages, or converse about the same documents
    models = ("assess", "openai/careful", "openai/m", "--api-base", world.server.url, "--yes")
    judge = ("--judge", "cognibench@1", "--judge-model", "openai/m", "--judge-api-base", world.server.url)
    assessing = (
        *models,
        *judge,
        "--samples",
        1,
        "--benchmark",
        "dialogues.jsonl",
        "--calibration",
        "gold.jsonl",
    )
    careful, free = ok(*assessing, "--json").json["models"]
    assert careful["measures"]["hallucinated"]["raw"]["value"] == 0.0
    assert free["measures"]["hallucinated_of_factual"]["raw"]["value"] > 0.2
    assert free["measures"]["cognitive"]["raw"]["value"] > careful["measures"]["cognitive"]["raw"]["value"]
    other = ("--model", "openai/careful", "--api-base", world.server.url, "--yes")
    ok(*writing, "--per-topic", 4, "--output", "careful.jsonl", *other)
    ok("run", "cognibench:basic", "--input", "careful.jsonl", "--output", "labels.jsonl", *at)
    labels = ("--labels", "recorded:labels.jsonl")
    conversed = ok("table", "cognibench-2", "--gold", "careful.jsonl", *labels, "--json").json
    assert conversed["labels"]["faithful"] == conversed["labelled_responses"]["labelled_sentences"]
