"""Labels that look like misspellings of others: which ones, and what commands say of them."""

import csv
import re
from pathlib import Path

import pytest
from small import cli, ok

import jurist
from jurist.gold.misspelt import find_misspellings

SLIPS = [
    ("violaton", "violation"),
    ("holdd", "hold"),
    ("sned", "send"),
    ("ohld", "hold"),
    ("ssend", "send"),
    ("ok.", "ok"),
    ("Okay", "ok"),
    ("not-ok", "not ok"),
    ("partialy suported", "partially supported"),
    ("mislaeding claim", "misleading claim"),
    ("нарушниее", "нарушение"),
]
OWN_LABELS = [
    ("invalid", "valid"),
    ("unsafe", "safe"),
    ("ungrounded", "grounded"),
    ("partially unsupported", "partially supported"),
    ("amoral", "moral"),
    ("illegal", "legal"),
    ("exclude", "include"),
    ("external", "internal"),
    ("implicit", "explicit"),
    ("factual", "non-factual"),
    ("major", "minor"),
    ("harmful", "harmless"),
    ("A", "B"),
    ("A+", "A-"),
    ("AA+", "AA-"),
    ("bed", "bad"),
    ("response_a", "response_b"),
    ("level 1", "level 2"),
    ("class12", "class13"),
    ("15", "1.5"),
    ("+1", "-1"),
    ("👍", "👎"),
    ("不支持", "支持"),
    ("部分不支持", "部分支持"),
]
BOTH_WAYS = OWN_LABELS + [(frequent, rare) for rare, frequent in OWN_LABELS]


@pytest.mark.parametrize(("rare", "frequent"), SLIPS)
def test_a_rare_near_spelling_of_a_frequent_label_is_found(rare: str, frequent: str) -> None:
    found = find_misspellings({frequent: 100, "other": 80, rare: 2}, "Answer well.")
    assert [(one.label, one.rows, one.meant) for one in found] == [(rare, 2, frequent)]


@pytest.mark.parametrize(("rare", "frequent"), BOTH_WAYS)
def test_another_word_is_a_label_of_its_own(rare: str, frequent: str) -> None:
    assert find_misspellings({frequent: 100, "other": 80, rare: 2}) == []


@pytest.mark.parametrize(
    ("rows_of_label", "text", "found"),
    [
        ({"hold": 100, "send": 80, "holds": 20}, "", 0),  # not rare
        ({"hold": 12, "send": 8, "holds": 1}, "", 1),  # a single row of a small file
        ({"hold": 5, "send": 8, "holds": 1}, "", 0),  # hold is rare itself
        ({"hold": 100, "ok": 80, "ok.": 70}, "", 1),  # of punctuation it matters to nobody
        ({"form": 100, "from": 1}, "Say form or From.", 0),  # the prompt asks for it
        (
            {"hold": 500, "holdd": 2, "holddd": 1},
            "",
            1,
        ),  # like hold, not like a misspelling; two slips in a short word
        ({"hold": 100, "ok": 80, "ok.": 1}, "Say hold or ok.", 1),  # the point ends the sentence
        ({"hold": 100, "send": 80, "holdd": 0}, "", 0),  # no row has it
        ({}, "", 0),
    ],
)
def test_rare_is_few_rows_and_far_fewer_than_the_other(
    rows_of_label: dict[str, int], text: str, found: int
) -> None:
    assert len(find_misspellings(rows_of_label, text)) == found


def write(names: list[str], rows: list[list[str]]) -> None:
    Path("p.md").write_text("Say ok, or violation.\n\nPolicy: {{policy}}\nReply: {{reply}}", "utf-8")
    with Path("labels.csv").open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["group", "policy", "reply", *names])
        for n, labels in enumerate(rows):
            lines.writerow([f"g{n // 2}", f"Rule {n}.", f"Reply {n}.", *labels])


NEW = ("new", "mine", "--from", "p.md", "--gold", "labels.csv")


def test_new_asks_what_misspelt_labels_mean_and_makes_no_class_of_them() -> None:
    labels = [["violation" if n % 3 else "ok"] for n in range(120)]
    labels[1], labels[4], labels[6] = ["violaton"], ["Violaton"], ["ok."]
    write(["verdict"], labels)
    done = cli(*NEW)
    assert done.code == 2
    assert not Path("mine.py").exists()
    assert done.lines == [
        "error: labels that look misspelt: violaton (2 rows) like violation; ok. (1 row) like ok; add --map "
        "violaton=violation --map ok.=ok (to keep violaton as a class: --map violaton=violaton)"
    ]
    mapped = ok(*NEW, "--map", "violaton=violation", "--map", "ok.=ok")
    assert "labels violation, ok; the positive class is ok" in mapped.out
    assert "no problem found" in ok("gold", "check", "mine.py:judge", "labels.csv").out
    renamed = cli(*NEW, "-o", "renamed.py", "--map", "Violation=bad")
    assert "--map violaton=bad --map ok.=ok" in renamed.err
    kept = ok(*NEW, "-o", "kept.py", "--map", "violaton=violaton", "--map", "ok.=ok.")
    assert "labels violation, ok, violaton, ok.; no positive class" in kept.out
    assert "no problem found" in ok("gold", "check", "kept.py:judge", "labels.csv").out


NOTE = "labels that look misspelt: violaton (2 rows) like violation; if they are, add "


@pytest.fixture
def misspelt() -> str:
    """Write gold in which two rows have a label that looks misspelt, and return the judge that has it, too."""
    labels = [["violation" if number % 3 else "ok"] for number in range(120)]
    labels[1], labels[4] = ["violaton"], ["violaton"]
    write(["verdict"], labels)
    ok(*NEW, "-o", "kept.py", "--map", "violaton=violaton")
    text = Path("kept.py").read_text("utf-8")
    Path("named.py").write_text(text.replace('values={"violaton": "violaton"},', ""), "utf-8")
    return "named.py:judge"


@pytest.mark.parametrize(
    "command",
    [
        "gold check JUDGE labels.csv",
        "gold split JUDGE --gold labels.csv -o parts",
        "evaluate JUDGE --gold labels.csv --max-calls 1",
        "compare JUDGE JUDGE --gold labels.csv --max-calls 1",
        "gate JUDGE --gold labels.csv --min accuracy=0.1 --max-calls 1",
        "compile JUDGE --gold labels.csv --max-calls 1",
    ],
)
def test_every_command_with_gold_names_labels_that_look_misspelt(misspelt: str, command: str) -> None:
    # That a limit stops a command after its first call makes the test quick: gold is read before.
    words = command.replace("JUDGE", misspelt).split()
    advice = (
        f"{NOTE}--map violaton=violation and take them out of the judge's labels "
        "(to keep violaton as a class: --map violaton=violaton)"
    )
    assert advice in cli(*words).people
    assert NOTE not in cli(*words, "--map", "violaton=violaton").people
    assert NOTE not in cli(*words, "--map", "violaton=violation").people


def test_python_warns_of_labels_that_look_misspelt(misspelt: str) -> None:
    advice = 'mapping=jurist.RowMapping(labels={"violaton": "violation"})'
    with pytest.warns(UserWarning, match=re.escape(NOTE + advice)):
        jurist.evaluate(misspelt, "labels.csv")
    assert any(line.startswith(NOTE + advice) for line in jurist.check_gold(misspelt, "labels.csv").notes)


def test_new_asks_what_misspelt_ratings_mean() -> None:
    ratings = [["ok", "ok", "ok"] if n % 2 else ["violation", "violation", "ok"] for n in range(40)]
    ratings[0][0], ratings[1][1], ratings[3][2] = "violaton", "ok.", "Okay"
    write(["label_ann", "label_bo", "label_cy"], ratings)
    done = cli(*NEW, "--raters", "label_*")
    assert done.code == 2
    assert "violaton (1 row) like violation" in done.err
    options = ("--map", "violaton=violation", "--map", "ok.=ok", "--map", "Okay=ok")
    for option in options[1::2]:
        assert option in done.err
    assert "labels ok, violation;" in ok(*NEW, "--raters", "label_*", *options).out
