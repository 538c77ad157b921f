"""``jurist new --gold``: what the columns of a file are goes into the judge's file, and no command repeats it."""

import csv
from pathlib import Path
from typing import Any

import pytest
from small import ok, write_jsonl

from jurist.programs.catalogue import find

TEXT = "Is the reply polite?\n\nMessage: {{message}}\nReply: {{reply}}"
PAIR = "Which is better?\n\nPrompt: {{prompt}}\nOne: {{gpt}}\nOther: {{llama}}"


def labels_csv(path: str = "labels.csv") -> None:
    """Write labels in mixed case, blanks, unsure ones, and duplicates that contradict each other."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["Chat ID", "Question", "botResponse", "Verdict", "Notes"])
        for n in range(60):
            polite = ["Yes", "y", "YES "][n % 3] if n % 5 < 3 else ["No", "no"][n % 2]
            label = {7: "", 9: "Unsure"}.get(n, polite)
            reply = f"{'Thanks, gladly' if n % 5 < 3 else 'No. Go away'} {n}"
            lines.writerow([f"c{n // 2}", f"Can you help with case {n}?", reply, label, f"seen {n}"])
        lines.writerow(["c0", "Can you help with case 0?", "Thanks, gladly 0", "No", ""])


COLUMNS = ("--column", "Question=message", "--column", "botResponse=reply")


def test_from_a_csv_of_ones_own_to_a_compiled_judge_without_naming_a_column_again() -> None:
    Path("p.md").write_text(TEXT, "utf-8")
    labels_csv()
    done = ok("new", "polite-reply", "--from", "p.md", "--gold", "labels.csv", *COLUMNS)
    assert "57 labelled rows in 30 groups; 2 without a label are left out; 2 cannot be used" in done.out
    judge = find("polite_reply.py:judge")
    named = {"Question": "message", "botResponse": "reply", "Verdict": "label", "Chat ID": "group"}
    assert (dict(judge.columns), dict(judge.values)) == (named, {"Unsure": ""})
    assert judge.answer.positive == {"No"}
    gold = ("--gold", "labels.csv", "--rejects", "aside.jsonl")
    scored = ok("evaluate", "polite_reply.py:judge:basic", *gold, "--json")
    assert scored.json["counts"]["units"]["total"] == 57
    fast = ("--optimizer", "fewshot", "--set", "sizes=1", "--set", "sets=1", "--force")
    ok("compile", "polite_reply.py:judge", *gold, *fast)
    ok("run", "polite-reply@1", "--input", "labels.csv", "--output", "out.jsonl")
    assert len(Path("out.jsonl").read_text("utf-8").splitlines()) == 61


NESTED = [
    {"meta": {"thread_id": n // 2}, "input": {"question": f"q{n}"}, "output": f"r{n}"}
    | {"scores": {"human": f"{n % 5 + 1},0"}}
    for n in range(20)
]
PAIRS = [
    {"prompt": f"q{n}", "gpt": f"a{n}", "llama": f"b{n}", "winner": ["gpt", "llama", "tie", "tie"][n % 4]}
    | {"conv_id": n}
    for n in range(20)
]
FLAGS = [{"message": f"q{n}", "reply": f"r{n}", "label": n % 2} for n in range(20)]
OWN = [
    {"Topic": f"t{n % 3}", "Policy text": f"Rule {n}.", "Agent reply": f"r{n}" if n else ""}
    | {"Seen by Ann": "ok" if n % 2 else "bad"}
    for n in range(20)
]
OK_OR_BAD = "Say ok or bad.\n\nPolicy: {{policy}}\nReply: {{reply}}"
ARENA = [
    {"gpt": [{"role": "user", "content": f"q{n}"}, {"role": "assistant", "content": "a"}], "prompt": f"q{n}"}
    | {"llama": [{"from": "gpt", "value": f"b{n}"}]}
    | {"winner": ["model_a", "model_b", "tie", "tie (bothbad)"][n % 4]}
    for n in range(20)
]
CHOSEN = [{"prompt": f"q{n}", "chosen": ARENA[n]["gpt"], "Rejected": ARENA[n]["llama"]} for n in range(20)]
NAMED = ("--prefer", "gpt,llama", "--column", "winner=label")
MAPPED = ("--labels", "no,yes", "--map", "1=yes", "--map", "0=no")
SHAPES: dict[str, tuple[str, list[Any], tuple[str, ...], str, tuple[Any, ...]]] = {
    "nested scores": (
        TEXT, NESTED, ("--column", "input.question=message", "--column", "output=reply"), "meta.thread_id", (1, 5)
    ),
    "pairs by the names of the models": (PAIR, PAIRS, NAMED, "conv_id", ("first", "second", "tie")),
    "chats of Chatbot Arena": (PAIR, ARENA, ("--prefer", "gpt,llama"), "winner", ("first", "second", "tie")),
    "chosen and rejected": (PAIR, CHOSEN, (), "Rejected", ("first", "second", "tie")),
    "own names, an empty cell": (
        OK_OR_BAD, OWN,
        ("--column", "Seen by Ann=label", "--column", "Policy text=policy", "--column", "Agent reply=reply"),
        "Seen by Ann", ("ok", "bad"),
    ),
    "numbers as labels": (TEXT, FLAGS, (), "", ("0", "1")),
    "thumbs": (TEXT, [{**row, "label": "👍👎"[row["label"]]} for row in FLAGS], (), "", ("👍", "👎")),
    "labels of one's own": (TEXT, FLAGS, MAPPED, "", ("no", "yes")),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_other_shapes_are_read_by_one_command(shape: str) -> None:
    text, rows, flags, column, choices = SHAPES[shape]
    Path("p.md").write_text(text, "utf-8")
    write_jsonl(Path("g.jsonl"), rows)
    ok("new", "mine", "--from", "p.md", "--gold", "g.jsonl", *flags)
    judge = find("mine.py:judge")
    assert not column or column in judge.columns
    assert {*choices} <= {*judge.answer.scale.choices} or str(choices[-1]) in judge.answer.scale.expects
    scored = ok("evaluate", "mine.py:judge:basic", "--gold", "g.jsonl", "--json")
    assert scored.json["counts"]["units"]["total"] == 20
