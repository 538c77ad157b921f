"""SKILL.md, followed word for word with a CSV that it has never seen."""

import csv
import json
import random
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

from pages import ROOT
from small import Done, cli, read_jsonl

TEXT = (ROOT / "SKILL.md").read_text(encoding="utf-8")
URGENT = ("caught fire", "gave me a shock", "was charged twice", "leaks on the floor", "stopped our work")
LATER = (
    "should arrive when",
    "comes in which colours",
    "has a typing error",
    "is registered how",
    "fits what",
)
SYLLABLES = ["ba", "ke", "lo", "mi", "ru", "sa", "te", "vo", "na", "pi", "du", "fe", "ga", "ho"]
PROMPT = """Decide how soon a support message needs an answer.

{{message}}

Answer with one word: urgent if a person or money is at risk or work has stopped, later if not.
"""


def commands() -> list[str]:
    """Return the commands of the first block."""
    block = re.search(r"```sh\n(.*?)```", TEXT, re.DOTALL)
    assert block is not None
    return block[1].splitlines()


def write_messages(path: Path, seed: int, *, label: str = "label", group: str = "group") -> None:
    """Write 180 labelled messages of 30 customers; their other words are made up, and people err in 1 of 16."""
    chance = random.Random(seed)

    def word() -> str:
        return "".join(chance.choice(SYLLABLES) for _ in range(3))

    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([group, "message", label])
        for customer in range(30):
            for _ in range(6):
                is_urgent = chance.random() < 0.45
                event = chance.choice(URGENT if is_urgent else LATER)
                message = (
                    f"{word()} {word()} {word()}: the {word()} {word()} {event}, {word()} {word()} {word()}."
                )
                says_urgent = is_urgent ^ (chance.random() < 1 / 16)
                writer.writerow([f"customer-{customer}", message, "urgent" if says_urgent else "later"])


def run_all(lines: list[str]) -> list[Done]:
    """Run commands, each of which has to succeed."""
    results = []
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "jurist"
        done = cli(*words)
        assert done.code == 0, f"{line}: {done.err}"
        results.append(done)
    return results


def test_its_five_commands_lead_from_a_csv_to_a_proven_judge() -> None:
    write_messages(Path("labels.csv"), 1)
    write_messages(Path("new.csv"), 2)
    Path("prompt.md").write_text(PROMPT, encoding="utf-8")
    lines = commands()
    assert len(lines) == 5
    *_, compiled, gated, _ = run_all(lines)
    assert compiled.out.startswith("decision: compiled is better: balanced_accuracy")
    assert ", passes" in gated.out.splitlines()[0]
    assert ElementTree.parse("gate.xml").getroot().attrib["failures"] == "0"
    judged = read_jsonl(Path("judged.jsonl"))
    assert len(judged) == 180
    assert {"label", "status", "id"} <= judged[0].keys()
    card = json.loads(Path("compiled/my-judge/1/card.json").read_text(encoding="utf-8"))
    assert {"verdict", "difference", "low", "high"} <= card["decision"].keys()


def test_columns_of_other_names_are_named_once_as_it_says() -> None:
    write_messages(Path("labels.csv"), 3, label="answer", group="customer")
    Path("prompt.md").write_text(PROMPT, encoding="utf-8")
    first, second, third, *_ = commands()
    unclear = cli(*shlex.split(first)[1:])
    assert unclear.code == 1
    assert "--column COLUMN=label" in unclear.err
    (option,) = re.findall(r"`(--column answer=label --column customer=group)`", TEXT)
    run_all([f"{first} {option}", second, f"{third} --optimizer threshold --anyway"])


def test_its_front_matter_names_it_and_says_when_it_helps() -> None:
    head = TEXT.split("---")[1]
    assert re.search(r"^name: jurist$", head, re.M)
    description = re.search(r"^description: (.+)$", head, re.M)
    assert description is not None
    assert len(description[1]) <= 1024
