"""Questions that a decision model answers beside the judge's own, all in one request, under a fitted head."""

import json
from pathlib import Path
from typing import Any

import pytest
from deciders import OpenAIDecisions
from loopback import Loopback
from small import cli, ok, write_jsonl
from tickets import settled_in
from worlds import question_world

import jurist
from jurist.programs.questions import parse_question


class DecidingWorld(OpenAIDecisions):
    """OpenAI's endpoint of decisions, answered by a world."""

    def __init__(self, world: Any) -> None:
        super().__init__()
        self.world = world

    def answer_question(self, text: str, question: dict[str, Any]) -> dict[str, Any]:
        """Return the answer of the world."""
        kind, name = question["type"], question["name"]
        if kind == "predicate":
            probability = self.world.probability_of_yes(question["instructions"], text)
            return {"type": kind, "name": name, "probability": probability}
        key = "choices" if kind == "choice" else "levels"
        choices = [entry.get("value", entry.get("label")) for entry in question[key]]
        shares = self.world.probabilities(text, choices)
        best = shares.index(max(shares))
        if kind == "choice":
            entries = [
                {"value": one, "probability": share} for one, share in zip(choices, shares, strict=True)
            ]
            said = {"choice": choices[best], "probabilities": entries}
        else:
            entries = [
                {"label": one, "value": place, "probability": share}
                for place, (one, share) in enumerate(zip(choices, shares, strict=True))
            ]
            said = {"score": best, "probabilities": entries}
        return {"type": kind, "name": name, "confidence": shares[best], **said}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settled_in(tmp_path, monkeypatch)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    Path("facts.py").write_text(question_world.SOURCE, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", ["judge", "triage", "grade"])
def test_a_head_over_a_decision_models_answers_is_proven_kept_and_run(name: str, project: Path) -> None:
    world = question_world.FactWorld(seed=3, judge=name, together=0.6 if name == "judge" else 0.4)
    write_jsonl(Path("gold.jsonl"), world.rows(240))
    write_jsonl(Path("new.jsonl"), world.rows(30, "new"))
    with DecidingWorld(world) as deciding, Loopback(world.answer) as writing:
        compiled = jurist.compile(
            f"facts.py:{name}",
            "gold.jsonl",
            optimizer="questions",
            options={"sets": "1"},
            words=False,
            model=jurist.Model("decisions/m", api_base=deciding.url),
            prompt_model=jurist.Model("openai/m", api_base=writing.url),
        )
        assert compiled.artifact.about.decision.verdict == "better"
        # The proposer is asked once; every other call is a request to the decision model.
        assert len(writing.hits) == 1
        ref = compiled.artifact.ref
        done = ok(
            "run", ref, "--input", "new.jsonl", "--output", "out.jsonl", "--model", "decisions/m", "--api-base",
            deciding.url,
        )  # fmt: skip
    assert done.code == 0
    assert len(deciding.bodies[-1]["questions"]) == 11
    assert [question["type"] for question in deciding.bodies[-1]["questions"][:10]] == ["predicate"] * 10
    lines = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert len(lines) == 30
    assert all(line["status"] == "verdict" for line in lines)


def test_questions_need_a_model_that_writes_them(project: Path) -> None:
    world = question_world.FactWorld(seed=1)
    write_jsonl(Path("gold.jsonl"), world.rows(160))
    with DecidingWorld(world) as deciding:
        refused = cli(
            "compile", "facts.py:judge", "--gold", "gold.jsonl", "--optimizer", "questions", "--yes",
            "--model", "decisions/m", "--api-base", deciding.url,
        )  # fmt: skip
        assert not deciding.bodies
    assert refused.code != 0
    assert (
        "a decision model writes no questions; name a model that writes text with --prompt-model, or questions of your "
        "own with --questions" in refused.err
    )


@pytest.mark.slow
def test_the_default_search_asks_a_decision_model_questions(project: Path) -> None:
    world = question_world.FactWorld(seed=2, together=0.6)
    with DecidingWorld(world) as deciding, Loopback(world.answer) as writing:
        compiled = jurist.compile(
            "facts.py:judge",
            world.rows(240),
            words=False,
            budget=jurist.Budget(calls=2500),
            model=jurist.Model("decisions/m", api_base=deciding.url),
            prompt_model=jurist.Model("openai/m", api_base=writing.url),
        )
    assert compiled.artifact.about.words is not None
    assert compiled.artifact.about.words.decide == "questions"


def test_questions_of_the_users_own_need_no_model_that_writes(project: Path) -> None:
    world = question_world.FactWorld(seed=3, together=0.6, singly=1.0)
    write_jsonl(Path("gold.jsonl"), world.rows(100))
    lines = [f"Does the reply say anything of {fact}?" for fact in question_world.FACTS]
    Path("questions.txt").write_text("\n\n".join(lines), encoding="utf-8")
    with DecidingWorld(world) as deciding:
        done = ok(
            "compile", "facts.py:judge", "--gold", "gold.jsonl", "--questions", "questions.txt", "--yes", "--json",
            "--optimizer", "questions", "--no-words", "--model", "decisions/m", "--api-base", deciding.url,
        )  # fmt: skip
        with_questions = [body for body in deciding.bodies if len(body["questions"]) == 11]
    assert done.json["decision"]["verdict"] == "better"
    assert [question["instructions"] for question in with_questions[0]["questions"][:10]] == lines
    assert done.json["setting"]["words"]["decide"] == "questions"


@pytest.mark.slow
def test_the_default_search_tries_the_users_questions_and_no_others(project: Path) -> None:
    world = question_world.FactWorld(seed=3, together=0.6)
    with DecidingWorld(world) as deciding:
        compiled = jurist.compile(
            "facts.py:judge",
            world.rows(160),
            words=False,
            questions=["Does the reply say anything of money? [1 to 5]", "Is a date named? [yes or no]"],
            options={"arm": "questions"},
            model=jurist.Model("decisions/m", api_base=deciding.url),
        )
    kinds = {tuple(question["type"] for question in body["questions"]) for body in deciding.bodies}
    assert kinds == {("choice",), ("score", "predicate", "choice")}
    assert compiled.artifact.card["optimizer"]["name"] == "race"


PARSED = {
    "Is it polite?": ("Is it polite?", "yes or no"),
    "- Is it polite? [yes or no]": ("Is it polite?", "yes or no"),
    "2. How polite is it? [1 to 5]": ("How polite is it?", "1 to 5"),
    "2) How polite is it? (a number, 1–5)": ("How polite is it?", "1 to 5"),
    "3.5 stars or more? [yes or no]": ("3.5 stars or more?", "yes or no"),
    "2 of 3 dates are right? [1..5]": ("2 of 3 dates are right?", "1 to 5"),
    "Are there more (or as many)? [yes or no]": ("Are there more (or as many)?", "yes or no"),
}


@pytest.mark.parametrize("line", PARSED)
def test_a_line_holds_a_question_and_the_kind_of_its_answer(line: str) -> None:
    question = parse_question(line)
    assert question is not None
    assert (question.text, question.kind) == PARSED[line]


@pytest.mark.parametrize(
    "line", ["Be polite.", "", "How rude? [1 to 10]", "How rude? [1 to 50]", "How rude? [0-5]"]
)
def test_a_line_with_no_question_or_another_scale_holds_none(line: str) -> None:
    assert parse_question(line) is None


REFUSED_QUESTIONS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "no question": ((), "Be polite.", "'Be polite.' is no question"),
    "another scale": ((), "How rude is it? [1 to 10]", "'How rude is it? [1 to 10]' is no question"),
    "twice": ((), "Is it polite?\nIs it polite? [1 to 5]", "stands there twice"),
    "none": ((), "\n", "the list has no questions"),
    "both options": (("--no-questions",), "Is it polite?", "--questions goes against --no-questions"),
    "another optimizer": (("--optimizer", "threshold"), "Is it polite?", "--optimizer threshold asks none"),
    "offline": (("--model", "offline"), "Is it polite?", "the offline engine reads no questions"),
}


@pytest.mark.parametrize("case", REFUSED_QUESTIONS)
def test_questions_that_nobody_can_ask_are_refused(case: str, project: Path) -> None:
    options, text, words = REFUSED_QUESTIONS[case]
    write_jsonl(Path("gold.jsonl"), question_world.FactWorld(seed=1).rows(60))
    Path("questions.txt").write_text(text, encoding="utf-8")
    model = () if "--model" in options else ("--model", "decisions/m")
    refused = cli(
        "compile", "facts.py:judge", "--gold", "gold.jsonl", "--questions", "questions.txt", "--yes", *model, *options
    )  # fmt: skip
    assert refused.code != 0
    errors = [line for line in refused.err.splitlines() if line.startswith("error:")]
    assert len(errors) == 1
    assert words in errors[0]
