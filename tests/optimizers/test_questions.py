"""A demand split into questions: proposed, asked in one call, weighed by a head, kept, run, forgotten and exported."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import own_kinds
import pytest
from dspy.lm15 import Request
from fakes import Scripted, context_with, lm_of, reply, system_of
from loopback import Loopback
from small import cli, ok, write_jsonl
from tickets import chat, settled_in
from worlds import question_world

import jurist
from jurist.cases import Case
from jurist.engines.adapters import adapter
from jurist.errors import OptimizerError
from jurist.exports import Subject
from jurist.exports.portable_file import portable_spec
from jurist.exports.portable_judge import PortableJudge
from jurist.gold.goldset import Gold
from jurist.keeping.dspy_state import dump_state, load_program, read_state
from jurist.optimizers.base import Job, Result, optimize
from jurist.optimizers.question_labels import why_no_questions
from jurist.optimizers.registry import make
from jurist.optimizers.thresholds import with_fitted_rules
from jurist.programs.asking import Asker
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge
from jurist.programs.questions import Question
from jurist.programs.state import PromptState

JUDGES = ("judge", "triage", "grade")
"""Two labels, three labels, and scores."""
TWO_QUESTIONS = (Question(text="Is it polite?"), Question(text="How long is it?", kind="1 to 5"))


def world_of(name: str, seed: int = 1) -> Any:
    """Return a world of a judge, in which the model's own verdict leaves something to be gained."""
    return question_world.FactWorld(seed=seed, judge=name, together=0.65 if name == "judge" else 0.5)


def judge_of(name: str, folder: Path) -> Judge:
    file = folder / "facts.py"
    file.write_text(question_world.SOURCE, encoding="utf-8")
    return jurist.judge(f"{file}:{name}")


def messages_of(request: Request) -> list[dict[str, str]]:
    messages = [{"role": "system", "content": system_of(request)}]
    messages += [{"role": "user", "content": message.text or ""} for message in request.messages]
    return messages


def job_of(
    judge: Judge,
    world: Any,
    count: int = 160,
    answer: Callable[[list[dict[str, str]]], str] | None = None,
    **job: Any,
) -> tuple[Job, Scripted]:
    """Return a job in a world, whose model and proposer are one scripted engine."""
    split = Gold.of(world.rows(count), judge, "gold").split(0)
    engine = Scripted(lambda request: (answer or world.answer)(messages_of(request)))
    context = context_with()
    settings = {"train": split.train, "dev": split.dev, "words": False, **job}
    made = Job(
        judge=judge,
        judge_lm=lm_of(engine, context),
        proposer_lm=lm_of(engine, context, "proposer"),
        context=context,
        **settings,
    )
    return made, engine


def searched(name: str, job: Job, **options: Any) -> Result:
    return with_fitted_rules(job, optimize(make(name, options), job))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settled_in(tmp_path, monkeypatch)
    Path("facts.py").write_text(question_world.SOURCE, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", JUDGES)
def test_a_head_over_questions_beats_the_verdict_that_a_model_gives_at_once(
    name: str, tmp_path: Path
) -> None:
    judge = judge_of(name, tmp_path)
    world = world_of(name)
    job, engine = job_of(judge, world, 240)
    result = searched("questions", job, sets=1)
    cases = job.train + job.dev
    board = result.board
    assert result.best.setting.words is not None
    assert result.best.setting.words.name == "questions"
    assert board.value(result.best, cases) > board.value(board.basic, cases) + 0.05
    # The head itself takes no call: the basic prompt, one set of questions, one proposal.
    assert len(engine.requests) == 2 * len(cases) + 1
    summary = result.best.setting.words.summary
    heaviest = [question["text"] for question in summary["questions"][:5]]
    assert sum(fact in " ".join(heaviest) for fact in question_world.FACTS[:5]) >= 4


@pytest.mark.parametrize("name", JUDGES)
def test_no_case_is_judged_by_a_head_that_saw_its_group(name: str, tmp_path: Path) -> None:
    judge = judge_of(name, tmp_path)
    job, _ = job_of(judge, world_of(name))
    result = searched("questions", job, sets=1)
    heads = [one for one in result.board.candidates.values() if one.setting.words is not None]
    assert heads
    for head in heads:
        for case in job.train + job.dev:
            rule = head.cross_fitted[case.id].words
            assert rule is not None
            assert rule != head.setting.words
            assert case.group not in {
                other.group for other in job.train + job.dev if rule == _rule(head, other)
            } - {case.group}


def _rule(head: Any, case: Case) -> Any:
    return head.cross_fitted[case.id].words


@pytest.mark.parametrize("seed", range(3))
def test_where_labels_are_random_no_head_is_promoted(seed: int, project: Path) -> None:
    world = question_world.FactWorld(seed=seed, law="none")
    with Loopback(world.answer) as server:
        compiled = jurist.compile(
            "facts.py:judge",
            world.rows(160),
            optimizer="questions",
            model=jurist.Model("openai/m", api_base=server.url),
            seed=seed,
        )
    assert compiled.verdict != "better"


def test_the_default_search_asks_questions_after_nearest_rows_where_their_gain_may_be_worth_it(
    tmp_path: Path,
) -> None:
    judge = judge_of("judge", tmp_path)
    world = question_world.FactWorld(seed=1)
    job, engine = job_of(judge, world, 240)
    result = searched("race", job)
    assert result.best.state.questions
    proposals = [one for one in engine.requests if "`questions`" in system_of(one)]
    assert 1 <= len(proposals) <= 2
    for switched_off in ({"questions": False}, {"reads_instructions": False}):
        job, engine = job_of(judge, world, 240, **switched_off)
        result = searched("race", job)
        assert not any(one.state.questions for one in result.board.candidates.values())
    few, engine = job_of(judge, world, 60)
    searched("race", few)
    assert not [one for one in engine.requests if "`questions`" in system_of(one)]


@pytest.mark.parametrize(
    ("proposal", "asked", "proposals"),
    [
        ("1. Is it late? [yes or no]\n2) How long is it? (1-5)\n- Is it kind?", 3, 1),
        ("Is it late? [yes or no]\nIS it late? [yes or no]\nIs it kind?", 0, 2),
        ("The reply is late.\nIt is kind.\nIt is long.", 0, 2),
        ("\n".join(f"Is it number {number}? [yes or no]" for number in range(40)), 12, 1),
        ("\n".join(f"Is it {'very ' * 80}{number}? [yes or no]" for number in range(5)), 0, 2),
    ],
)
def test_a_proposal_of_fewer_than_three_usable_questions_is_asked_for_once_more(
    proposal: str, asked: int, proposals: int, tmp_path: Path
) -> None:
    judge = judge_of("judge", tmp_path)
    world = question_world.FactWorld()

    def answer(messages: list[dict[str, str]]) -> str:
        if "`questions`" in messages[0]["content"]:
            return reply("chat", questions=proposal)
        return str(world.answer(messages))

    job, engine = job_of(judge, world, answer=answer)
    result = optimize(make("questions", {"sets": 1}), job)
    sets = [one.state.questions for one in result.board.candidates.values() if one.state.questions]
    assert [len(questions) for questions in sets] == ([asked] if asked else [])
    assert len([one for one in engine.requests if "`questions`" in system_of(one)]) == proposals
    if asked == 3:
        assert [question.kind for question in sets[0]] == ["yes or no", "1 to 5", "yes or no"]
    if not asked:
        assert job.context.unusable_proposals["ProposeQuestions"] == 2


def test_a_proposer_sees_labelled_train_rows_with_reasons_and_no_other_row(tmp_path: Path) -> None:
    judge = judge_of("judge", tmp_path)
    job, engine = job_of(judge, question_world.FactWorld(seed=2))
    optimize(make("questions"), job)
    (first, second) = [
        str(one.messages[-1].text) for one in engine.requests if "`questions`" in system_of(one)
    ]
    for text in (first, second):
        assert "(wrong)" in text
        assert "(right)" in text
        assert "why people say so" in text
        assert any(case.inputs["reply"] in text for case in job.train)
        assert not any(case.inputs["reply"] in text for case in job.dev)
    assert first != second


def test_a_question_that_copies_a_train_row_is_not_asked(tmp_path: Path) -> None:
    judge = judge_of("judge", tmp_path)
    world = question_world.FactWorld()
    row = Gold.of(world.rows(160), judge, "gold").split(0).train[0].inputs["reply"]

    def answer(messages: list[dict[str, str]]) -> str:
        if "`questions`" in messages[0]["content"]:
            return reply("chat", questions=f"Is it {row}? [yes or no]\nIs it a?\nIs it b?\nIs it c?")
        return str(world.answer(messages))

    job, _ = job_of(judge, world, answer=answer)
    result = optimize(make("questions", {"sets": 1}), job)
    (questions,) = [one.state.questions for one in result.board.candidates.values() if one.state.questions]
    assert [question.text for question in questions] == ["Is it a?", "Is it b?", "Is it c?"]


# -- as a value, and in a prompt ------------------------------------------------------------------------------


def test_questions_are_part_of_a_prompt_and_of_its_state_file() -> None:
    basic = PromptState.of(FECT.basic())
    (name,) = basic.predictors
    state = basic.with_questions(name, TWO_QUESTIONS)
    assert state.id != basic.id
    assert PromptState.from_json(json.loads(json.dumps(state.to_json()))) == state
    content = json.loads(json.dumps(dump_state(FECT, state)))
    assert read_state(content) == state
    program = load_program(FECT, content)
    assert PromptState.of(program) == state
    # The program of another prompt asks none of them.
    assert PromptState.of(basic.apply(program)) == basic
    assert load_program(FECT, json.loads(json.dumps(dump_state(FECT, basic)))) is not None


@pytest.mark.parametrize("form", ["chat", "json"])
def test_all_questions_stand_in_one_request_before_the_judges_own(form: str) -> None:
    basic = PromptState.of(FECT.basic())
    (name,) = basic.predictors
    predictor = basic.with_questions(name, TWO_QUESTIONS).apply(FECT.basic()).predictors()[0]
    values = dict.fromkeys(FECT.input_fields, "text")
    text = str(adapter(form).format(predictor.signature, [], values)[0]["content"])
    assert "  1: Is it polite? (yes or no)\n  2: How long is it? (1 to 5)\n" in text
    assert text.index("question_answers") < text.index("`factual`")


@pytest.mark.parametrize(
    ("said", "status", "answers"),
    [
        ("1: yes\n2: 4", "verdict", (1.0, 4.0)),
        ("1: yes", "verdict", (1.0, None)),
        ("I would rather not say.", "abstained", ()),
    ],
)
def test_a_reply_that_answers_no_question_is_an_abstention(
    said: str, status: str, answers: tuple[float | None, ...]
) -> None:
    basic = PromptState.of(FECT.basic())
    (name,) = basic.predictors
    program = basic.with_questions(name, TWO_QUESTIONS).apply(FECT.basic())
    lm = lm_of(Scripted(lambda request: reply("chat", question_answers=said, factual=True)), context_with())
    case = Case(inputs=dict.fromkeys(FECT.input_fields, "text"))
    verdict = Asker(judge=FECT, program=program, lm=lm).ask(case)
    assert (verdict.status, verdict.answers) == (status, answers)
    if status == "abstained":
        assert "none of 2 questions is answered" in verdict.error


# -- which judges ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("topics", "neither closed labels nor scores"),
        ("promises", "neither closed labels nor scores"),
        ("share", ""),
        ("better", "asked in two orders"),
    ],
)
def test_other_kinds_of_answers_are_refused_in_one_line(kind: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(own_kinds.SOURCE, encoding="utf-8")
    judge = jurist.judge(f"{file}:{kind}")
    assert reason in why_no_questions(judge)
    assert bool(reason) == bool(why_no_questions(judge))
    if reason:
        job, engine = job_of_rows(judge, own_kinds.rows(kind, groups=40))
        with pytest.raises(OptimizerError, match=reason):
            optimize(make("questions"), job)
        assert not engine.requests


def job_of_rows(judge: Judge, rows: list[dict[str, Any]]) -> tuple[Job, Scripted]:
    split = Gold.of(rows, judge, "gold").split(0)
    context = context_with()
    engine = Scripted([])
    lm = lm_of(engine, context)
    return Job(
        judge=judge, train=split.train, dev=split.dev, judge_lm=lm, proposer_lm=lm, context=context
    ), engine


# -- whole commands -------------------------------------------------------------------------------------------


def refused_line(*argv: object) -> str:
    done = cli(*argv)
    assert done.code != 0
    return done.err


@pytest.mark.parametrize("name", JUDGES)
def test_a_version_of_questions_is_proven_kept_run_gated_exported_and_forgets(
    name: str, project: Path
) -> None:
    world = world_of(name)
    write_jsonl(Path("gold.jsonl"), world.rows(300))
    new = [{"reply": row["reply"]} for row in world.rows(20, "new")]
    write_jsonl(Path("new.jsonl"), new)
    with Loopback(world.answer) as server:
        command = (
            "compile",
            f"facts.py:{name}",
            "--gold",
            "gold.jsonl",
            "--optimizer",
            "questions",
            "--no-words",
        )
        done = ok(*command, *chat(server.url), "--json", "--max-calls", "1500", "--yes").json
        ref = f"{done['judge']}@1"
        assert done["decision"]["verdict"] == "better"
        assert done["words"]["decide"] == "questions"
        assert {"words.jsonl", "answers.jsonl"} <= done["files"].keys()
        ok("run", ref, "--input", "new.jsonl", "--output", "out.jsonl", *chat(server.url))
        lines = [json.loads(line) for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()]
        assert {line["status"] for line in lines} == {"verdict"}
        limit = ("--max", "mae=2") if name == "grade" else ("--min", "balanced_accuracy=.4")
        ok("gate", ref, "--gold", "gold.jsonl", *chat(server.url), *limit, "--yes")
    field = "value" if name == "grade" else "label"
    ok("export", ref, "--to", "python", "--output", "exported.py")
    exported: dict[str, Any] = {}
    exec(Path("exported.py").read_text(encoding="utf-8"), exported)  # noqa: S102
    verdicts = [
        exported["_JUDGE"].ask(lambda messages, settings: (world.answer(messages), "stop"), row)
        for row in new
    ]
    assert [verdict["value"] for verdict in verdicts] == [line[field] for line in lines]
    for target in ("messages", "markdown"):
        line = refused_line("export", ref, "--to", target)
        assert "--no-questions" in line
        assert "--to python" in line or "export it to python" in line
    shown = ok("artifacts", "show", ref).out
    assert "what decides: " in shown
    assert "answers to 10 questions" in shown
    assert shown.count("Does the reply say anything of") >= 20  # in the prompt, and each with its weight
    ok("report", ref, "-o", "report.html")
    assert "answers to 10 questions" in Path("report.html").read_text(encoding="utf-8")
    line = refused_line("artifacts", "remember", ref, "gold.jsonl")
    assert "weighs answers to questions" in line
    row = done["gold"]["seen"][0]
    ok("artifacts", "forget", ref, row)
    forgotten = Path(done["artifact"]).parent / "2"
    assert row not in "".join(path.read_text(encoding="utf-8") for path in forgotten.iterdir())
    rules = [
        json.loads((Path(folder) / "words.jsonl").read_text()) for folder in (done["artifact"], forgotten)
    ]
    assert rules[0]["questions"]["weights"] != rules[1]["questions"]["weights"]
    assert rules[0]["questions"]["kinds"] == rules[1]["questions"]["kinds"]


def test_questions_are_switched_off_by_an_option_and_asked_of_no_model_that_reads_none(project: Path) -> None:
    world = question_world.FactWorld(seed=1)
    write_jsonl(Path("gold.jsonl"), world.rows(200))
    command = ("compile", "facts.py:judge", "--gold", "gold.jsonl", "--optimizer", "questions")
    assert "reads no instructions" in refused_line(*command)
    with Loopback(world.answer) as server:
        line = refused_line(*command, "--no-questions", *chat(server.url), "--yes")
        assert "--no-questions was given" in line
        command = (
            "compile",
            "facts.py:judge",
            "--gold",
            "gold.jsonl",
            "--no-questions",
            "--no-words",
            "--json",
        )
        done = ok(*command, *chat(server.url), "--max-calls", "900", "--yes").json
    assert done["job"]["questions"] is False
    assert "answers.jsonl" not in done["files"]


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("samples", [1, 3])
def test_an_exported_file_weighs_answers_as_jurist_does(name: str, samples: int, tmp_path: Path) -> None:
    judge = judge_of(name, tmp_path)
    world = world_of(name, 3)
    job, _ = job_of(judge, world, words=name == "judge")
    result = searched("questions", job, sets=1)
    heads = [one for one in result.board.candidates.values() if one.setting.words is not None]
    heads = [one for one in heads if one.state.questions]
    assert len(heads) == (2 if name == "judge" else 1)
    cases = job.train[:12]
    draws: dict[str, int] = {}

    def said(messages: list[dict[str, str]]) -> str:
        """Answer each draw of a request in a way of its own; every fifth reply answers no question."""
        text = messages[-1]["content"]
        draws[text] = draws.get(text, 0) + 1
        drawn = question_world.FactWorld(seed=draws[text], judge=name).answer(messages)
        if len(text) % 5 == draws[text]:
            return str(drawn.replace(": yes", ": maybe").replace(": no", ": maybe"))
        return str(drawn)

    for head in heads:
        program = head.state.apply(judge.basic())
        spec = portable_spec(
            Subject(judge=judge, program=program, state=head.state, card=None, word_rule=head.setting.words)
        )
        portable = PortableJudge(json.loads(json.dumps({**spec, "samples": samples})))
        for case in cases:
            draws.clear()
            asker = job.asker(program, head.setting)
            lm = lm_of(Scripted(lambda request: said(messages_of(request))), context_with())
            sampling = jurist.Sampling(samples=samples)
            settings = {**vars(asker.settings), "sampling": sampling, "redraws": 0}
            verdict = Asker(
                judge=judge, program=program, lm=lm, settings=type(asker.settings)(**settings)
            ).ask(case)
            draws.clear()
            ours = portable.ask(lambda messages, settings: (said(messages), "stop"), dict(case.inputs))
            assert ours["value"] == verdict.values[0]
            assert ours["status"] == verdict.status
