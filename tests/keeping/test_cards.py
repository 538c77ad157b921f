"""Cards and the files beside them: written back as they were read; no ill-typed part of them breaks a command."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from judges import FLAG, ROBUSTNESS, changed
from small import FAST, OWN, cli, ok, replies, write_jsonl

import jurist
from jurist.evaluation.proof import prove_improvement
from jurist.evaluation.rows import JudgedRow
from jurist.keeping.artifacts import Store
from jurist.keeping.card import Card, CardContent
from jurist.keeping.card_parts import DecisionCard, GoldCard, GoldFileCard, WordsCard
from jurist.keeping.part import Part
from jurist.keeping.records import (
    CandidateRecord,
    MeasuredByLabels,
    MeasuredRobustness,
    ProofRecord,
)
from jurist.keeping.sealing import (
    CARD,
    HISTORY,
    PROGRAM,
    PROOF,
    canonical_json,
    records_json,
    seal_addition,
    seal_card,
)
from jurist.programs.state import PromptState
from jurist.report.scores import disagreement_words, metric_cell, robustness_table

OTHER_TYPES: tuple[Any, ...] = (None, 7, 10**400, "x", [1], {"x": 1})
"""Values that stand where a part of a card was."""


def score(value: float) -> dict[str, Any]:
    return {"value": value, "low": value - 0.1, "high": value + 0.1, "worst": value, "best": value}


def answer(label: str) -> dict[str, Any]:
    told = {"status": "verdict", "values": [label], "votes": [{label: 1}], "agreement": [1.0]}
    return {**told, "probability": [0.75], "drawn": 1, "reasoning": "", "error": ""}


def proven_rows(right: int) -> list[JudgedRow]:
    rows = []
    for number in range(20):
        gold = "true" if number % 2 else "false"
        wrong = "false" if number % 2 else "true"
        said = gold if number < right else wrong
        rows.append(JudgedRow(id=f"c{number}", group=f"g{number}", gold=(gold,), predicted=(said,)))
    return rows


def whole_card() -> dict[str, Any]:
    """Return a card with every part that a compilation, a cascade or a version made of a version writes."""
    proof = prove_improvement(
        proven_rows(8),
        proven_rows(18),
        FLAG.metric,
        FLAG.comparison,
        constant=('always "true"', proven_rows(10)),
    ).to_card()
    criterion = {"metric": "f1", "basic": 0.4, "compiled": 0.6, "difference": 0.2, "low": 0.0, "high": 0.4}
    model = {"name": "offline", "api_base": None, "temperature": 0.0, "max_tokens": None, "seed": 0}
    spend = {"calls": 9, "input_tokens": 90, "output_tokens": 9, "cost": 0.5, "unpriced": 1, "replayed": 0}
    step = {"level": 0.9, "by": [5, 5], "right": [5, 4], "bound": 0.8, "answered": 10, "agreement": 0.9}
    reference = {
        "answer": "regression",
        "score": 0.6,
        "low": 0.5,
        "high": 0.7,
        "judge_is": "worse",
        "p": 0.01,
    }
    found = {
        "gold": "g",
        "cases": 10,
        "left_out": 1,
        "agree": 0.9,
        "chosen": step,
        "steps": [step],
        "words": "answers",
    }
    judges = [{"judge": "flag:basic", "model": "offline", "alone": 0.5, "answered": 5, "right": 4}]
    prices = {"tokens": {"cascade": 5.0, "last": 9.0}, "dollars": {"cascade": 1.0, "last": 2.0}}
    member = {
        "judge": "flag:basic",
        "reference": "flag",
        "prompt": PromptState.of(FLAG.basic()).to_json(),
        "model": model,
        "verifier": None,
        "adapter": "chat",
        "thresholds": {"samples": 1, "threshold": 1},
        "trust": {"intercept": 0.1, "slope": 1.5, "labels": {"true": 0.2}},
    }
    return {
        **proof,
        "decision": {**proof["decision"], "criteria": {"tone": {**criterion, "shown": "better", "units": 9}}},
        "parent": None,
        "created": "2026-01-01T00:00:00Z",
        "model": model,
        "prompt_model": model,
        "adapter": "chat",
        "structure": "",
        "setting": {"threshold": 0.5},
        "thresholds": {"samples": 3, "threshold": 2, "weights": {"true": 1.5}},
        "job": {"model": model, "adapter": "chat", "samples": 3, "threshold": None},
        "gold": {
            "name": "g",
            "source": "g.csv",
            "sha256": "ab",
            "mapping": {"columns": {"text": "message"}},
            "train": 9,
            "dev": 6,
            "test": 20,
            "shares": [0.3, 0.2, 0.5],
            "common": [],
            "parts": {"train": ["a"]},
            "seen": ["a", "b"],
            "holdout": {"name": "h", "source": "h.csv", "sha256": "cd", "left_out": 2},
        },
        "optimizer": {
            "name": "race",
            "params": {"steps": "3"},
            "settings": {"race": {}},
            "seed": 0,
            "candidates": 4,
        },
        "guidelines": [{"rule": "Be strict.", "cases": ["a"]}],
        "references": {"constant": reference, "words": reference, "people": None},
        "warnings": ["few groups"],
        "calibration": {
            "compiled": {"units": 20, "ece": 0.1, "brier": 0.2, "auc": None, "bins": [{"low": 0.0}]}
        },
        "inconsistent": {"basic": 0, "compiled": 1},
        "against": {
            "second": "flag@1",
            "words": "same",
            "not_worse": {"outcome": "holds", "margin": 0.05, "words": "w"},
        },
        "test_openings": 1,
        "test_rows": {"sealed": 20, "opened_before": 0, "used": 20},
        "spend": {
            "calls": 9,
            "tokens": 99,
            "cost": 0.5,
            "lost": 1,
            "by_purpose": {"total": spend, "judge": spend},
        },
        "tokens_per_row": {
            "basic": {"input": 9.0, "output": 1.0},
            "compiled": {"input": 90.0, "output": 1.0},
        },
        "dollars_per_1000_rows": {"basic": 0.1, "compiled": 0.2},
        "seconds_per_row": {"compiled": 0.5},
        "cascade": {"level": 0.9, "members": [member], "found": {**found, "judges": judges, **prices}},
        "versions": {"jurist": "0.1.0"},
    }


HISTORY_LINE: dict[str, Any] = {
    "candidate": "abc",
    "parent": None,
    "source": "basic",
    "step": 0,
    "calls": 3,
    "demo_ids": ["a"],
    "setting": {},
    "params": {"seed": 1},
    "prompt": PromptState.of(FLAG.basic()).brief(),
    "train": {"cases": 9, "failed": 0, "value": 0.5},
    "dev": {"cases": 0, "failed": 0, "value": None},
    "gain": 0.1,
    "estimate": {"value": 0.5, "error": 0.1},
    "tokens": 12.5,
    "cost": None,
}
PROOF_LINE: dict[str, Any] = {
    "case": "c",
    "group": "g",
    "gold": ["true"],
    "basic": answer("true"),
    "compiled": answer("false"),
}
LABEL_PROOF: dict[str, Any] = {
    **{"verdict": "better", "decided": "2026", "model": "m", "rows": {"name": "new", "sha256": "ab"}},
    **{"opening": 1, "level": 0.025, "surveyed": {"rate": 0.2, "units": 50, "groups": 20, "rows": 50}},
    **{"wins": 9, "losses": 2, "ties": 1, "untold": 1, "p": 0.01, "gain_in": "f1"},
    "gain": {"value": 0.1, "low": 0.0, "high": 0.2, "groups": 9},
}
RECORDS: dict[type[Part], dict[str, Any]] = {
    Card: {**whole_card(), "judge": "flag", "version": 1},
    CandidateRecord: HISTORY_LINE,
    ProofRecord: PROOF_LINE,
    MeasuredRobustness: {"measured": [ROBUSTNESS]},
    MeasuredByLabels: {"measured": [LABEL_PROOF]},
}


def places_in(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value in JSON values, from the outermost on."""
    if place:
        yield place
    entries: Any = ()
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list):
        entries = enumerate(value)
    for name, part in entries:
        yield from places_in(part, (*place, name))


def changed_at(value: Any, place: tuple[Any, ...], other: Any) -> Any:
    """Return JSON values with another value at one place."""
    copy = json.loads(json.dumps(value))
    part = copy
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = other
    return copy


@pytest.mark.parametrize("kind", RECORDS)
def test_a_part_is_written_as_it_was_read(kind: type[Part]) -> None:
    written = kind.model_validate(RECORDS[kind]).to_json()
    assert canonical_json(written) == canonical_json(RECORDS[kind])


def show(record: Part) -> None:
    """Use what commands show of a record."""
    if isinstance(record, MeasuredRobustness):
        for measured in record.measured:
            robustness_table(measured, "")
    if isinstance(record, MeasuredByLabels):
        for proof in record.measured:
            disagreement_words(proof)
    if isinstance(record, Card):
        for scores in record.proven_scores.values():
            for one in scores.values():
                metric_cell(one)
        assert isinstance(record.price_words, str)


@pytest.mark.parametrize("kind", RECORDS)
def test_every_value_of_another_type_is_read_or_is_one_fault(kind: type[Part]) -> None:
    for place in places_in(RECORDS[kind]):
        for other in OTHER_TYPES:
            data = changed_at(RECORDS[kind], place, other)
            fault = kind.fault(data)
            assert "\n" not in fault
            if not fault:
                show(kind.model_validate(data))


@pytest.mark.parametrize(
    ("place", "other", "fault"),
    [
        (("decision", "warnings"), "x", "decision.warnings: Input should be a valid list, not 'x'"),
        (("scores", "basic", "f1"), {"value": 0.5}, "scores.basic.f1.low: it is missing"),
        (("scores", "basic", "f1", "low"), "x", "scores.basic.f1.low: it must be a number, not 'x'"),
        (("gold", "mapping"), {"rows": {}}, "gold.mapping: it maps rows"),
        (("cascade", "members"), [], "cascade.members: "),
        (("spend", "calls"), "many", "spend.calls: "),
    ],
)
def test_a_fault_says_where_it_is(place: tuple[Any, ...], other: Any, fault: str) -> None:
    assert Card.fault(changed_at(RECORDS[Card], place, other)).startswith(fault)


def test_a_decision_without_all_of_its_figures_is_no_proof() -> None:
    decision = RECORDS[Card]["decision"]
    assert DecisionCard.model_validate(decision).tested_figures is not None
    for name in ("metric", "verdict", "basic", "compiled", "difference", "low", "high", "cases"):
        part = {key: value for key, value in decision.items() if key != name}
        assert DecisionCard.model_validate(part).tested_figures is None


@pytest.mark.parametrize(
    ("basic", "compiled", "words"),
    [
        (396, 3481, "396 -> 3,481 (8.8 times)"),
        (631, 0, "631 -> 0"),  # words decide, and ask no model
        (0, 40, "0 -> 40"),
        (0, 0, ""),
    ],
)
def test_tokens_of_two_prompts_are_put_in_words(basic: float, compiled: float, words: str) -> None:
    tokens = {"basic": {"input": basic, "output": 0}, "compiled": {"input": compiled, "output": 0}}
    assert Card(judge="fect", version=1, tokens_per_row=tokens).tokens_words == words


@pytest.mark.parametrize(("labels", "shown"), [(1, 6), (2, 6), (3, 4), (7, 1), (20, 1)])
def test_what_weighs_most_stays_one_short_line(labels: int, shown: int) -> None:
    grams = [f"word{number}" for number in range(6)]
    heaviest = {f"label{number}": grams for number in range(labels)}
    line = WordsCard(decide="words", heaviest=heaviest).words
    assert line.count("word0") == labels
    assert line.count("word") == labels * shown + 1  # and "words alone" decide


def test_names_that_others_set_count_last() -> None:
    first = CardContent(adapter="chat", warnings=["a"])
    joined = first.joined(CardContent(adapter=None), CardContent(structure="schema"))
    assert joined.to_json() == {"adapter": None, "warnings": ["a"], "structure": "schema"}
    assert joined.only("structure", "parent").to_json() == {"structure": "schema"}


COMMANDS = (
    ("artifacts", "list"),
    ("artifacts", "show", "flag@1"),
    ("artifacts", "show", "flag@1", "--history"),
    ("artifacts", "diff", "flag@1", "flag:basic"),
    ("artifacts", "verify"),
    ("report", "flag@1", "-o", "page.html"),
    ("export", "flag@1", "--to", "markdown"),
    ("export", "flag@1", "--to", "python"),
)


def write_version(card: dict[str, Any], history: dict[str, Any], proof: dict[str, Any]) -> None:
    """Write ``flag@1`` with these files, sealed as a stranger would."""
    artifact = Store("compiled").save(FLAG, changed(FLAG), {}, [], make_latest=True)
    program = (artifact.path / PROGRAM).read_bytes()
    content = {**artifact.card, **card, "judge": "flag", "version": 1}
    records = {PROOF: records_json([proof])}
    sealed = seal_card(program, records_json([history]), content, records)
    files = {CARD: canonical_json(sealed), HISTORY: records_json([history]), **records}
    files["robustness.json"] = seal_addition({"measured": [ROBUSTNESS]}, program)
    files["disagreements.json"] = seal_addition({"measured": [LABEL_PROOF]}, program)
    for name, data in files.items():
        (artifact.path / name).write_bytes(data)


def single_card() -> dict[str, Any]:
    """Return the card of a version with one prompt."""
    card = whole_card()
    del card["cascade"]
    card["thresholds"] = {"samples": 1, "threshold": 1}
    return card


def run_all(commands: tuple[tuple[str, ...], ...] = COMMANDS) -> list[str]:
    """Run commands; return the last line of each that fails, which is an error in one line."""
    failures = []
    for argv in commands:
        done = cli(*argv)
        if done.code:
            assert done.lines[-1].startswith("error: "), (argv, done.err)
            failures.append(done.lines[-1])
    return failures


def test_a_whole_version_passes_every_command() -> None:
    write_version(single_card(), HISTORY_LINE, PROOF_LINE)
    assert run_all() == []


def test_a_whole_cascade_is_shown_and_reported() -> None:
    write_version(whole_card(), HISTORY_LINE, PROOF_LINE)
    assert run_all(COMMANDS[:6]) == []


CARD_PLACES = list(places_in(single_card()))
FILE_PLACES = [
    (name, place)
    for name, line in (("history", HISTORY_LINE), ("proof", PROOF_LINE))
    for place in places_in(line)
]


@pytest.mark.slow
@pytest.mark.parametrize("place", CARD_PLACES, ids=lambda place: ".".join(map(str, place)))
def test_no_ill_typed_card_breaks_a_command(place: tuple[Any, ...], tmp_path: Path) -> None:
    for other in ("x", 7, [], {"x": 1}):
        write_version(changed_at(single_card(), place, other), HISTORY_LINE, PROOF_LINE)
        run_all()
        for file in (tmp_path / "compiled" / "flag").rglob("*"):
            if file.is_file():
                file.unlink()


@given(
    st.sampled_from(CARD_PLACES), st.sampled_from(FILE_PLACES), st.sampled_from(OTHER_TYPES), st.booleans()
)
@settings(max_examples=6, deadline=None)
@example(("decision", "warnings"), FILE_PLACES[0], "x", True)
@example(("scores", "basic", "f1", "low"), FILE_PLACES[0], None, True)
@example(CARD_PLACES[0], ("history", ("prompt", "self", "instructions")), [1], False)
def test_no_mutant_breaks_a_command(
    card_place: tuple[Any, ...], file_place: tuple[str, tuple[Any, ...]], other: Any, in_card: bool
) -> None:
    card, history, proof = single_card(), HISTORY_LINE, PROOF_LINE
    name, place = file_place
    if in_card:
        card = changed_at(card, card_place, other)
    elif name == "history":
        history = changed_at(history, place, other)
    else:
        proof = changed_at(proof, place, other)
    shutil.rmtree("compiled", ignore_errors=True)
    write_version(card, history, proof)
    run_all()


@pytest.mark.parametrize(
    ("decide", "words"),
    [
        ("words", "no language model is asked: words alone decide"),
        ("length", "no language model is asked: the longer of two texts decides"),
        ("stack", ""),
        ("questions", ""),
    ],
)
def test_the_card_says_that_no_model_is_asked(decide: str, words: str) -> None:
    assert WordsCard(decide=decide).without_model == words


def test_commands_read_gold_again_with_the_options_of_the_compilation() -> None:
    mapping = jurist.RowMapping(columns={"The reply": "reply"}, labels={"y": "yes"}, merge="median")
    card = GoldFileCard(name="labels", source="labels.csv", mapping=mapping.to_json(), rejected=2)
    options = " --rejects aside.jsonl --column 'The reply=reply' --map y=yes --merge median"
    assert card.reading_options == options
    assert card.gold_option == f"--gold labels.csv{options}"
    assert GoldFileCard(source="my labels.csv", name="my labels").gold_option == "--gold 'my labels.csv'"
    assert GoldFileCard(name="support-desk").gold_option == "--gold support-desk"
    assert GoldFileCard(name="rows", source="rows").gold_option == "--gold labels.csv"  # rows of Python
    assert GoldFileCard(name="labels").reading_options == ""
    apart = GoldFileCard(name="labels", mapping=jurist.RowMapping(keep_groups=True).to_json())
    assert (apart.reading_options, apart.split_option, card.split_option) == ("", " --keep-groups", "")


@pytest.mark.parametrize(
    ("card", "options"),
    [
        ({}, ""),
        ({"shares": [0.3, 0.2, 0.5]}, ""),
        ({"shares": [0.5, 0.2, 0.3]}, ""),
        ({"shares": [0.4, 0.2, 0.4]}, " --split 40/20/40"),
        ({"shares": [0.6, 0.4, 0.0], "holdout": {"source": "my test.csv"}}, " --holdout 'my test.csv'"),
    ],
)
def test_a_command_splits_gold_again_as_then(card: dict[str, Any], options: str) -> None:
    assert GoldCard.model_validate(card).split_option == options


@pytest.mark.slow
def test_the_report_reads_gold_with_the_rejects_that_compile_was_given(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN, "utf-8")
    rows = [*replies(), {"policy": "Any.", "reply": "Some.", "verdict": "perhaps"}]
    gold = write_jsonl(tmp_path / "gold.jsonl", rows)
    store = ("--store", tmp_path / "store")
    compiling = ("compile", tmp_path / "own.py", "--gold", gold, "--rejects", tmp_path / "bad.jsonl", *store)
    ok(*compiling, *FAST, "--no-words", "--anyway")
    assert Store(tmp_path / "store").load("may-go").about.gold.rejected == 1
    page = tmp_path / "report.html"
    ok("report", "may-go@1", "--output", page, *store)
    assert f"--gold {gold} --rejects aside.jsonl" in re.sub("<[^>]*>", "", page.read_text("utf-8"))
