"""Writing gold: what is imported reads back as the same gold set."""

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jurist.errors import GoldError
from jurist.gold.goldset import Gold, import_gold
from jurist.gold.writing import write_jsonl
from jurist.programs.cognibench import COGNIBENCH
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge
from jurist.signatures.cognibench import LABELS


class Check(dspy.Signature):
    """Decide whether the reply keeps to the policy."""

    policy: str = dspy.InputField()
    reply: str = dspy.InputField()
    keeps: bool = dspy.OutputField()


CHECK = Judge(name="check", signature=Check, positive=frozenset({"false"}))

_TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
_GROUP = st.sampled_from(["", "g", "h", "ü"])
_RATER = st.sampled_from(["ann", "bob"])
_FECT_ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "conversation": _TEXT,
            "claim": _TEXT,
            "factual": st.sampled_from([True, False, None, "factual"]),
            "group": _GROUP,
            "ratings": st.dictionaries(_RATER, st.sampled_from([True, "non_factual", None])),
            "industry": _TEXT,
        }
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda row: (row["conversation"], row["claim"]),
)
_LABEL = st.sampled_from([*LABELS, None])


def _response(sentences: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    labels = st.lists(_LABEL, min_size=len(sentences), max_size=len(sentences))
    turn = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": _TEXT})
    return st.fixed_dictionaries(
        {
            "reference": _TEXT,
            "question": _TEXT | st.just(""),
            "history": st.lists(turn, max_size=2),
            "dialogue": _TEXT | st.none(),
            "sentences": st.just(sentences),
            "labels": labels | st.none(),
            "group": _GROUP,
            "ratings": st.dictionaries(st.just("ann"), labels),
        }
    )


_RESPONSES = st.lists(_TEXT, min_size=1, max_size=3).flatmap(_response).map(lambda row: [row])
_CHECK_ROWS = st.lists(
    st.fixed_dictionaries(
        {"policy": _TEXT, "reply": _TEXT, "keeps": st.sampled_from([True, "false", None]), "group": _GROUP},
        optional={"ratings": st.just({"ann": False})},
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda row: (row["policy"], row["reply"]),
)
_SETS = st.one_of(
    st.tuples(st.just(FECT), _FECT_ROWS),
    st.tuples(st.just(COGNIBENCH), _RESPONSES),
    st.tuples(st.just(CHECK), _CHECK_ROWS),
)


@given(_SETS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_import_reads_back_the_same(tmp_path: Path, made: tuple[Judge, list[dict[str, Any]]]) -> None:
    judge, rows = made
    first, second = tmp_path / "raw.jsonl", tmp_path / "canonical.jsonl"
    assert write_jsonl(rows, first) == len(rows)
    gold = import_gold(first, judge, second, labelled=False)
    again = Gold.load(second, judge, labelled=False)
    assert again.sha256 == gold.sha256 == Gold.load(first, judge, labelled=False).sha256
    assert [(case.inputs, case.ratings) for case in again.cases] == [
        (case.inputs, case.ratings) for case in gold.cases
    ]
    import_gold(second, judge, first, labelled=False)
    assert first.read_bytes() == second.read_bytes()


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(GoldError, match="cannot write"):
        write_jsonl([{"a": 1}], tmp_path / "file" / "x.jsonl")
    (tmp_path / "folder").mkdir()
    with pytest.raises(GoldError, match="cannot write"):
        write_jsonl([{"a": 1}], tmp_path / "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_lone_surrogate_is_written_as_an_escape(tmp_path: Path) -> None:
    write_jsonl([{"a": "\ud800é"}], tmp_path / "x.jsonl")
    assert json.loads((tmp_path / "x.jsonl").read_text(encoding="utf-8")) == {"a": "\ud800é"}
