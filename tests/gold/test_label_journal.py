"""The journal of the review page: what was saved is there after any kill, and gold import reads it."""

import json
import resource
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import claims

from jurist.errors import GoldError
from jurist.gold.goldset import Gold
from jurist.gold.label_journal import JournalLabel, LabelJournal
from jurist.gold.sheets import sheet_row
from jurist.programs.fect import FECT

GOLD = Gold.of(claims(3), FECT, labelled=False)
STEPS = st.lists(
    st.tuples(
        st.integers(0, len(GOLD.cases) - 1),
        st.sampled_from(["ann", "bob"]),
        st.sampled_from(["factual", "non_factual", "", "undo"]),
        st.sampled_from(["", "sentiment"]),
    ),
    max_size=12,
)


def added(journal: LabelJournal, place: int, rater: str, label: str, category: str = "") -> None:
    case = GOLD.cases[place]
    one = JournalLabel(case=case.id, unit=1, rater=rater, label=label, ambiguity=category)
    journal.add(one, sheet_row(GOLD, case), case.group)


@settings(max_examples=25)
@given(STEPS, st.integers(0, 80))
def test_the_last_label_counts_after_any_kill(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str, str, str]], torn: int
) -> None:
    path = tmp_path_factory.mktemp("journal") / "labels.jsonl"
    journal = LabelJournal(path)
    histories: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for place, rater, label, category in steps:
        if label == "undo":
            journal.undo(rater)
            histories[rater] = histories[rater][:-1]
        else:
            added(journal, place, rater, label, category)
            histories[rater].append((place, label))
    before = journal.labels(), journal.history("ann")
    added(journal, 0, "cid", "factual")
    whole = path.read_bytes()
    last = len(whole) - whole.rstrip(b"\n").rfind(b"\n") - 1
    path.write_bytes(whole[: len(whole) - min(torn + 1, last)])
    again = LabelJournal(path)
    assert (again.labels(), again.history("ann")) == before
    added(again, 0, "cid", "factual")
    wanted = {(place, rater): label for rater, said in histories.items() for place, label in said}
    gold = Gold.load(path, FECT, labelled=False)
    ratings = {(case.id, rater): values[0] for case in gold.cases for rater, values in case.ratings.items()}
    known = {(GOLD.cases[place].id, rater): label for (place, rater), label in wanted.items() if label}
    assert ratings == {**known, (GOLD.cases[0].id, "cid"): "factual"}


def test_half_a_character_and_a_full_disk_spoil_no_line(tmp_path: Path) -> None:
    journal, limits = LabelJournal(tmp_path / "labels.jsonl"), resource.getrlimit(resource.RLIMIT_FSIZE)
    label = JournalLabel(case="a", unit=1, rater="ann", label="factual")
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, limits[1]))
    try:
        with pytest.raises(GoldError, match="it cannot be written: No space left"):
            journal.add(label, {"claim": "\ud83d"}, "g")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    journal.add(label, {"claim": "\ud83d"}, "g")
    assert LabelJournal(journal.path).labels() == journal.labels()


@pytest.mark.parametrize(
    "text", ["no json\n", "[]\n", '{"case": "a", "unit": 1, "rater": "b"}\n', '{"a": 1}\n']
)
def test_another_file_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(GoldError, match="not a line of a review"):
        LabelJournal(path)
    assert path.read_text(encoding="utf-8") == text


def test_a_label_without_its_row_is_named(tmp_path: Path) -> None:
    line = {"case": "a", "unit": 1, "rater": "ann", "label": "factual"}
    (tmp_path / "labels.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    with pytest.raises(GoldError, match="the row of case 'a' is missing"):
        Gold.load(tmp_path / "labels.jsonl", FECT, labelled=False)
