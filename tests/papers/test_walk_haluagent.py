"""HaluAgent and C-FAITH from documents to Tables 5 and 6, by the commands of docs/papers.md, with a scripted model."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fakes import reply
from loopback import field_of
from sheets import fill_sheet
from small import cli, ok, read_jsonl, write_jsonl

from jurist.signatures.haluagent_labels import TYPES

pytestmark = pytest.mark.slow

PLACES = ("bridge", "mill", "tower", "school", "harbour", "market", "library", "station")
QUESTIONS = {
    "fabrication": ("How did it come about that {town} has a {place}?", "{who} paid {coins} coins for it"),
    "attribute": ("How many coins did the {place} in {town} cost?", "{coins} coins"),
    "entity": ("Who is the founder of what stands in {town}, the {place}?", "{who}"),
    "relation": ("Which was there first, {town} or its {place}?", "{town} by a hundred years"),
    "spatiotemporal": ("In what year was the opening of the {place} of {town}?", "in {year}"),
    "reference": ("What book tells of the opening of the {place} near {town}?", "the register of {year}"),
}
"""Type -> a question of that type, and its answer."""
WRONG = ("Adam Bell of Nore", "Cora Dunn of Sell", "Edgar Flint of Tarn")
RULES = {
    "question": "Copy the passage.",
    "hallucinations": "No two answers are equal.",
    "label": "Look at the question first.",
}
"""What the scripted writer needs to be told in each step, lest it goes wrong."""
CUES = {"label": "`types`", "hallucinations": "`hallucinated_answers`", "question": "`passage`"}


def facts_of(number: int) -> dict[str, Any]:
    """Return what the document of a number says."""
    return {
        "town": f"Orla{number}ville",
        "place": PLACES[number % 8],
        "year": 1700 + number,
        "who": f"Venn{number} Harl",
        "coins": 300 + 11 * number,
    }


def text_of(number: int) -> str:
    facts = facts_of(number)
    opened = "The {place} of {town} was opened in {year} by {who}, who paid {coins} coins for it."
    told = "The town is a hundred years older. The register of {year} tells of the opening."
    return f"{opened} {told}".format(**facts)


def asked(text: str) -> tuple[str, str]:
    """Return the type of the question that a text holds, and its right answer."""
    number = re.search(r"Orla(\d+)ville", text)
    assert number
    for name, (question, answer) in QUESTIONS.items():
        if question.format(**facts_of(int(number[1]))) in text:
            return name, answer.format(**facts_of(int(number[1])))
    raise AssertionError(text)


class World:
    """An endpoint: it writes, proposes, verifies, answers and compares.

    In each step of writing it makes a mistake until the rule of that step stands in its instruction. The model ``good``
    knows all answers, ``bad`` none, and takes every answer for true.
    """

    def __init__(self, serve: Any) -> None:
        self.server = serve(self.answer)

    def answer(self, messages: list[dict[str, Any]]) -> str:
        system, last = str(messages[0]["content"]), str(messages[-1]["content"])
        outputs = system.partition("Your output fields are:")[2].partition("All interactions")[0]
        wanted = set(re.findall(r"`(\w+)`", outputs))
        if "instruction" in wanted:
            return reply("chat", instruction=self.rewritten(last))
        if "fits" in wanted:
            right = field_of(last, "type") == asked(field_of(last, "question"))[0]
            return reply("chat", reason="the definition", fits="yes" if right else "no")
        if "hallucinated" in wanted:
            return reply("chat", reason="the document says another thing", hallucinated="yes")
        if "correct" in wanted:
            return reply("chat", reason="the document says so", correct="yes")
        if "types" in wanted:
            kind = asked(field_of(last, "question"))[0]
            return reply("chat", types=[kind if RULES["label"] in system else "fabrication"] * 3)
        if "hallucinated_answers" in wanted:
            answers = WRONG if RULES["hallucinations"] in system else (WRONG[0], WRONG[1], WRONG[1])
            return reply("chat", hallucinated_answers=list(answers))
        if "passage" in wanted:
            return self.question(
                field_of(last, "knowledge"), field_of(last, "type"), RULES["question"] in system
            )
        if "conflict" in wanted:
            right = field_of(last, "correct_answer") in field_of(last, "response")
            return reply("chat", conflict=str(not right))
        return reply("chat", response=self.response(field_of(last, "prompt"), messages))

    def rewritten(self, proposal: str) -> str:
        """Return the instruction of a step with its rule."""
        instruction = field_of(proposal, "current_instruction")
        step = next(name for name in RULES if re.search(rf"\bstep\W+{name}\b", proposal))
        return instruction if RULES[step] in instruction else f"{instruction}\n{RULES[step]}"

    def question(self, document: str, kind: str, is_copied: bool) -> str:
        number = re.search(r"Orla(\d+)ville", document)
        assert number
        facts = facts_of(int(number[1]))
        question, answer = (text.format(**facts) for text in QUESTIONS[kind])
        passage = document.partition(". ")[0] + "."
        return reply(
            "chat",
            question=question,
            correct_answer=answer,
            passage=passage if is_copied else f"It says: {passage}",
        )

    def response(self, prompt: str, messages: object) -> str:
        (hit,) = [hit for hit in self.server.hits if hit.body["messages"] is messages]
        is_good = hit.body["model"] == "good"
        _, right = asked(prompt)
        options = re.findall(r"^([A-D])[.:)、]\s*(.+)$", prompt, re.M)
        if options:
            letters = [letter for letter, text in options if (text.strip() == right) == is_good]
            return letters[0]
        if "true or false" in prompt:
            return str(not is_good or right in prompt).lower()
        return right if is_good else WRONG[0]


def test_from_documents_to_the_last_table(serve: Any, fake_key: str) -> None:
    world = World(serve)
    rows = [
        {"id": f"d{n}", "title": f"Orla{n}ville", "topic": "towns", "text": text_of(n)} for n in range(106)
    ]
    write_jsonl(Path("few.jsonl"), rows[:100])
    write_jsonl(Path("more.jsonl"), rows[100:])
    at = ("--model", "openai/writer", "--api-base", world.server.url, "--yes")

    # 3.2, Table 3: 60 documents are learned from, 20 selected on, in at most five rounds; 20 prove it
    search = ("--optimizer", "cfaith", "--split", "60/20/20", "--set", "rewrites=2", "--max-calls", 20000)
    made = ok("compile", "haluagent", "--gold", "few.jsonl", *search, *at, "--json").json
    assert made["decision"]["verdict"] == "better"
    for rule in RULES.values():
        assert rule in ok("artifacts", "show", "haluagent").out
    history = read_jsonl(Path("compiled/haluagent/1/history.jsonl"))
    tried = [row["dev"]["value"] for row in history if row["dev"]["cases"]]
    assert (tried[0], max(tried)) == (0.0, 1.0)

    rounds = ok("artifacts", "show", "haluagent", "--rounds", "--json").json["rounds"]
    values = [entry["value"] for entry in rounds]
    assert (len(values) > 1, values[0], max(values)) == (True, 0.0, 1.0)
    for entry in rounds:
        assert set(entry["metrics"]) >= {"answer_rate", "hallucination_rate", "label_rate", "validation_rate"}

    # 3.3, 4.1, Tables 1 and 4, Figure 6: a question of each type about each document, in three formats
    done = ok("generate", "haluagent", "--input", "more.jsonl", "--output", "bench", *at, "--json").json
    statistics = done["statistics"]
    assert statistics["formats"] == {"generative": 36, "single-choice": 36, "true-false": 72}
    assert done["kept"] == 36 * 3
    verified = read_jsonl(Path("bench/verified.jsonl"))
    assert Counter(row["type"] for row in verified) == dict.fromkeys(TYPES, 18)

    # the paper's column without optimisation: most of what the basic prompts write is rejected
    basic = (
        "generate",
        "haluagent",
        "--input",
        "more.jsonl",
        "--output",
        "basic",
        "--generator",
        "haluagent:basic",
    )
    rejected = cli(*basic, *at, "--json").json
    assert (rejected["kept"], rejected["rejected"]) == (0, 36 * 3)

    # Table 2: three people check items by lot, of those that passed and of those that did not
    checks = (
        ("label-check", "basic/verified.rejects.jsonl"),
        *((judge, "bench/verified.jsonl") for judge in KEYS),
    )
    found = []
    for number, (judge, source) in enumerate(checks):
        sheets = [f"{rater}{number}.csv" for rater in ("ann", "bea", "cem")]
        for sheet in sheets:
            ok("review", judge, source, "--output", sheet, "--rater", sheet[:3], "--sample", 30)
            assert fill_sheet(sheet, by_people) == 30
        ok("gold", "import", judge, *sheets, "--merge", "majority", "--output", f"people{number}.jsonl")
        labels = Counter(row[KEYS[judge]] for row in read_jsonl(Path(f"people{number}.jsonl")))
        found.append(labels["yes"] / labels.total())
        agreement = ok("gold", "agreement", judge, f"people{number}.jsonl", "--json").json
        assert agreement["units"] == 30
        assert number or agreement["alpha"]["value"] == 1.0
    without, *with_verification = found
    assert without < 0.4
    assert with_verification == [1.0] * 3

    # 4.2, Tables 5 and 6, Figures 1 and 5: two models, zero-shot, in three formats, errors by type
    models = ("assess", "openai/good", "openai/bad", "--api-base", world.server.url, "--yes")
    judge = ("--judge-model", "openai/judge", "--judge-api-base", world.server.url, "--samples", 1)
    before = world.server.count
    assessed = ok(*models, *judge, "--benchmark", "bench/benchmark.jsonl", "--unanswered", "wrong", "--json")
    answered = [hit.body for hit in world.server.hits[before:] if hit.body["model"] != "judge"]
    assert {(body["temperature"], body["top_p"]) for body in answered} == {(1.0, 0.7)}
    good, bad = assessed.json["models"]
    assert {name: rate["value"] for name, rate in good["formats"].items()} == dict.fromkeys(
        good["formats"], 0.0
    )
    assert [bad["formats"][name]["value"] for name in ("generative", "single-choice", "true-false")] == [
        1.0,
        1.0,
        0.5,
    ]
    assert bad["overall"]["value"] == pytest.approx((1.0 + 1.0 + 0.5) / 3)  # the mean of the formats
    assert {name: rate["value"] for name, rate in bad["types"].items()} == dict.fromkeys(TYPES, 1.0)
    errors = [bad["errors"][name]["value"] for name in ("false_negative", "false_positive")]
    assert errors == [1.0, 0.0]  # it takes every hallucinated answer for true


KEYS = {"answer-check": "correct", "hallucination-check": "hallucinated", "label-check": "fits"}


def by_people(line: dict[str, str]) -> str:
    """Return what people find: all is right but for a label that does not suit the question."""
    kind = line.get("input:type")
    return "no" if kind and kind != asked(line["input:question"])[0] else "yes"
