"""Moving a version to another model: what is asked, what the verdict rests on, and what follows from it."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from deciders import serving_sparrow
from loopback import Loopback, field_of, truth_of
from proving import filled
from small import FAST, Done, claims, cli, ok, read_jsonl, write_jsonl

import jurist
from jurist.evaluation.model_moves import judge_move
from jurist.jobs.openings import Openings

GOLD = claims(groups=60)
TRUTH = {row["claim"]: row["factual"] for row in GOLD}


def reply(label: object) -> str:
    return f"[[ ## factual ## ]]\n{label}\n\n[[ ## completed ## ]]"


def right(messages: list[dict[str, Any]]) -> str:
    return reply(TRUTH[field_of(str(messages[-1]["content"]), "claim")])


def wrong(messages: list[dict[str, Any]]) -> str:
    return reply(not TRUTH[field_of(str(messages[-1]["content"]), "claim")])


def learning(messages: list[dict[str, Any]]) -> str:
    """Answer well with demonstrations, and by chance without any."""
    claim = field_of(str(messages[-1]["content"]), "claim")
    if len(messages) == 2:
        return reply(truth_of(claim))
    return reply(TRUTH[claim] is not truth_of(claim, (True, *[False] * 9)))


def mostly_right(messages: list[dict[str, Any]]) -> str:
    claim = field_of(str(messages[-1]["content"]), "claim")
    errs = truth_of(claim, (True, False, False, False, False, False))
    return reply(TRUTH[claim] is not errs)


def as_json(messages: list[dict[str, Any]]) -> str:
    """Answer well in JSON alone."""
    if "JSON" not in str(messages):
        return "well"
    claim = field_of(str(messages[-1]["content"]), "claim")
    return json.dumps({"factual": TRUTH[claim]})


@pytest.fixture(scope="module")
def proven_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with gold and ``fect@1``, proven on a model that learns from demonstrations."""
    folder = tmp_path_factory.mktemp("compiled-once")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_DATA_HOME", str(folder / "data"))
        write_jsonl(Path("gold.jsonl"), GOLD)
        patch.setenv("OPENAI_API_KEY", "x")
        with Loopback(learning) as server:
            ends = ("--model", "openai/old", "--api-base", server.url, "--yes")
            ok("compile", "fect", "--gold", "gold.jsonl", *FAST, "--no-words", *ends)
        ok("artifacts", "tag", "fect@1", "prod")
        yield folder


@pytest.fixture(autouse=True)
def _world(proven_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_key: str) -> None:
    shutil.copytree(proven_store, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "here" / "data"))


def moved(server: Any, *more: object, model: str = "openai/new") -> Done:
    return cli("move", "fect@1", "--model", model, "--api-base", server.url, "--yes", *more)


def test_a_better_model_takes_the_place_and_the_tags(serve: Callable[..., Any]) -> None:
    server = serve(right)
    done = moved(server, "--json")
    assert done.code == 0, done.err
    card = done.json
    assert card["moved"]["outcome"] in ("better", "as good")
    assert {hit.body["model"] for hit in server.hits} == {"new"}
    assert (card["parent"], card["moved"]["parent"], card["model"]["name"]) == (1, "fect@1", "openai/new")
    assert (card["latest"], card["tags"]) == (True, ["prod"])
    assert jurist.Store("compiled").load("fect@prod").version == 2
    assert jurist.Store("compiled").load("fect").version == 2
    assert "0 problems" in ok("artifacts", "verify").out or "no byte changed" in ok("artifacts", "verify").out
    fitted = card["gold"]["train"] + card["gold"]["dev"] - len(shown_ids())
    assert server.count == fitted + 2 * card["gold"]["test"]
    assert "moved from fect@1" in ok("artifacts", "list").out


def shown_ids() -> list[str]:
    """Return the ids of the demonstrations of ``fect@1``."""
    artifact = jurist.Store("compiled").load("fect@1")
    for candidate in artifact.candidates:
        if candidate.candidate == artifact.about.optimizer.candidate:
            return candidate.demo_ids
    return []


def test_the_old_model_is_not_asked_and_its_stored_answers_decide(serve: Callable[..., Any]) -> None:
    server = serve(mostly_right)
    card = moved(server, "--json").json
    old = [line["compiled"]["values"] for line in jurist.Store("compiled").load("fect@1").proof()]
    new = [line["compiled"]["values"] for line in read_jsonl(Path("compiled/fect/2/proof.jsonl"))]
    differing = sum(one != two for one, two in zip(old, new, strict=True)) / len(old)
    assert card["moved"]["differing"] == pytest.approx(differing)
    assert card["against"]["second"] == "fect@1"


def test_a_worse_model_is_kept_and_not_promoted(serve: Callable[..., Any]) -> None:
    server = serve(wrong)
    done = moved(server)
    assert done.code == 3, done.err
    assert "decision: fect@2 is worse" in done.people
    assert "tags that moved" not in done.people
    store = jurist.Store("compiled")
    assert (store.load("fect@prod").version, store.load("fect").version) == (1, 1)
    # The second try has asked in JSON and with three samples, too.
    bodies = [hit.body for hit in server.hits]
    assert any(body.get("response_format") for body in bodies)
    assert any(body.get("temperature") for body in bodies)


def test_a_model_that_answers_in_another_form_is_asked_in_that_form(serve: Callable[..., Any]) -> None:
    card = moved(serve(as_json), "--json").json
    assert card["moved"]["way"] == "in the adapter json"
    assert (card["adapter"], card["moved"]["outcome"]) == ("json", "better")


def test_a_decision_model_is_asked_without_demonstrations_and_a_chat_model_again() -> None:
    with serving_sparrow() as url:
        ends = ("--model", "systemone/sparrow", "--api-base", url, "--yes", "--json")
        card = cli("move", "fect@1", *ends).json
    assert card["moved"]["way"] == "without its demonstrations"
    assert list(card["moved"]["tried"]) == ["without its demonstrations"]
    assert card["moved"]["outcome"] in ("worse", "not known")
    assert "asked without its demonstrations" in ok("artifacts", "show", "fect@2").out
    back = cli("move", "fect@2", "--model", "offline", "--json").json
    assert (back["parent"], back["model"]["name"], back["moved"]["model"]) == (
        2,
        "offline",
        "systemone/sparrow",
    )


def test_what_cannot_be_told_names_the_labels_that_could(serve: Callable[..., Any]) -> None:
    done = moved(serve(mostly_right), "--margin", "0.001")
    assert done.code in (0, 1)
    if done.code == 1:
        assert "next: label" in done.people
        assert "if openai/old is gone: --against recorded:FILE" in done.people


def test_each_move_is_one_opening_and_the_level_falls(serve: Callable[..., Any]) -> None:
    cases = jurist.Gold.load("gold.jsonl", jurist.load("fect:basic").judge).cases
    assert max(row.openings for row in Openings().of(cases)) == 1
    first = moved(serve(right), "--json").json
    assert (first["test_openings"], first["decision"]["tested"]) == (2, 0.0125)
    second = moved(serve(right), "--json", model="openai/newer").json
    assert (second["test_openings"], second["decision"]["tested"]) == (3, 0.00625)
    assert max(row.openings for row in Openings().of(cases)) == 3


def test_a_moved_version_is_moved_on(serve: Callable[..., Any]) -> None:
    server = serve(right)
    moved(server)
    model = ("--model", "openai/third", "--api-base", server.url, "--yes")
    again = cli("move", "fect@2", *model, "--margin", 0.3, "--json")
    assert (again.code, again.json["parent"], again.json["moved"]["outcome"]) == (0, 2, "as good")


def test_python_moves_too(serve: Callable[..., Any]) -> None:
    server = serve(right)
    result = jurist.move("fect@1", jurist.Model(name="openai/new", api_base=server.url))
    assert result.verdict.holds
    assert (result.artifact.ref, result.parent.ref, result.tags) == ("fect@2", "fect@1", ("prod",))
    assert result.words.startswith(result.verdict.words)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("move", "fect@7", "--model", "openai/new"), "there is no fect@7"),
        (("move", "cheap@1", "--model", "openai/new"), "no compiled artifact of judge 'cheap'"),
        (("move", "fect@1", "--model", "openai/new", "--gold", "fect-mini"), "does not give the sealed test"),
        (("move", "fect@1", "--model", "new"), "does not name provider and model"),
        (("move", "fect@1", "--yes"), "no model is named that fect@1 moves to; name it with --model"),
    ],
)
def test_what_cannot_be_moved_is_said_in_one_line(argv: tuple[str, ...], words: str) -> None:
    done = cli(*argv)
    assert done.code in (1, 2)
    assert words in done.err
    assert len(done.lines) == 1


def test_a_version_is_not_moved_to_the_model_that_it_has() -> None:
    card = jurist.Store("compiled").load("fect@1").about
    done = cli("move", "fect@1", "--model", "openai/old", "--api-base", str(card.model.api_base))
    assert "fect@1 was proven with openai/old already" in done.err


def test_without_stored_answers_the_old_model_is_asked_on_demand(serve: Callable[..., Any]) -> None:
    server = serve(right)
    more = ("--model", "openai/old", "--api-base", server.url, "--yes")
    ok("compile", "fect", "--gold", "gold.jsonl", *FAST, "--no-words", *more)
    unproven = jurist.Store("compiled").load("fect@2")
    assert unproven.about.decision.verdict == "nothing better found"
    asked = ("move", "fect@2", "--model", "openai/new", "--api-base", server.url, "--yes")
    refused = cli(*asked)
    assert "keeps no answers of openai/old to its sealed test" in refused.err
    assert "--ask-old" in refused.err
    before = server.count
    done = ok(*asked, "--ask-old", "--margin", 0.3, "--json")
    assert done.json["moved"]["outcome"] == "as good"
    assert {hit.body["model"] for hit in server.hits[before:]} == {"old", "new"}


def test_the_budget_holds_and_a_stopped_move_goes_on(serve: Callable[..., Any]) -> None:
    server = serve(right)
    whole = moved(server, "--json", "--store", shutil.copytree("compiled", "other"))
    requests = server.count
    server.hits.clear()
    stopped = moved(server, "--max-calls", requests // 2)
    assert stopped.code == 1
    assert "--resume" in stopped.err
    assert server.count <= requests // 2
    done = moved(server, "--resume", "--json")
    assert server.count == requests
    assert done.json["moved"] == whole.json["moved"]


def test_a_margin_wide_enough_lets_a_judge_through() -> None:
    """The verdict follows from the interval alone."""
    from jurist.evaluation.closed_labels import ClosedLabels
    from jurist.evaluation.contrasts import contrast
    from jurist.evaluation.disagreements import fewest_labels
    from jurist.evaluation.rows import JudgedRow

    labels = ClosedLabels(("yes", "no"), {"yes"})
    gold = ["yes", "no"] * 40
    old = [JudgedRow(id=f"{n:03}", group=f"{n}", gold=(one,), predicted=(one,)) for n, one in enumerate(gold)]
    new = list(old)
    for place in (3, 20, 41):
        other = "no" if gold[place] == "yes" else "yes"
        new[place] = JudgedRow(id=f"{place:03}", group=f"{place}", gold=(gold[place],), predicted=(other,))
    test = contrast(("new", [new]), ("old", [old]), "accuracy", labels)
    lowest = -test.interval.low
    outcomes = []
    for margin in (lowest + 1e-9, lowest - 1e-6):
        outcomes.append(judge_move(test, margin, 80, 3 / 80).outcome)
    assert outcomes == ["as good", "not known"]
    unknown = judge_move(test, 0.03, 80, 3 / 80)
    assert unknown.labels is None or fewest_labels(0.025) <= unknown.labels < (unknown.rows or 0)
    alike = contrast(("new", [old[:40]]), ("old", [old[:40]]), "accuracy", labels)
    unknown = judge_move(alike, 0.03, 40, 0.0)
    assert (unknown.outcome, unknown.labels) == ("not known", fewest_labels(alike.tested))
    assert unknown.rows is not None
    assert unknown.rows >= 40 * unknown.labels


def test_a_compilation_begins_with_the_prompt_of_a_version(serve: Callable[..., Any]) -> None:
    server = serve(learning)
    ends = ("--model", "openai/old", "--api-base", server.url, "--yes", "--json")
    argv = ("compile", "fect", "--gold", "gold.jsonl", "--optimizer", "opro", "--no-words")
    few = ("--set", "steps=1", "--set", "candidates=1", "--max-calls", 600)
    done = ok(*argv, *few, "--start", "fect@1", *ends)
    started = jurist.Store("compiled").load("fect@2")
    assert started.about.optimizer.start == "fect@1"
    sources = [candidate.source for candidate in started.candidates]
    assert "fect@1" in sources
    assert done.json["decision"]["verdict"] == "better"
    proven = started.proof()[0]
    assert {"basic", "compiled"} <= proven.keys()


def test_a_version_that_shows_a_row_of_the_sealed_test_is_no_start(serve: Callable[..., Any]) -> None:
    argv = (
        "compile",
        "fect",
        "--gold",
        "gold.jsonl",
        *FAST,
        "--no-words",
        "--seed",
        "3",
        "--start",
        "fect@1",
    )
    refused = cli(*argv)
    assert refused.code == 1
    assert "of the test case" in refused.err or "is the test case" in refused.err


# -- labels where the two models differ -------------------------------------------------------------


NEW = claims(groups=150)[60 * 3 :]
NEW_TRUTH = {row["claim"]: row["factual"] for row in NEW}


def old_on_new(messages: list[dict[str, Any]]) -> str:
    """Be wrong of every third new claim."""
    claim = field_of(str(messages[-1]["content"]), "claim")
    return reply({**TRUTH, **NEW_TRUTH}[claim] is not truth_of(claim, (True, False, False)))


def right_on_all(messages: list[dict[str, Any]]) -> str:
    return reply({**TRUTH, **NEW_TRUTH}[field_of(str(messages[-1]["content"]), "claim")])


def write_new_rows() -> None:
    write_jsonl(
        Path("new.jsonl"), [{name: row[name] for name in ("group", "conversation", "claim")} for row in NEW]
    )


def filled_sheet(sheet: Path) -> Path:
    label = {
        (row["conversation"], row["claim"]): "factual" if row["factual"] else "non_factual" for row in NEW
    }
    return filled(sheet, lambda inputs: label[inputs["conversation"], inputs["claim"]])


def test_labels_where_the_two_differ_decide_and_names_follow(serve: Callable[..., Any]) -> None:
    server = serve(right_on_all)
    kept = moved(server, "--margin", "0.000001", "--json").json
    ok("artifacts", "tag", "fect@1", "latest")
    ok("artifacts", "tag", "fect@1", "prod")
    assert kept["version"] == 2
    write_new_rows()
    old = serve(old_on_new)
    verdicts = Path("judged.jsonl")
    ends = ("--model", "openai/old", "--api-base", old.url, "--yes")
    ok("run", "fect@1", "--input", "new.jsonl", "--output", str(verdicts), *ends)
    asked = old.count
    prove = ("prove", "fect@2", "--against", "recorded:judged.jsonl", "--rows", "new.jsonl", "--yes")
    plan = ok(*prove, "--api-base", server.url, "--json").json
    assert old.count == asked  # the old model is gone, and is not asked
    assert (plan["rival"], plan["labels"] >= 20) == ("recorded:judged.jsonl", True)
    ok("prove", "fect@2", "--sheet", "sheet.csv")
    done = ok("prove", "fect@2", "--answers", filled_sheet(Path("sheet.csv")), "--json")
    assert done.json["decision"]["verdict"] == "better"
    assert "the version is better, against recorded:judged.jsonl" in done.people
    store = jurist.Store("compiled")
    assert (store.load("fect").version, store.load("fect@prod").version) == (2, 2)
    ok("artifacts", "verify")


def test_the_version_before_is_asked_while_its_model_lives(serve: Callable[..., Any]) -> None:
    server = serve(right_on_all)
    moved(server)
    write_new_rows()
    refused = cli("prove", "fect@1", "--against", "fect@2", "--rows", "new.jsonl")
    assert "fect@1 was moved from no version, not from fect@2" in refused.err


def test_a_model_that_is_gone_is_one_line_that_names_the_move(
    serve: Callable[..., Any], no_waiting: None
) -> None:
    server = serve(right_on_all)
    moved(server)
    write_new_rows()
    rows = ("--rows", "new.jsonl", "--yes")
    judged = ("--input", "new.jsonl", "--output", "judged.jsonl", "--yes")
    gone = "if openai/old no longer answers, "
    move = f"{gone}jurist move fect@1 --model NEW holds another model"
    log = (
        f"{gone}name a file with its verdicts on these rows: --against recorded:FILE; without one, leave out"
    )
    # the server at which fect@1 was proven has ended
    limit = ("--min", "f1=0.1", "--not-worse-than", "fect@1", "--yes")
    for command, step in (
        (("prove", "fect@2", "--against", "fect@1", *rows), log),
        (("run", "fect@1", *judged), move),
        (("gate", "fect@2", "--gold", "gold.jsonl", *limit), move),
    ):
        done = cli(*command)
        errors = [line for line in done.err.splitlines() if line.startswith("error")]
        assert done.code == 1
        assert len(errors) == 1, done.err
        assert "[openai/old] failed to connect to 127.0.0.1" in errors[0]
        assert step in errors[0]
    with pytest.raises(jurist.JuristError, match=r'against="recorded:FILE"; without one, leave out against='):
        jurist.prove("fect@2", "new.jsonl", against="fect@1")
    with pytest.raises(jurist.JuristError, match=r'jurist\.move\("fect@1", model="NEW"\)'):
        jurist.evaluate("fect@1", "gold.jsonl")
