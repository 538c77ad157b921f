"""Near copies count as one group, are named and are not scored; what rows share by design is told from documents."""

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import dspy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judges import CHECK
from small import claims, cli, write_jsonl

import jurist
from jurist.cases import text_hash
from jurist.errors import GoldError
from jurist.gold.copies import find_near_cases, sketched_rows
from jurist.gold.goldset import Gold
from jurist.gold.splits import near_groups_words
from jurist.keeping.card_parts import GoldFileCard
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge


def changed(row: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The same row with another word in the conversation, commas, a zero-width space, and no group of its own."""
    draw = random.Random(seed)
    words = row["conversation"].split()
    words[draw.randrange(len(words))] = f"word{seed}"
    talk = " ".join(words).replace(" I ", ", I\u200b ")
    return {**row, "conversation": talk, "group": f"copy-{seed}"}


@pytest.mark.parametrize("grouped", [True, False])
def test_no_test_case_has_a_near_copy_in_train(grouped: bool) -> None:
    rows = [row for n, row in enumerate(claims(24, 2)) for row in (row, changed(row, n))]
    if not grouped:
        rows = [{key: value for key, value in row.items() if key != "group"} for row in rows]
    gold = Gold.of(rows, FECT)
    assert len(gold.near_copies) == 24
    for seed in range(4):
        split = gold.split(seed, (0.4, 0.3, 0.3))
        assert not find_near_cases(FECT, split.test, sketched_rows(FECT, (*split.train, *split.dev)))
        assert len({case.group for case in (*split.train, *split.dev, *split.test)}) == 24


SECRET = "Ünused tickets can be returned within nine days, at the window."
REPLY = "You can return the ticket at the window within nine days."
HELD = {
    "equal": (SECRET, "Yes.", True),
    "inside a longer text": (f"General. {SECRET} Ask us. " + "Dogs are welcome. " * 20, "Yes.", True),
    "other case and spacing": (SECRET.upper().replace(" ", "  "), "Yes.", True),
    "other form of the letter": (SECRET.replace("Ü", "U\u0308"), "Yes.", True),
    "in another input": ("Short.", f"It says: {SECRET}", True),
    "a part of it": (SECRET[:39], "Yes.", False),
    "what is judged": ("Short.", REPLY, False),
}


def gold_of(judge: Judge, *rows: tuple[str, str]) -> Gold:
    """Rows of a policy and a reply, each a group of its own: ``g0``, ``g1`` ..."""
    labelled = [
        {"policy": policy, "reply": reply, "group": f"g{n}", "verdict": ("send", "hold")[n % 2]}
        for n, (policy, reply) in enumerate(rows)
    ]
    return Gold.of(labelled, judge)


def groups_of(*rows: tuple[str, str]) -> list[tuple[str, ...]]:
    """Which groups count as one."""
    return [near.groups for near in gold_of(CHECK, *rows).near_copies]


@pytest.mark.parametrize("kind", HELD)
def test_groups_of_which_one_has_a_text_inside_the_other_are_one(kind: str) -> None:
    policy, reply, one = HELD[kind]
    others = [(f"The terrace {n} opens at noon.", f"Yes, {n}.") for n in range(8)]
    assert groups_of((SECRET, REPLY), (policy, reply), *others) == [("g0", "g1")] * one


def test_a_text_of_all_groups_is_the_task_and_one_of_most_makes_them_one() -> None:
    rows = [(SECRET, f"Yes, {n}.") for n in range(8)]
    assert groups_of(*rows) == []
    rows.append(("Dogs are welcome.", "No."))
    assert groups_of(*rows) == [tuple(f"g{n}" for n in range(8))]
    with pytest.raises(
        GoldError, match=r"8 groups .* count as 1, for example rows:1 and rows:2; .* common=\('policy',\)"
    ):
        gold_of(CHECK, *rows).split(0)
    assert not gold_of(replace(CHECK, common=("policy",)), *rows).near_copies


def test_sealed_rows_that_nearly_repeat_what_is_seen_are_left_out_of_the_test() -> None:
    """Policies that most have in other numbers make no group one, so rows of both parts may be copies."""
    days = [f"Refunds of this shop are paid within {n} working days." for n in range(10, 30)]
    templates = [(f"{text} Shipping costs five euros.", text) for text in days]
    others = [(f"{text_hash(str(n))} {text_hash(str(-n))}", text_hash(f"reply {n}")) for n in range(40)]
    rows = gold_of(CHECK, *templates, *others)
    assert not rows.near_copies
    split = rows.split(0)
    assert split.copies > 0
    assert (
        f"{split.copies} of {split.copies + len(split.test)} sealed cases nearly repeat" in split.near_words
    )
    assert len(split.train) + len(split.dev) + len(split.test) == 60 - split.copies
    assert not find_near_cases(CHECK, split.test, sketched_rows(CHECK, (*split.train, *split.dev)))
    assert not gold_of(CHECK, *((text, f"Answer {n}.") for n, text in enumerate(days))).split(0).near_words
    with pytest.raises(
        GoldError, match=r"test comes out empty: 10 of 10 sealed cases nearly repeat .*; label rows"
    ):
        gold_of(CHECK, *templates).split(0)


LABELS: list[tuple[str, tuple[str, ...] | None, tuple[str, ...] | None, bool]] = [
    ("the same label", ("send",), ("send",), True),
    ("another label", ("send",), ("hold",), False),
    ("one that nobody labelled", ("send",), None, True),
    ("seen without a label", None, ("hold",), True),
]


@pytest.mark.parametrize(
    ("seen", "label", "copy"), [row[1:] for row in LABELS], ids=[row[0] for row in LABELS]
)
def test_a_near_copy_with_another_label_is_no_copy(
    seen: tuple[str, ...] | None, label: tuple[str, ...] | None, copy: bool
) -> None:
    first, second = gold_of(CHECK, (SECRET, REPLY), (SECRET + " Ask us.", REPLY.upper())).cases
    sketches = sketched_rows(CHECK, [replace(first, gold=seen)])
    case = replace(second, gold=label)
    assert find_near_cases(CHECK, [case], sketches) == ({case.id} if copy else frozenset())
    without_labels = [{name: value for name, value in row.items() if name != "label"} for row in sketches]
    assert find_near_cases(CHECK, [case], without_labels) == {case.id}


def test_the_check_names_them() -> None:
    rows = claims()
    write_jsonl(Path("gold.jsonl"), [*rows, changed(rows[4], 1)])
    done = cli("gold", "check", "fect", "--gold", "gold.jsonl")
    assert "2 groups hold nearly the same texts" in done.out
    assert "for example gold.jsonl:43 and gold.jsonl:4" in done.out
    found = cli("gold", "check", "fect", "--gold", "gold.jsonl", "--json").json["near_copies"]
    assert [one["groups"] for one in found] == [["copy-1", "talk-1"]]


@given(seed=st.integers(0, 10**6))
@settings(max_examples=10)
def test_shifted_rows_are_known_again(seed: int) -> None:
    cases = Gold.of(claims(8), FECT).cases
    row = {**cases[seed % len(cases)].inputs}
    draw = random.Random(seed)
    for name, text in row.items():
        place = draw.randrange(len(text) + 1)
        row[name] = text[:place] + draw.choice((" ", "\u200b", ",", "-")) + text[place:]
    (case,) = Gold.of([row], FECT, labelled=False).cases
    assert find_near_cases(FECT, [case], sketched_rows(FECT, cases)) == {case.id}


class Sent(dspy.Signature):
    """Say whether the claim may be sent."""

    text: str = dspy.InputField(desc="a policy, a rubric, or a document")
    claim: str = dspy.InputField(desc="what is judged")
    verdict: Literal["send", "hold"] = dspy.OutputField(desc="send or hold")


JUDGE = Judge(name="sent", signature=Sent, positive="hold")


def words(number: int, count: int) -> str:
    """Words that only this number has."""
    return " ".join(text_hash(f"{number} {place}")[:7] for place in range(count))


def rows(texts: int, each: int, talks: int = 0) -> list[dict[str, Any]]:
    """So many rows of each of so many texts; with talks, groups of so many rows."""
    found = []
    for number in range(texts * each):
        row = {"text": words(number % texts, 20), "claim": words(10_000 + number, 8)}
        row["verdict"] = ("send", "hold")[number % 2]
        if talks:
            row["group"] = f"talk-{number // texts // talks}-{number % texts}"
        found.append(row)
    return found


LAYOUTS = {
    # rows, shared inputs, groups that a split has
    "six policies": (rows(6, 26), ["text"], 156),
    "six policies, conversations": (rows(6, 26, 2), ["text"], 78),
    "one rubric": (rows(1, 40), ["text"], 40),
    "two system prompts": (rows(2, 30), ["text"], 60),
    "documents of 2 claims": (rows(40, 2), [], 40),
    "documents of 5 claims": (rows(20, 5), [], 20),
    "documents of 8 claims": (rows(6, 8), [], 6),
    "documents of 8 claims, a group each": (rows(6, 8, 1), [], 6),
    "many documents of many claims": (rows(20, 12), [], 20),
    "all distinct": (rows(60, 1), [], 60),
    "six policies and a few of their own": ([*rows(6, 26), *rows(200, 1)[170:]], ["text"], 186),
    "a note in most rows": ([*({**row, "text": ""} for row in rows(60, 1)), *rows(10, 4)], [], 60 + 10),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_is_shared_is_told_from_documents(name: str) -> None:
    given, shared, groups = LAYOUTS[name]
    gold = Gold.of(given, JUDGE)
    assert list(gold.shared) == shared
    split = gold.split(0)
    assert len({case.group for case in (*split.train, *split.dev, *split.test)}) == groups
    assert len(gold.shared_words) == len(shared)


def test_the_judge_says_otherwise_in_both_directions() -> None:
    given = LAYOUTS["six policies"][0]
    none = Gold.of(given, replace(JUDGE, common=()))
    assert (none.shared, len({case.group for case in none.cases})) == ({}, 6)
    few = Gold.of(rows(6, 4), replace(JUDGE, common=("text",)))
    assert (few.shared, len({case.group for case in few.cases}), few.near_copies) == ({}, 24, ())


def test_rows_that_were_seen_are_known_by_what_is_not_shared() -> None:
    gold = Gold.of(LAYOUTS["six policies"][0], JUDGE)
    split = gold.split(0)
    seen = sketched_rows(split.judge, split.train)
    assert split.judge.common == ("text",)
    assert not find_near_cases(split.judge, split.test, seen)
    assert find_near_cases(split.judge, split.train[:3], seen) == {case.id for case in split.train[:3]}


def chain_rows(groups: int) -> list[tuple[str, str]]:
    """Return rows whose policies change by a few words from one to the next, then rows that are like no other."""
    draw = random.Random(0)
    words = [text_hash(str(number))[:7] for number in range(40)]
    rows = []
    for number in range(groups):
        rows.append((" ".join(words), f"Reply {number}."))
        for place in draw.sample(range(40), 4):
            words[place] = text_hash(f"{number} {place}")[:7]
    for number in range(30):
        policy = " ".join(text_hash(f"other {number} {place}")[:7] for place in range(40))
        rows.append((policy, f"Other {number}."))
    return rows


def test_a_chain_of_near_copies_is_told_and_can_be_kept_apart() -> None:
    rows = gold_of(CHECK, *chain_rows(9))
    (near,) = rows.near_copies
    # a row between may be left out where the rows beside it are near each other, too
    assert (len(near.groups), near.chain[0], near.chain[-1]) == (9, "rows:1", "rows:9")
    assert sorted(near.chain) == list(near.chain)
    words = near_groups_words(rows)
    told = f"chain of 9 groups: each row nearly repeats the next one in {', '.join(near.chain)}, and the ends have"
    assert told in words
    assert "mapping=jurist.RowMapping(keep_groups=True)" in words
    apart = replace(rows, mapping=jurist.RowMapping(keep_groups=True).to_json())
    assert apart.near_copies == ()
    assert "9 groups hold nearly the same texts and stay apart" in near_groups_words(apart)
    split = apart.split(0)
    assert len({case.group for part in (split.train, split.dev, split.test) for case in part}) == 39
    assert jurist.RowMapping.of_json(apart.mapping).keep_groups, "the card reads it again"


def test_a_card_takes_every_part_of_a_mapping() -> None:
    mapping = jurist.RowMapping(columns={"a": "b"}, labels={"y": "yes"}, merge="median", keep_groups=True)
    card = GoldFileCard.model_validate({"mapping": mapping.to_json()})
    assert jurist.RowMapping.of_json(card.mapping) == mapping


def test_near_copies_of_one_text_are_no_chain() -> None:
    policy = " ".join(text_hash(str(number))[:7] for number in range(40))
    copies = [(f"{policy} {number}", f"Reply {number}.") for number in range(5)]
    (near,) = gold_of(CHECK, *copies, *chain_rows(1)[1:]).near_copies
    assert near.chain == ()


def test_of_a_long_chain_the_rows_at_its_ends_are_named() -> None:
    rows = gold_of(CHECK, *chain_rows(10))
    (near,) = rows.near_copies
    left_out = len(near.chain) - 8
    assert left_out > 0
    listed = f"{', '.join(near.chain[:4])}, ({left_out} more), {', '.join(near.chain[-4:])}, and the ends"
    assert listed in near_groups_words(rows)
