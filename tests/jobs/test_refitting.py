"""A refit: the parts of a version fitted again on all labelled rows, which the new version has seen from then on."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from judges import changed
from loopback import Loopback, field_of
from prepared import begin_with
from small import Done, cli, ok, read_jsonl, write_jsonl
from tickets import JUDGE, chat, most_like, rows

import jurist
from jurist.engines.channel import CallContext
from jurist.errors import ArtifactError, GoldError
from jurist.gold.goldset import Gold
from jurist.jobs.conclusion import Concluded
from jurist.jobs.plan import Plan
from jurist.jobs.refitting import is_unchanged
from jurist.keeping.artifact_card import Artifact
from jurist.optimizers.board import Board, Candidate
from jurist.optimizers.words import WordFits
from jurist.programs.fect import FECT

_RED = ("invoice", "charged", "refund", "price", "card", "payment")
_BLUE = ("parcel", "courier", "late", "address", "tracking", "box")
_FILLER = ("please", "today", "again", "hello", "thanks", "order", "number", "still", "waiting", "could")


def tickets(count: int, seed: int = 0, *, noise: float = 0.0) -> list[dict[str, Any]]:
    """Return labelled tickets whose words tell the desk, but for a share of them."""
    draw = random.Random(seed)
    labelled: list[dict[str, Any]] = []
    for number in range(count):
        desk = draw.choice(["red", "blue"])
        topic = _RED if (desk == "red") != (draw.random() < noise) else _BLUE
        words = [*draw.sample(topic, 2), *draw.sample(_FILLER, 6), f"n{seed}x{number}"]
        draw.shuffle(words)
        labelled.append({"ticket": " ".join(words), "desk": desk, "group": f"g{number}"})
    return labelled


class Knowing:
    """A model that knows the desk of most tickets by their numbers, which no word tells."""

    def __init__(self, labelled: list[dict[str, Any]], noise: float) -> None:
        draw = random.Random(9)
        self.desks: dict[str, str] = {}
        for row in labelled:
            other = {"red": "blue", "blue": "red"}[row["desk"]]
            self.desks[row["ticket"]] = other if draw.random() < noise else row["desk"]

    def __call__(self, messages: list[dict[str, Any]]) -> str:
        desk = self.desks[field_of(str(messages[-1]["content"]), "ticket").strip()]
        return f"[[ ## desk ## ]]\n{desk}\n\n[[ ## completed ## ]]"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    _write_project()
    return tmp_path


def _write_project() -> None:
    Path("route.py").write_text(JUDGE)
    write_jsonl(Path("gold.jsonl"), tickets(240))


def _compile_words() -> None:
    _write_project()
    ok("compile", "route.py:judge", "--gold", "gold.jsonl", "--optimizer", "threshold")


def compile_words() -> Artifact:
    """Return a version that words alone decide."""
    begin_with(_compile_words)
    return jurist.Store().load("route@1")


def compile_stack(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> Artifact:
    """Return a version that words and replies decide together, whatever else would have been chosen."""

    def choose_stack(board: Board, dev: object, without: object = ()) -> Candidate | None:
        for candidate in board.candidates.values():
            if candidate.source.startswith("stack"):
                return candidate
        return None

    monkeypatch.setattr(Board, "best", choose_stack)
    command = ("compile", "route.py:judge", "--gold", "gold.jsonl", "--optimizer", "threshold", "--yes")
    ok(*command, *chat(server.url))
    return jurist.Store().load("route@1")


def all_ids(artifact: Artifact) -> set[str]:
    """Return the ids of all rows of a version's gold."""
    gold = Gold.load("gold.jsonl", jurist.judge("route.py:judge"))
    return {case.id for case in gold.cases}


def test_words_are_fitted_again_on_all_rows_as_a_regression_on_all_of_them(project: Path) -> None:
    first = compile_words()
    assert first.fitted_parts == ("rule of words",)
    before = first.path.joinpath("card.json").read_bytes()
    done = ok("artifacts", "refit", "route@1")
    second = jurist.Store().load("route@2")
    judge = jurist.judge("route.py:judge")
    gold = Gold.load("gold.jsonl", judge)
    plan = Plan(judge=judge, gold=gold)
    job = plan.job(CallContext.fresh())
    everything = WordFits(replace(job, train=job.train + job.dev + plan.split.test, dev=()))
    assert second.word_rule == everything.rule_of_words(None)
    assert second.word_rule != first.word_rule
    assert set(second.about.gold.seen) == all_ids(first)
    assert {row["case"] for row in second.seen()} == all_ids(first)
    assert second.about.refit is not None
    assert (second.about.refit.rows, second.about.refit.earlier_rows) == (240, len(first.about.gold.seen))
    difference = first.about.decision.difference
    assert f"{difference:+.3f}" in done.out
    assert "Version 2 was not tested itself" in done.out
    assert first.path.joinpath("card.json").read_bytes() == before
    assert [version.version for version in jurist.Store().promoted("route")] == [1]
    assert cli("artifacts", "verify").code == 0


def test_every_report_says_that_the_refit_was_not_tested(project: Path) -> None:
    compile_words()
    words = "Version 2 was not tested itself"
    assert words in ok("artifacts", "refit", "route@1").out
    assert words in ok("report", "route@2").out
    assert words in Path("route-2.html").read_text(encoding="utf-8")
    assert "not tested" in ok("artifacts", "list", "route").out
    ok("export", "route@2", "--to", "python", "--output", "export.py")
    assert words in Path("export.py").read_text(encoding="utf-8")
    write_jsonl(Path("new.jsonl"), [{"ticket": row["ticket"]} for row in tickets(20, seed=5)])
    assert words in ok("run", "route@2", "--input", "new.jsonl", "--output", "out.jsonl").err


def test_rows_of_the_test_count_as_seen_in_all_that_scores(project: Path) -> None:
    first = compile_words()
    ok("artifacts", "refit", "route@1")
    tested = {record.case for record in first.proof_records()}
    gold = Gold.load("gold.jsonl", jurist.judge("route.py:judge"))
    write_jsonl(Path("tested.jsonl"), [dict(case.row) for case in gold.cases if case.id in tested])
    near = [{**case.row, "ticket": case.row["ticket"].upper() + "!"} for case in gold.cases]
    write_jsonl(Path("near.jsonl"), near)
    assert cli("evaluate", "route@1", "--gold", "tested.jsonl").code == 0
    commands = (
        ("evaluate", "route@2"),
        ("compare", "route@2", "route:basic"),
        ("gate", "route@2", "--min", "accuracy=0.5"),
    )
    for command in commands:
        for file in ("tested.jsonl", "near.jsonl"):
            done = cli(*command, "--gold", file)
            assert done.code != 0
            assert "compiled" in done.err or "remain" in done.err, done.err
    done = cli("prove", "route@2", "--rows", "tested.jsonl")
    assert done.code != 0


def test_a_refit_and_its_export_answer_alike_and_the_model_is_not_asked(project: Path) -> None:
    compile_words()
    with Loopback(most_like) as server:
        ok("artifacts", "refit", "route@1")
        new = [{"ticket": row["ticket"]} for row in tickets(40, seed=7)]
        write_jsonl(Path("new.jsonl"), new)
        ok("run", "route@2", "--input", "new.jsonl", "--output", "out.jsonl", *chat(server.url))
        assert server.count == 0
    values = [row["label"] for row in read_jsonl(Path("out.jsonl"))]
    ok("export", "route@2", "--to", "python", "--output", "export.py")
    exported: dict[str, Any] = {}
    exec(Path("export.py").read_text(encoding="utf-8"), exported)  # noqa: S102
    told = [exported["_JUDGE"].ask(lambda messages, settings: ("", None), row)["value"] for row in new]
    assert told == values


def test_a_refit_of_the_same_version_is_made_once_and_used_by_name_only_when_asked_for(project: Path) -> None:
    first = compile_words()
    assert first.about.decision.verdict == "better"
    made = jurist.refit("route@1")
    assert (made.ref, made.latest) == ("route@2", False)
    assert jurist.load("route").artifact.ref == "route@1"  # type: ignore[union-attr]
    used = jurist.refit("route@1", use=True)
    assert (used.ref, used.latest) == ("route@2", True)
    with pytest.warns(UserWarning, match="was not tested itself"):
        assert jurist.load("route").artifact.ref == "route@2"  # type: ignore[union-attr]
    anew = jurist.refit("route@1", fresh=True)
    assert (anew.ref, anew.word_rule) == ("route@3", made.word_rule)


def test_a_row_is_forgotten_of_a_refit_and_stays_forgotten(project: Path) -> None:
    first = compile_words()
    jurist.refit("route@1")
    row = first.proof_records()[0].case
    ok("artifacts", "forget", "route@2", row)
    third = jurist.Store().load("route@3")
    assert row not in third.about.gold.seen
    assert third.word_rule not in (first.word_rule, jurist.Store().load("route@2").word_rule)
    for path in third.path.iterdir():
        assert row not in path.read_text(encoding="utf-8")


def test_remembered_rows_are_all_rows_and_no_model_is_asked(project: Path) -> None:
    write_jsonl(Path("gold.jsonl"), rows())
    with Loopback(most_like) as server:
        command = (
            "compile",
            "route.py:judge",
            "--gold",
            "gold.jsonl",
            "--optimizer",
            "nearest",
            "--no-words",
        )
        ok(*command, *chat(server.url), "--max-calls", "700")
        first = jurist.Store().load("route@1")
        assert "remembered rows" in first.fitted_parts
        count = server.count
        ok("artifacts", "refit", "route@1", "--same", "--use", "--yes")
        if first.fitted_parts == ("remembered rows",):
            assert server.count == count
        second = jurist.Store().load("route@2")
        remembered = second.state.predictors["self"].remembered
        assert remembered is not None
        assert set(remembered.rows) == all_ids(first)
        first_remembered = first.state.predictors["self"].remembered
        assert first_remembered is not None
        assert remembered.shown == first_remembered.shown
        model = jurist.Model("openai/m", api_base=server.url)
        with pytest.warns(UserWarning, match="was not tested itself"):
            loaded = jurist.load("route", model=model)
        new = rows(1)[::8]
        assert [loaded(ticket=row["ticket"]).values[0] for row in new] == [row["desk"] for row in new]


def test_a_stack_asks_each_row_once_within_its_budget_and_goes_on_where_it_stopped(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labelled = tickets(240, noise=0.25)
    write_jsonl(Path("gold.jsonl"), labelled)
    with Loopback(Knowing(labelled, 0.25)) as server:
        first = compile_stack(server, monkeypatch)
        assert first.fitted_parts == ("rule of words and replies",)
        Path("compiled/.checkpoints/answers.sqlite").unlink()
        count = server.count
        stopped = cli("artifacts", "refit", "route@1", "--same", "--max-calls", "100", "--yes")
        assert stopped.code != 0
        assert "--resume" in stopped.err
        assert server.count - count <= 100
        assert len(jurist.Store().list("route")) == 1
        ok("artifacts", "refit", "route@1", "--same", "--max-calls", "400", "--resume", "--yes")
        assert server.count - count == 240
        priced = ("artifacts", "refit", "route@1", "--same", "--max-cost", "1", "--fresh", "--yes", "--json")
        unpriced = cli(*priced)
        assert unpriced.code != 0
        assert "--price-in and --price-out" in unpriced.err
        assert ok(*priced, "--price-in", "0.1", "--price-out", "0.1").json["spend"]["cost"] > 0
        Path("jurist.toml").write_text(f'model = "{first.model}"\nprice-in = 0.2\nprice-out = 0.2\n')
        assert ok(*priced).json["spend"]["cost"] > 0
    second = jurist.Store().load("route@2")
    assert second.fitted_parts == first.fitted_parts
    assert second.word_rule != first.word_rule
    assert second.about.words is not None
    assert second.about.words.decide == "stack"
    assert second.about.spend is not None
    assert second.about.spend.calls == 240


def test_words_are_chosen_on_all_labels_where_the_search_kept_the_basic_prompt(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Board, "best", lambda board, dev, without=(): board.basic)
    ok("compile", "route.py:judge", "--gold", "gold.jsonl", "--optimizer", "threshold")
    first = jurist.Store().load("route@1")
    assert (first.word_rule, first.about.decision.verdict) == (None, "nothing better found")
    done = ok("artifacts", "refit", "route@1")
    second = jurist.Store().load("route@2")
    assert second.word_rule is not None
    assert second.word_rule.is_alone
    told = Concluded(artifact=second, proof=None, latest=False).words
    assert told == f"{second.about.decision.words}; no language model is asked: words alone decide"
    assert Concluded(artifact=first, proof=None, latest=False).words == first.about.decision.words
    assert second.about.refit is not None
    choice = second.about.refit.choice
    assert choice is not None
    assert (choice.kept, choice.decides, choice.over) == (False, "a regression on words", "the basic prompt")
    assert choice.value > choice.value_before + 0.1
    words = f"a regression on words is ahead of the basic prompt, with balanced_accuracy {choice.value:.3f}"
    assert words in done.out
    assert "Version 2 was not tested itself" in done.out
    assert set(second.about.gold.seen) == all_ids(first)
    with pytest.raises(ArtifactError, match="was not shown to be better"):
        jurist.refit("route@1", use=True)


def test_what_was_shown_to_be_better_stays_unless_another_is_ahead(project: Path) -> None:
    compile_words()
    assert (
        "it is version 1 with its parts fitted again, as nothing else was clearly better"
        in ok("artifacts", "refit", "route@1").out
    )
    chosen = jurist.Store().load("route@2")
    same = jurist.refit("route@1", same=True)
    assert (same.ref, same.word_rule) == ("route@3", chosen.word_rule)
    assert same.about.refit is not None
    assert same.about.refit.choice is None
    assert jurist.refit("route@1").ref == "route@2"
    assert jurist.refit("route@1", same=True).ref == "route@3"


def test_words_that_must_not_decide_are_not_chosen_by_a_refit(project: Path) -> None:
    ok("compile", "route.py:judge", "--gold", "gold.jsonl", "--optimizer", "threshold", "--no-words")
    ok("artifacts", "refit", "route@1")
    assert jurist.Store().load("route@2").word_rule is None


def test_the_basic_prompt_and_that_of_the_version_are_asked_about_each_row_once(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labelled = tickets(120, noise=0.25)
    write_jsonl(Path("gold.jsonl"), labelled)
    with Loopback(Knowing(labelled, 0.25)) as server:
        compile_stack(server, monkeypatch)
        count = server.count
        ok("artifacts", "refit", "route@1", "--yes")
        assert server.count == count  # the compilation has asked the same
        ok("artifacts", "refit", "route@1", "--yes", "--fresh")
        assert server.count - count == 120


def _damage_gold() -> None:
    write_jsonl(Path("gold.jsonl"), tickets(200))


def _compile_basic() -> None:
    gold = tickets(60, noise=0.5)
    write_jsonl(Path("gold.jsonl"), gold)
    ok(
        "compile",
        "route.py:judge",
        "--gold",
        "gold.jsonl",
        "--optimizer",
        "threshold",
        "--no-words",
        "--anyway",
    )


def _refit_first() -> None:
    compile_words()
    jurist.refit("route@1")


def _forget_first() -> None:
    first = compile_words()
    ok("artifacts", "forget", "route@1", first.about.gold.seen[0])


def _remember_first() -> None:
    compile_words()
    write_jsonl(Path("more.jsonl"), tickets(60, seed=8))
    ok("artifacts", "remember", "route@1", "more.jsonl", "--force")


def _change_gold() -> None:
    compile_words()
    _damage_gold()


@pytest.mark.parametrize(
    ("prepare", "ref", "options", "words"),
    [
        (compile_words, "route@9", (), "there is no route@9"),
        (_compile_basic, "route@1", ("--same",), "nothing of route@1 is fitted to labels"),
        (_refit_first, "route@2", (), "route@2 is version 1 fitted again on all labelled rows already"),
        (_forget_first, "route@2", (), "route@2 has no proof on its card"),
        (_remember_first, "route@2", (), "that its gold set does not have"),
        (_change_gold, "route@1", (), "--gold"),
    ],
)
def test_what_cannot_be_refitted_is_one_clear_line(
    prepare: Any, ref: str, options: tuple[str, ...], words: str, project: Path
) -> None:
    prepare()
    versions = len(jurist.Store().list("route"))
    done = cli("artifacts", "refit", ref, *options)
    assert done.code in (1, 2)
    assert words in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert len(jurist.Store().list("route")) == versions


def test_the_refit_of_a_version_that_the_name_does_not_mean_is_not_used_by_name(project: Path) -> None:
    compile_words()
    Path("compiled/route/names.json").unlink()
    with pytest.raises(ArtifactError, match="route means its basic prompt, not route@1") as refused:
        jurist.refit("route@1", use=True)
    assert "or first jurist artifacts tag route@1 latest" in str(refused.value.hint)
    assert not jurist.refit("route@1").latest


def test_a_refit_that_changes_nothing_is_told_from_one_that_does(tmp_path: Path) -> None:
    store = jurist.Store(tmp_path / "store")
    versions = [
        store.save(FECT, changed(FECT, words), {}, [], make_latest=False) for words in ("A", "A", "B")
    ]
    assert [is_unchanged(version, versions[0]) for version in versions[1:]] == [True, False]
    fitted = store.save(FECT, changed(FECT, "A"), {"setting": {"threshold": 2}}, [], make_latest=False)
    assert not is_unchanged(fitted, versions[0])


def test_rows_in_memory_are_given_as_gold(project: Path) -> None:
    labelled = tickets(240)
    gold = Gold.of(labelled, jurist.judge("route.py:judge"), "rows")
    made = jurist.compile("route.py:judge", gold, optimizer="threshold")
    assert made.verdict == "better"
    assert jurist.refit("route@1", gold=gold).about.refit is not None
    with pytest.raises(GoldError):
        jurist.refit("route@1", gold=labelled[:100], fresh=True)


def test_a_better_version_whose_words_gain_by_more_labels_names_the_refit_as_the_next_step(
    project: Path,
) -> None:
    done: Done = ok("compile", "route.py:judge", "--gold", "gold.jsonl", "--optimizer", "threshold")
    assert "next: jurist artifacts refit route@1 (" in done.out
    assert "all 240 labelled rows" in done.out
    assert "that one is not tested, and route means it only with --use" in done.out
    kept = ok("artifacts", "refit", "route@1").out
    assert "(not tested; route@2 names it; --use lets route mean it)" in kept
    used = ok("artifacts", "refit", "route@1", "--use").out
    assert (
        "(latest, and not tested: route means it now; jurist artifacts tag route@1 latest goes back)" in used
    )
    assert "next: jurist prove route@2" in used
    again = ok("artifacts", "refit", "route@1", "--use", "--json").json
    assert again["latest"]  # route means its refit already
    ok("artifacts", "tag", "route@1", "latest")
    assert jurist.load("route").name == "route@1"
    card = json.loads(Path("compiled/route/2/card.json").read_text(encoding="utf-8"))
    assert card["parent"] == 1
