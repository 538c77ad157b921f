"""What a split takes from earlier versions and from a file of one's own, and tests on which nothing can be shown."""

from pathlib import Path

import pytest
from small import FAST, claims, cli, ok, write_jsonl

import jurist
from jurist.errors import TooFewGroupsError
from jurist.gold.goldset import Gold
from jurist.gold.splits import group_hash
from jurist.keeping.artifacts import Store
from jurist.programs.fect import FECT


def test_members_stay_where_the_version_before_had_them_and_new_groups_fill_up() -> None:
    rows = claims(40)
    write_jsonl(Path("gold.jsonl"), rows[: 24 * 3])
    ok("compile", "fect", "--gold", "gold.jsonl", *FAST)
    before = Store().load("fect@1").card["gold"]["parts"]
    write_jsonl(Path("gold.jsonl"), rows)
    checked = ok("gold", "check", "fect", "gold.jsonl")
    assert "24 groups stay where an earlier version had them" in checked.out
    assert "split       train 36, dev 24, test 60" in checked.out
    assert "stay" not in ok("gold", "check", "fect", "gold.jsonl", "--seed", "1").out
    parts = ok("gold", "split", "fect", "gold.jsonl", "--output", "parts", "--json").json
    assert (parts["train"], parts["dev"], parts["test"]) == (36, 24, 60)
    ok("export", "training", "--judge", "fect@1", "--input", "gold.jsonl", "--output", "train.jsonl")
    texts = Path("train.jsonl").read_text("utf-8")
    sealed = [row for row in rows if group_hash(row["group"]) in before["test"]]
    assert len(sealed) == 36
    assert not [row["claim"] for row in sealed if row["claim"] in texts]
    done = ok("compile", "fect", "--gold", "gold.jsonl", *FAST)
    assert "36 train, 24 dev and 60 test cases" in done.err
    after = Store().load("fect@2").card["gold"]["parts"]
    assert "24 groups stayed where an earlier version had them" in done.err
    assert all(set(before[part]) <= set(after[part]) for part in before)
    assert {part: len(names) for part, names in after.items()} == {"train": 12, "dev": 8, "test": 20}
    assert len(Store().earlier_parts("fect", 0, None)) == 40
    assert not Store().earlier_parts("fect", 1, None)
    assert not Store().earlier_parts("fect", 0, (0.5, 0.2, 0.3))


def test_a_test_that_can_show_nothing_ends_before_anything_is_spent() -> None:
    rows = claims(9)
    copies = [{**row, "group": "copy", "claim": f"{row['claim']} Indeed."} for row in rows[:3]]
    write_jsonl(Path("gold.jsonl"), rows + copies)
    near = "2 groups hold nearly the same texts and count as 1, for example"
    refused = cli("compile", "fect", "--gold", "gold.jsonl", *FAST)
    assert refused.code == 2
    assert "the sealed test has 4 groups" in refused.err or "the sealed test has 5 groups" in refused.err
    assert near in refused.err
    assert "give the test more of them (--split 15/15/70); " in refused.err
    assert refused.err.endswith("--anyway goes on\n")
    assert not Path("compiled").exists()
    done = ok("compile", "fect", "--gold", "gold.jsonl", "--split", "15/15/70", *FAST)
    assert "sealed test" in done.out
    assert near in done.err
    assert ok("compile", "fect", "--gold", "gold.jsonl", "--anyway", *FAST).code == 0
    with pytest.raises(TooFewGroupsError, match=r"label rows of about 7 more groups; anyway=True goes on"):
        jurist.compile("fect", claims(5), shares=(0.3, 0.2, 0.5))  # no share of five groups is six
    with pytest.raises(TooFewGroupsError, match=r"label rows of about 1 more group; anyway=True goes on"):
        jurist.compile("fect", claims(7), shares=(0.1, 0.1, 0.8))


def test_a_holdout_is_the_test_and_is_read_again() -> None:
    rows = claims(40)
    write_jsonl(Path("own.jsonl"), rows[60:])
    write_jsonl(Path("gold.jsonl"), rows[: 22 * 3])
    done = ok("compile", "fect", "--gold", "gold.jsonl", "--holdout", "own.jsonl", *FAST)
    assert (
        "the test is own; 6 rows of the gold left out: of a group of that test, or nearly the same"
        in done.err
    )
    card = Store().load("fect@1").card["gold"]
    assert (card["train"] + card["dev"], card["test"]) == (60, 60)
    own = Gold.load("own.jsonl", FECT)
    assert (card["holdout"]["name"], card["holdout"]["sha256"]) == ("own", own.sha256)
    write_jsonl(Path("later.jsonl"), claims(44)[40 * 3 :])
    ok("artifacts", "remember", "fect@1", "later.jsonl")
    ok("report", "fect@1", "-o", "report.html")
    write_jsonl(Path("own.jsonl"), rows[63:])
    assert "does not give the sealed test" in cli("artifacts", "remember", "fect@1", "later.jsonl").err
