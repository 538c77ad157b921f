"""``jurist assess``: answers, labels, shares, and what is taken out of them for the judge's own errors."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import Scripted, lm_of, reply, user_of
from judges import changed
from small import cli, ok, read_jsonl, write_jsonl
from talks import GOOD, docs

from jurist.engines.models import Model
from jurist.errors import GoldError
from jurist.gold.goldset import Gold
from jurist.jobs.assessing import assess_models
from jurist.jobs.surface import Surface
from jurist.keeping.artifacts import Store
from jurist.keeping.loaders import load_judge
from jurist.keeping.paying import Start
from jurist.papers.cognibench.assess import MEASURES, DialogueAssessment, read_prompts
from jurist.programs.cognibench import BELOW, COGNIBENCH


def gold_rows(groups: int = 12) -> list[dict[str, Any]]:
    """Return gold in which a sentence says its own label, so that a scripted judge can read it."""
    return [
        {
            "group": f"g{n}",
            "reference": f"Reference {n}.",
            "history": [],
            "question": f"What of {n}?",
            "sentences": ["Say faithful.", "Say invented.", "Say reliable.", "Say speculative."],
            "labels": ["faithful", "invented", "reliable", "speculative"],
        }
        for n in range(groups)
    ]


def scripted(monkeypatch: pytest.MonkeyPatch, answer: str, wrong: int = 0) -> Scripted:
    """Let every model be one that answers ``answer``, and judges by what a sentence says of itself.

    Of every ``wrong`` calibration references, the judge calls one's invented sentence faithful.
    """

    def said(request: Any) -> str:
        text = user_of(request)
        if "user_message" in text:
            return reply("chat", assistant_message=answer)
        number = int(text.partition("Reference ")[2].partition(".")[0] or 0)
        labels = []
        for line in text.splitlines():
            if ". Say " in line:
                place, _, label = line.partition(". Say ")
                label = label.rstrip(".")
                calibration = "What of" in text and number < 100
                if wrong and label == "invented" and number % wrong == 0 and calibration:
                    label = "faithful"
                labels.append({"n": int(place), "label": label})
        return reply("chat", labels=labels)

    engine = Scripted(said)
    for place in ("jurist.keeping.loading.connect", "jurist.jobs.assessing.connect"):
        monkeypatch.setattr(
            place, lambda model, context, purpose="judge", reach=None: lm_of(engine, context, purpose)
        )
    return engine


def prompts() -> list[dict[str, Any]]:
    rows = enumerate(gold_rows(6))
    return [{**row, "reference": f"Reference {100 + n}.", "group": f"p{n}"} for n, row in rows]


def surface() -> Surface:
    return Surface(Store("compiled"), Start(root=Path("checkpoints")))


def assessment(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> DialogueAssessment:
    write_jsonl(Path("gold.jsonl"), gold_rows())
    write_jsonl(Path("prompts.jsonl"), prompts())
    judge = load_judge("cognibench:basic", store=Store("compiled"), samples=1)
    work = DialogueAssessment(
        prompts=read_prompts("prompts.jsonl"),
        targets=(Model(name="openai/x", temperature=0.7),),
        judge=judge,
        calibration=Gold.load("gold.jsonl", COGNIBENCH),
        benchmark="prompts.jsonl",
    )
    return replace(work, **changes)


def test_a_right_judge_leaves_shares_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, "Say faithful. Say invented. Say reliable. Say faithful.")
    (found,), spend = assess_models(assessment(monkeypatch), surface())
    values = {name: (one.raw.value, one.corrected.value) for name, one in found.measures.items()}
    assert values["factual"] == (0.75, 0.75)
    assert values["cognitive"] == (0.25, 0.25)
    assert values["hallucinated"] == (0.25, 0.25)
    assert values["hallucinated_of_factual"] == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert values["hallucinated_of_cognitive"] == (0.0, 0.0)
    assert values["irrelevant"] == (0.0, None)  # the calibration has none
    assert (spend["generator"]["calls"], spend["judge"]["calls"]) == (6, 12 + 6)
    assert not Path("checkpoints").exists()


def test_what_the_judge_misses_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge calls a third of the invented sentences faithful: sensitivity 2/3 among factual statements."""
    scripted(monkeypatch, "Say faithful. Say invented. Say faithful. Say faithful.", wrong=3)
    (found,), _ = assess_models(assessment(monkeypatch), surface())
    measure = found.measures["hallucinated_of_factual"]
    assert measure.corrected.sensitivity == pytest.approx(2 / 3)
    assert measure.corrected.specificity == 1.0
    assert measure.raw.value == 0.25
    assert measure.corrected.value == pytest.approx(0.25 / (2 / 3))
    assert measure.corrected.low is not None
    assert measure.corrected.low < 0.25 / (2 / 3) < (measure.corrected.high or 0)


def test_empty_answers_are_counted_and_never_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, "")
    (found,), _ = assess_models(assessment(monkeypatch), surface())
    assert (found.empty, len(found.answers), found.unusable) == (6, 0, 1.0)
    assert found.measures["hallucinated"].raw.value is None
    assert "no unit" in found.measures["hallucinated"].corrected.problem


def test_rows_the_judge_was_compiled_on_do_not_measure_it(monkeypatch: pytest.MonkeyPatch) -> None:
    work = assessment(monkeypatch)
    seen = [case.id for case in work.calibration.cases[:5]]
    card = {"gold": {"name": "g", "seen": seen}}
    Store("compiled").save(COGNIBENCH, changed(COGNIBENCH), card, [], make_latest=True)
    judge = load_judge("cognibench", store=Store("compiled"), samples=1)
    assert [case.id for case in replace(work, judge=judge).held_out] == [
        case.id for case in work.calibration.cases[5:]
    ]


def test_prompts_from_dialogues_and_from_gold_and_the_bundled_ones() -> None:
    said = ("One?", "First.", "Two?", "Second.")
    turns = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said)]
    write_jsonl(Path("d.jsonl"), [{"id": "a", "reference": "R.", "turns": turns}])
    one, two = read_prompts("d.jsonl")
    assert (one.question, one.history) == ("One?", [])
    before = [turn.content for turn in two.history]
    assert (two.question, before, two.group) == ("Two?", ["One?", "First."], "a")
    bundled = read_prompts("dialogues")
    assert (len(bundled), len({one.id for one in bundled})) == (84, 84)
    write_jsonl(Path("none.jsonl"), [{"reference": "R."}])
    with pytest.raises(GoldError, match="no question"):
        read_prompts("none.jsonl")
    write_jsonl(Path("bad.jsonl"), [{"id": "a", "reference": "R.", "turns": turns[1:]}])
    with pytest.raises(GoldError, match=r"bad.jsonl:1, field 'turns'"):
        read_prompts("bad.jsonl")


def test_a_column_of_that_name_beside_sentences_is_no_dialogue() -> None:
    row = {"reference": "R.", "sentences": ["One."], "turns": 3}
    assert COGNIBENCH.expanded(row) == (row,)


def test_a_dialogue_may_be_a_list_of_messages() -> None:
    messages = [{"role": "user", "content": "Which capital?"}, {"role": "assistant", "content": "Of what?"}]
    row = {"reference": "R.", "dialogue": messages, "sentences": ["One."]}
    assert COGNIBENCH.case(row).inputs["dialogue"] == "user: Which capital?\nassistant: Of what?"
    assert COGNIBENCH.case({**row, "dialogue": None}).inputs["dialogue"] == ""


def test_the_command_prints_a_row_a_model_and_resumes() -> None:
    write_jsonl(Path("docs.jsonl"), docs(2))
    ok("generate", "dialogue", "--input", "docs.jsonl", "--turns", "2", "--output", "d.jsonl")
    argv = ("assess", "offline", "--benchmark", "d.jsonl", "--samples", "1", "--json")
    whole = ok(*argv, "--answers", "a.jsonl", "--output", "r.json")
    found = whole.json
    (model,) = found["models"]
    assert (model["prompts"], model["answers"], model["empty"]) == (4, 4, 0)
    assert set(model["measures"]) == set(MEASURES)
    assert found["calibration"] == {"gold": "cognibench-mini", "rows": 84, "left_out": 0}
    assert found["spend"]["total"]["calls"] == 84 + 4 + 4
    assert json.loads(Path("r.json").read_text(encoding="utf-8")) == found
    labels = [label for row in read_jsonl(Path("a.jsonl")) for label in row["labels"]]
    assert len(labels) == model["sentences"]
    assert "the judge on its calibration" in whole.people
    stopped = cli(*argv, "--max-calls", "86")
    assert (stopped.code, "86 paid answers are kept" in stopped.err) == (1, True)
    again = cli(*argv, "--resume").json
    assert again["models"] == found["models"]
    assert (again["spend"]["total"]["calls"], again["spend"]["total"]["replayed"]) == (92 - 86, 86)


MUSING = (
    "Overall the old wheels probably inspired a quiet pride that shaped everybody in the valley.",
    "The mill was sold to a circus in 1777 for nine golden herrings.",
)


@pytest.mark.parametrize("strictness", ["rational", "irrefutable"])
def test_an_assessment_counts_what_falls_below(strictness: str, serve: Callable[..., Any]) -> None:
    server = serve(lambda messages: reply("chat", assistant_message=f"{GOOD} {' '.join(MUSING)}"))
    argv = ("assess", "openai/x", "--benchmark", "dialogues", "--limit", 6, "--samples", 1, "--yes", "--json")
    named = ("--api-base", server.url, "--judge", "cognibench:basic", "--strictness", strictness)
    done = ok(*argv, *named, "--answers", "a.jsonl")
    assert done.json["judge"]["strictness"] == strictness
    assert f"falls below {strictness}" in done.people
    labels = [x for row in read_jsonl(Path("a.jsonl")) for x in row["labels"] if x]
    wanted = sum(label in BELOW[strictness] for label in labels) / len(labels)
    found = done.json["models"][0]["measures"]["hallucinated"]["raw"]["value"]
    assert found == pytest.approx(wanted)
