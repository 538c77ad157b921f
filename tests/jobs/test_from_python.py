"""What somebody who knows DSPy gives to the public functions: taken as it is, or refused with the way to say it."""

import asyncio
import copy
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import dspy
import pandas
import pytest
from judges import CHECK, NEW, ROWS
from quiz import QUIZ
from small import ok

import jurist
from jurist.errors import UsageError
from jurist.optimizers.base import Job
from jurist.optimizers.board import Board, Candidate


def own(**settings: Any) -> jurist.Judge:
    return jurist.Judge(**{"name": "own", "signature": CHECK.signature, "positive": "hold", **settings})


def basic() -> jurist.LoadedJudge:
    return jurist.load(CHECK, version="basic")


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: jurist.load(CHECK, model=dspy.LM("openai/x", n=2)), jurist.JuristError, "does not send n of"),
        (lambda: jurist.load(CHECK, model=dspy.LM("openai/x", api_key="k")), jurist.JuristError, "written nowhere"),
        (lambda: jurist.evaluate(basic(), ROWS, samples=3), jurist.JuristError, "keeps its own samples; give that to"),
        (lambda: jurist.gate(basic(), ROWS), jurist.JuristError, "nothing to pass; give minimum="),
        (lambda: jurist.gate(basic(), ROWS, minimum={"accuracy": 0}, margin=0.1), jurist.JuristError, "than what"),
        (lambda: jurist.gate(basic(), ROWS, minimum={"f1": 0}, max_unusable=5), jurist.JuristError, "that can be met"),
        (lambda: jurist.gate(basic(), ROWS, not_worse_than=CHECK, margin=-1), jurist.JuristError, "that can be met"),
        (lambda: jurist.compare("fect:basic", "fect-mini"), jurist.JuristError, "a comparison needs two judges"),
        (lambda: jurist.cascade([CHECK], ROWS, models="nobody"), jurist.JuristError, "the model 'nobody'"),
        (lambda: jurist.evaluate(basic(), ROWS)["acc"], KeyError, "acc was not measured; use one of .*accuracy"),
        (lambda: jurist.compile(CHECK, ROWS, shares=(0.4, 0.2, 0.5)), jurist.JuristError, "are not usable"),
        (lambda: jurist.check_gold(CHECK, ROWS, shares=(0.4, 0.2, 0.5)), jurist.JuristError, "are not usable"),
        (lambda: jurist.plan_gold(CHECK, gold=ROWS, shares=(0.4, 0.2, 0.5)), jurist.JuristError, "are not usable"),
        (lambda: jurist.gate(basic(), ROWS, minimum={"f1": 4}), jurist.JuristError, "cannot be a limit"),
        (lambda: jurist.load("fect", version=7), jurist.JuristError, "no compiled artifact of judge 'fect'"),
        (lambda: jurist.load("fect:basic", verifier="offline"), jurist.JuristError, "has no frozen steps"),
        (lambda: own(signature="policy -> fine: bool"), jurist.JuristError, r"no signature; give a class of dspy\.Sig"),
        (lambda: own(positive=True), jurist.JuristError, r"positive labels \[True\] are no proper part"),
        (lambda: own(labels=("a", "b", "c")), jurist.JuristError, "labels= names 3 labels, and verdict has 2; give a"),
        *(
            (lambda call=call, given={name: value}: call(**given), jurist.JuristError, f"{name}=.* give {give}")
            for call, name, value, give in (
                (partial(jurist.compare, [CHECK], ROWS), "repeats", "3", "a whole number, 1 or more"),
                (partial(jurist.compare, gold=ROWS), "judges", 3, "str . Judge . LoadedJudge . Compiled"),
                (partial(jurist.cascade, [CHECK], ROWS), "models", [1], "str . Model . LM . "),
                (partial(jurist.gate, CHECK, ROWS), "minimum", {"f1": "0.3"}, r"Mapping\[str, float\]"),
                (partial(jurist.gate, CHECK, ROWS), "minimum", "f1=0", r"Mapping\[str, float\]"),
                (partial(jurist.load, CHECK), "samples", 2.5, "int"),
                (partial(jurist.compile, gold=ROWS), "judge", CHECK.signature, "str . Judge$"),
                (partial(jurist.compile, CHECK, ROWS), "budget", 3, "Budget"),
                (partial(jurist.compile, CHECK, ROWS), "shares", "5/2/3", "tuple"),
                (partial(jurist.export, CHECK, "python"), "store", 3, r"str . PathLike\[str\] . Store"),
                (partial(jurist.Gold.of, ROWS), "judge", 5, "Judge"),
                (jurist.Store, "root", 3, "Path . str"),
                (jurist.Model, "timeout", "9", "float"),
            )
        ),
        (lambda: basic()(NEW[0]), jurist.JuristError, r"names; write \(policy=..., reply=...\), or"),
        *(
            (lambda rows=rows: jurist.run(basic(), rows, "out.jsonl"), jurist.JuristError, f"<rows>:{said}")
            for rows, said in (
                ({"policy": ["p"]}, " rows cannot be read from an object of type dict"),
                ({"train": pandas.DataFrame(ROWS), 1: None}, " rows .* take one of its splits, train, 1: rows"),
                ([1], "1: a row must be a mapping of fields, got int"),
                ([], " there are no rows"),
                ([{"policy": "p"}], "1, field 'reply': the field is missing"),
            )
        ),
        (lambda: jurist.evaluate(CHECK, ROWS, modle="offline"), jurist.JuristError, "'modle' here; did you mean model"),
        (lambda: jurist.compare([CHECK], ROWS, model="offline"), jurist.JuristError, "did you mean models"),  # type: ignore[call-arg]
        (lambda: jurist.run(basic(), NEW, ""), jurist.JuristError, "names no file; name another output"),
        (lambda: own(metric="f2"), jurist.JuristError, "the metric 'f2' does not fit this judge"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_with_the_way_to_say_it(
    call: Callable[[], Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        call()


@pytest.mark.parametrize(
    "program",
    [dspy.ChainOfThought(CHECK.signature), lambda: dspy.ChainOfThought(CHECK.signature)],
    ids=["module", "maker"],
)
def test_a_program_is_a_module_or_what_makes_one(program: Any) -> None:
    judge = own(program=program)
    one, other = judge.basic(), judge.basic()
    assert one is not other
    assert [name for name, _ in one.named_predictors()] == ["predict"]
    assert jurist.load(judge, version="basic")(**NEW[0]).reasoning


def test_a_model_of_dspy_is_asked_with_its_settings(
    serve: Callable[..., Any], fake_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE_API_KEY", "sk-mine-0123456789")
    server = serve(lambda messages: "[[ ## verdict ## ]]\nhold\n\n[[ ## completed ## ]]")
    lm = dspy.LM(
        "openai/x", api_base=server.url, temperature=0.3, max_tokens=99, api_key="sk-mine-0123456789"
    )
    judge = jurist.load(CHECK, version="basic", model=lm)
    assert judge(**NEW[0]).label == "hold"
    (hit,) = server.hits
    assert (hit.body["temperature"], hit.authorization) == (0.3, "Bearer sk-mine-0123456789")
    assert "0123456789" not in repr(judge.model)
    assert jurist.load(CHECK, model=dspy.LM("openai/gpt-5", max_tokens=16000)).model.max_tokens == 16000
    assert judge.context.ledger.spend().calls == 1


def test_a_judge_is_a_step_of_a_program() -> None:
    class Send(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.check = basic().as_module()

        def forward(self, policy: str, reply: str) -> dspy.Prediction:
            return self.check(policy=policy, reply=reply)

    program, verdict = Send(), basic()(**NEW[0])
    told = program(**NEW[0])
    assert (told.verdict, told.judgement) == (verdict.label, verdict)
    assert copy.deepcopy(program)(**NEW[0]).verdict == asyncio.run(program.check.acall(**NEW[0])).verdict


def test_a_judge_of_a_cell_is_loaded_by_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(jurist.JuristError, match="no judge is called 'cell'"):
        jurist.load("cell:basic")
    cell = own(name="cell")
    monkeypatch.setattr(sys.modules["__main__"], "mine", cell, raising=False)
    assert jurist.load("cell:basic").judge is jurist.judge("cell") is cell
    kept = jurist.compile("cell", ROWS, optimizer="fewshot", store=tmp_path, seed=1)
    assert jurist.load("cell@1", store=tmp_path).batch(NEW) == kept.batch(NEW)


@pytest.mark.parametrize("is_first", [True, False])
def test_of_the_judges_of_one_name_in_a_notebook_the_one_made_last_is_loaded(
    monkeypatch: pytest.MonkeyPatch, *, is_first: bool
) -> None:
    first = own(name="cell")
    newest = own(name="cell", signature=first.signature.with_instructions("Say whether the reply is polite."))
    names = {"judge": newest, "_": first} if is_first else {"_": first, "judge": newest}
    for name, value in names.items():  # IPython keeps what a cell ended in as "_"
        monkeypatch.setattr(sys.modules["__main__"], name, value, raising=False)
    loaded = jurist.load("cell:basic")
    assert loaded.judge is newest
    (prompt,) = loaded.state.predictors.values()
    assert prompt.instructions == "Say whether the reply is polite."


RATED = jurist.Judge(
    name="rated",
    signature=CHECK.signature,
    positive="hold",
    options={
        "strictness": {"high": {"positive": frozenset({"send"})}, "low": {"positive": frozenset({"hold"})}}
    },
)
COPIES: dict[str, Callable[[jurist.Judge], jurist.Judge]] = {
    "with_options": lambda judge: judge.with_options({"strictness": "high"}),
    "with_metric": lambda judge: judge.with_metric("accuracy"),
    "with_common": lambda judge: judge.with_common(["policy"]),
}


@pytest.mark.parametrize("kind", COPIES)
def test_a_judge_keeps_its_name_when_another_is_made_of_it(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    base = replace(RATED)
    copy_of_base = COPIES[kind](base)
    monkeypatch.setattr(sys.modules["__main__"], "copy_of_base", copy_of_base, raising=False)
    assert jurist.judge("rated") is copy_of_base  # there is no other
    monkeypatch.setattr(sys.modules["__main__"], "base", base, raising=False)
    assert jurist.judge("rated") is base
    newer = replace(RATED)
    monkeypatch.setattr(sys.modules["__main__"], "newer", COPIES[kind](newer), raising=False)
    assert jurist.judge("rated").rank == (newer.rank[0], False)


@pytest.mark.parametrize(
    "name", [name for name in jurist.__all__ if inspect.isfunction(getattr(jurist, name))]
)
def test_a_function_takes_the_judge_before_its_rows(name: str) -> None:
    parameters = list(inspect.signature(getattr(jurist, name)).parameters)
    judges = [parameters.index(parameter) for parameter in ("judge", "judges") if parameter in parameters]
    rows = [
        parameters.index(parameter) for parameter in ("gold", "source", "rows") if parameter in parameters
    ]
    assert not judges or not rows or max(judges) < min(rows)


@pytest.mark.parametrize("given", [CHECK, 5, None])
@pytest.mark.parametrize(
    "function",
    [jurist.evaluate, jurist.agreement, jurist.check_gold, lambda judge, gold: jurist.Gold.load(gold, judge)],
)
def test_rows_of_no_use_are_refused_in_one_line(function: Callable[..., object], given: object) -> None:
    with pytest.raises(
        jurist.JuristError, match=f"rows cannot be read from an object of type {type(given).__name__};"
    ):
        function(CHECK, given)


def test_no_rows_are_refused_as_such() -> None:
    with pytest.raises(jurist.JuristError, match="there are no rows; give at least one row"):
        jurist.check_gold(CHECK, [])


def interrupted_rows() -> Iterator[dict[str, Any]]:
    """Yield a row, and press Ctrl-C."""
    yield ROWS[0]
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "error", [TimeoutError("timed out"), FileNotFoundError(2, "No such file or directory", "lookup.json")]
)
def test_an_error_of_the_system_within_a_run_is_not_blamed_on_its_output(
    error: OSError, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*arguments: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("jurist.programs.asking.Asker.judged", fail)
        with pytest.raises(type(error)) as raised:
            jurist.run(basic(), ROWS, "out.jsonl")
    assert raised.value is error
    assert jurist.run(basic(), ROWS, "out.jsonl").rows == len(ROWS)


INTERRUPTED: dict[str, Callable[[Any], object]] = {
    "compile": lambda rows: jurist.compile(CHECK, rows),
    "evaluate": lambda rows: jurist.evaluate(basic(), rows),
    "compare": lambda rows: jurist.compare([basic(), CHECK], rows),
    "gate": lambda rows: jurist.gate(basic(), rows, minimum={"accuracy": 0.5}),
    "assert_judge": lambda rows: jurist.assert_judge(basic(), rows, minimum={"accuracy": 0.5}),
    "harden": lambda rows: jurist.harden(basic(), rows),
    "cascade": lambda rows: jurist.cascade([CHECK, CHECK], rows),
    "run": lambda rows: jurist.run(basic(), rows, "out.jsonl"),
    "check_gold": lambda rows: jurist.check_gold(CHECK, rows),
    "agreement": lambda rows: jurist.agreement(CHECK, rows),
    "plan_gold": lambda rows: jurist.plan_gold(CHECK, rows),
    "Gold.load": lambda rows: jurist.Gold.load(rows, CHECK),
    "Gold.of": lambda rows: jurist.Gold.of(rows, CHECK),
    "batch": lambda rows: basic().batch(rows),
    "generate": lambda rows: jurist.generate(f"{QUIZ}:generator", rows, "out.jsonl"),
}


@pytest.mark.parametrize("function", INTERRUPTED)
def test_ctrl_c_before_the_first_call_is_one_line(function: str) -> None:
    with pytest.raises(jurist.Interrupted, match=r"^stopped by Ctrl-C; ") as stopped:
        INTERRUPTED[function](interrupted_rows())
    # a loop that goes on after an ``Exception`` must still end
    assert isinstance(stopped.value, KeyboardInterrupt)
    assert not isinstance(stopped.value, Exception)
    assert stopped.value.exit_code == 130
    assert stopped.value.__suppress_context__
    assert len(stopped.value._render_traceback_()) == 1


def test_ctrl_c_in_one_call_of_a_judge_ends_what_called_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """An optimizer of DSPy counts any other exception of its metric as a score of 0."""

    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("jurist.programs.asking.Asker.ask", interrupt)
    with pytest.raises(KeyboardInterrupt):
        basic()(**NEW[0])


def test_an_export_is_the_file_of_the_command(tmp_path: Path) -> None:
    text = jurist.export("fect:basic", "messages", tmp_path / "made" / "fect.json")
    assert text == ok("export", "fect:basic", "--to", "messages").out
    assert (tmp_path / "made" / "fect.json").read_text() == text
    assert text.write(tmp_path / "other.json").read_text() == text
    assert json.loads(text) == json.loads(str(text))


def test_a_notebook_shows_an_export_in_one_line_and_print_all_of_it() -> None:
    text = jurist.export("fect:basic", "python")
    assert repr(text) == (
        f"<Exported for python: {len(text):,} letters; print() shows them, write(FILE) writes them>"
    )
    assert str(text) == ok("export", "fect:basic", "--to", "python").out
    copied = copy.copy(text)
    assert (copied, repr(copied)) == (text, repr(text))


def test_a_loaded_judge_takes_the_options_that_load_takes() -> None:
    basic_judge = jurist.load(RATED, samples=3, threshold=3, model=jurist.Model(temperature=1))
    strict = basic_judge.with_options({"strictness": "high"})
    assert strict.judge.answer.positive == {"send"}
    assert basic_judge.judge.answer.positive == {"hold"}
    assert (
        strict.fingerprint()
        == jurist.load(
            RATED, samples=3, threshold=3, strictness="high", model=jurist.Model(temperature=1)
        ).fingerprint()
    )
    assert strict.with_model(jurist.Model(name="openai/x")).judge.answer.positive == {"send"}
    assert basic_judge.with_options({}) is basic_judge
    for values, words in (({"strictness": "odd"}, "is no strictness of"), ({"depth": "2"}, "has no depth")):
        with pytest.raises(UsageError, match=words):
            basic_judge.with_options(values)
    with pytest.raises(UsageError, match="keeps its strictness"):
        copy.copy(basic_judge).with_options({"strictness": "high"})


def test_a_version_with_other_options_is_the_one_that_load_gives() -> None:
    settings = {"sizes": (2,), "sets": 2, "sample": 6}
    compiled = jurist.compile(
        RATED, gold=ROWS, optimizer="fewshot", options=settings, words=False, store="store", anyway=True
    )
    strict = compiled.judge.with_options({"strictness": "high"})
    assert strict.name == "rated@1"
    loaded = jurist.load("rated@1", strictness="high", store="store")
    assert strict.fingerprint() == loaded.fingerprint() != compiled.judge.fingerprint()


def _stream(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        yield {**NEW[number % 5], "id": number, "note": f"n{number}"}


def test_any_rows_are_judged_into_a_file(tmp_path: Path) -> None:
    out = tmp_path / "rows" / "out.jsonl"
    done = jurist.run(basic(), _stream(12), out, budget=jurist.Budget(calls=100))
    assert repr(done) == "<Summary of 12 rows: 12 verdicts>"
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(line["id"], line["note"]) for line in lines] == [(n, f"n{n}") for n in range(12)]
    assert [line["label"] for line in lines[:5]] == [one.label for one in basic().batch(NEW)]
    named = pandas.DataFrame(NEW).rename(columns={"reply": "answer"})
    for number, rows in enumerate((named, [dspy.Example(**row) for row in NEW])):
        again, mapping = tmp_path / f"{number}.jsonl", {} if number else {"answer": "reply"}
        assert jurist.run(basic(), rows, again, mapping=mapping, keep="policy").verdicts == {"verdict": 5}
        assert [json.loads(line)["label"] for line in again.read_text().splitlines()] == [
            line["label"] for line in lines[:5]
        ]


@dataclass(frozen=True, kw_only=True)
class Remind:
    """Adds a sentence."""

    sentence: str = "Read everything twice."
    name: str = "remind"

    def minimum(self, job: Job) -> int:
        return 2 * len(job.dev) * job.calls_per_case

    def run(self, job: Job, board: Board, start: Candidate) -> None:
        (prompt,) = start.state.predictors.values()
        state = start.state.with_instruction("self", f"{prompt.instructions}\n{self.sentence}")
        board.score(board.add(state, parent=start, source=self.name), job.dev)


def test_an_optimizer_of_ones_own_needs_no_package(tmp_path: Path) -> None:
    compiled = jurist.compile(
        CHECK, ROWS, optimizer=Remind(sentence="Mind all figures."), store=tmp_path, seed=1
    )
    about = compiled.artifact.card["optimizer"]
    assert (about["name"], about["params"]) == ("remind", {"sentence": "Mind all figures."})
    assert any("Mind all figures." in str(one) for one in compiled.artifact.history)
    for given, said in (
        ({"optimizer": Remind}, "is no optimizer; give an instance of a frozen dataclass"),
        ({"optimizer": dspy.KNNFewShot}, "is no optimizer; give an instance"),
        (
            {"optimizer": Remind(), "options": {"sentence": "x"}},
            "remind has its settings already; leave out options=",
        ),
    ):
        with pytest.raises(jurist.JuristError, match=said):
            jurist.compile(CHECK, ROWS, store=tmp_path, **given)  # type: ignore[arg-type]


def test_a_part_of_a_split_is_gold_and_rows() -> None:
    rated_rows = []
    for row in ROWS:
        rater_labels = {"label_ann": row["verdict"], "label_bob": row["verdict"]}
        rated_rows.append({name: row[name] for name in ("policy", "reply")} | rater_labels)
    gold = jurist.Gold.load(rated_rows, CHECK, raters="label_*")
    part = gold.split(seed=0).train
    measured = jurist.evaluate(basic(), part)
    assert measured.cases == len(part)
    read_again = jurist.Gold.of(part, CHECK).cases
    assert [(case.id, case.gold, case.group) for case in read_again] == [
        (case.id, case.gold, case.group) for case in part
    ]
    assert [verdict.status for verdict in basic().batch(part)] == ["verdict"] * len(part)
    assert jurist.compare([basic(), CHECK], part, repeats=2).cases == len(part)
