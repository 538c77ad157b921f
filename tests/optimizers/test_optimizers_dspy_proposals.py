"""DSPy's optimizers where proposals cannot be used, examples are too long, or a setting is at its edge.

Each ``upstream`` test shows a defect in DSPy itself. When one of them fails, DSPy was repaired, and the
workaround can go.
"""

import re
from collections.abc import Callable
from itertools import cycle
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request
from dspy.teleprompt import InferRules as DspyInferRules
from dspy.teleprompt import simba_utils, utils
from dspy.teleprompt.gepa.instruction_proposal import InstructionProposer
from dspy.utils.exceptions import ContextWindowExceededError
from fakes import Scripted, context_with, lm_of, reply, system_of, user_of
from judges import POLITE, TWO
from scripted_runs import ScriptedRun, hashed

from jurist.cases import Case
from jurist.engines.adapters import adapter
from jurist.engines.meter import Budget
from jurist.errors import OptimizerError
from jurist.gold.goldset import Gold
from jurist.optimizers.dspy_mipro import Mipro
from jurist.optimizers.dspy_search import SearchBudget
from jurist.optimizers.registry import make
from jurist.programs.catalogue import find

HEADING = "Please adhere to the following rules"


def cases(first: int, count: int, more: str = "") -> tuple[Case, ...]:
    return tuple(
        Case(
            inputs={"message": f"question {n}{more}", "reply": "well"},
            group=f"g{n}",
            gold=(("yes", "no")[n % 2],),
        )
        for n in range(first, first + count)
    )


def half(request: Request) -> str:
    """Answer half of the cases right, and with a rule most of them; unsteadily when it is hot."""
    number = int(re.findall(r"question (\d+)", user_of(request))[-1])
    drawn = (request.config.seed or 0) if request.config.temperature == 1.0 else 0
    right = (number // 2 + drawn) % 2 or ("rule" in system_of(request) and number % 8)
    said = {"polite": "no" if bool(number % 2) == bool(right) else "yes", "reasoning": "so", "notes": "seen"}
    asked = system_of(request).partition("Your output fields are:")[2].partition("All interactions")[0]
    return reply("chat", **{field: said[field] for field in re.findall(r"^\d+\. `(\w+)`", asked, re.M)})


def rules(text: str) -> str:
    return reply("chat", reasoning="so", natural_language_rules=text)


class Run(ScriptedRun):
    def __init__(self, name: str, proposed: Any = (), *, calls: int = 200, **job: Any) -> None:
        parts = {"judge": POLITE, "train": cases(0, 12), "dev": cases(100, 8), "judged": half}
        super().__init__(
            name, job.pop("options", None), proposed=proposed, budget=Budget(calls=calls), **{**parts, **job}
        )

    def said(self, text: str) -> list[str]:
        return [note for note in self.notes if text in note]

    @property
    def instructions(self) -> list[str]:
        return [
            predictor.instructions
            for candidate in self.board.candidates.values()
            for predictor in candidate.state.predictors.values()
        ]


def examples() -> list[dspy.Example]:
    return [dspy.Example(**POLITE.demo(case)).with_inputs("message", "reply") for case in cases(0, 8)]


def too_long() -> ContextWindowExceededError:
    return ContextWindowExceededError(model="m")


# -- proposals that cannot be used ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda request: "no format", "cannot be read"),
        (lambda request: reply("chat", new_instruction=" "), "cannot be read"),
        (lambda request: too_long(), "too long for the proposer"),
    ],
)
def test_gepa_ends_where_no_proposal_can_be_used(answer: Callable[[Request], Any], why: str) -> None:
    run = Run("gepa", answer)
    assert len(run.proposer.requests) == 3
    assert len(run.said("gepa: an unusable proposal")) == 3
    (end,) = run.said("gepa ended early: 3 proposals were unusable, the last 3 in a row")
    assert why in end
    assert (run.result.ending, len(run.history)) == ("finished", 1)


def test_upstream_gepa_asks_for_unreadable_proposals_until_the_budget_is_spent() -> None:
    judge, proposer = lm_of(Scripted(half), context_with()), Scripted(lambda request: "no format")
    optimizer = dspy.GEPA(
        metric=lambda *given: 0.0,
        max_metric_calls=40,
        reflection_lm=lm_of(proposer, context_with()),
        instruction_proposer=InstructionProposer(adapter=adapter("chat")),
        num_threads=1,
    )
    with dspy.context(lm=judge, adapter=adapter("chat")):
        optimizer.compile(POLITE.basic(), trainset=examples(), valset=examples())
    assert len(proposer.requests) > 10


def test_gepa_goes_on_after_a_good_proposal_and_keeps_it() -> None:
    good = reply("chat", new_instruction="Follow the rule.")
    script = iter(["?", "?", good, *["?"] * 3])  # each is asked for twice
    run = Run("gepa", lambda request: next(script), calls=600, dev=cases(100, 40))
    (end,) = run.said("gepa ended early")
    assert "5 proposals were unusable, the last 3 in a row" in end
    assert "Follow the rule." in run.result.best.state.predictors["self"].instructions
    assert run.board.scored(run.result.best, run.job.dev)


def test_infer_rules_tries_no_heading_without_rules() -> None:
    run = Run("infer-rules", lambda request: "no format")
    assert len(run.proposer.requests) == 3
    assert len(run.said("infer-rules: an unusable proposal")) == 3
    assert run.said("infer-rules ended early: 3 proposals were unusable, the last 3 in a row")
    assert not any(HEADING in text for text in run.instructions)
    assert run.result.ending == "finished"


def test_infer_rules_goes_on_after_good_rules() -> None:
    script = cycle(["?", "?", rules("rule one")])
    run = Run("infer-rules", lambda request: next(script), options={"candidates": 7})
    assert (len(run.proposer.requests), run.said("ended early")) == (7, [])
    assert sum(HEADING in text for text in set(run.instructions)) == 1


def test_upstream_infer_rules_writes_a_heading_without_rules() -> None:
    predictor = POLITE.basic()
    predictor.signature = predictor.signature.with_instructions("Decide.")  # one of its own: it is changed
    DspyInferRules().update_program_instructions(predictor, "")
    assert HEADING in predictor.signature.instructions


# -- rules from what gold says of each predictor -------------------------------------------------------------


def test_upstream_infer_rules_shows_a_predictor_what_is_not_its_own() -> None:
    judge = find("tier")
    case = Gold.load("cognibench-mini", judge).split(0).train[0]
    (rational, *_) = judge.basic().predictors()
    (demo,) = DspyInferRules().get_predictor_demos([dspy.Example(**judge.demo(case))], rational)
    assert not set(demo) & set(rational.signature.output_fields)


def shown(run: ScriptedRun) -> list[str]:
    """Return all outputs of the examples that each proposal was made from."""
    return [
        "\n".join(re.findall(r"Output Fields:\n(.*?)\n\n", user_of(request), re.S))
        for request in run.proposer.requests
    ]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("tier", {"rational": "rational: ", "grounded": "grounded: ", "irrefutable": "irrefutable: "}),
        ("cognibench-staged", {"tag": "'cognitive'", "tier": "'speculative'"}),
    ],
)
def test_rules_are_induced_from_what_gold_says_of_each_predictor(name: str, wanted: dict[str, str]) -> None:
    def judged(request: Request) -> str:
        asked = system_of(request).partition("Your output fields are:")[2].partition("All inter")[0]
        said = {"reason": "why", "reasoning": "why", "labels": [{"n": 1, "label": "faithful"}]}
        return reply(
            "chat", **{one: said.get(one, True) for one in re.findall(r"^\d+\. `(\w+)`", asked, re.M)}
        )

    judge = find(name)
    split = Gold.load("cognibench-mini", judge).split(0)
    settings = {"candidates": 1, "sample": 6, "demos": 0, "labels": 0}
    parts = {"judge": judge, "train": split.train, "dev": split.dev[:3], "judged": judged}
    run = Run("infer-rules", lambda r: rules("rule one"), options=settings, calls=2000, **parts)
    assert [name for name, _ in judge.basic().named_predictors()] == list(wanted)
    for outputs, text in zip(shown(run), wanted.values(), strict=True):
        assert outputs
        assert all(text in line or "labels" in line for line in outputs.splitlines())
        assert text in outputs
    if name == "cognibench-staged":
        first, second = shown(run)
        assert "speculative" not in first  # what the second predictor says
        assert "faithful" not in second  # what the first one says


def test_a_predictor_of_which_gold_says_nothing_gets_no_rules() -> None:
    run = Run("infer-rules", lambda r: rules("rule one"), judge=TWO, options={"candidates": 2, "labels": 0})
    assert len(run.proposer.requests) == 2
    assert all("polite: " in outputs for outputs in shown(run))
    assert run.said("is new")
    for candidate in run.board.candidates.values():
        assert HEADING not in candidate.state.predictors["think"].instructions
    assert any(HEADING in text for text in run.instructions)


# -- examples that are too long for the proposer -------------------------------------------------------------


def limited(most: int) -> Callable[[Request], Any]:
    return lambda r: rules("rule one") if user_of(r).count("Input Fields:") <= most else too_long()


def test_upstream_infer_rules_does_not_shorten_its_examples() -> None:
    lm = lm_of(Scripted(limited(4)), context_with())
    optimizer = DspyInferRules(num_candidates=1, metric=lambda *given: 1.0, num_threads=1)
    with dspy.context(lm=lm, adapter=adapter("chat")), pytest.raises(AssertionError):
        optimizer.induce_natural_language_rules(POLITE.basic(), examples())


def test_infer_rules_shortens_its_examples() -> None:
    run = Run("infer-rules", limited(3), options={"candidates": 3})
    tried = [user_of(request).count("Input Fields:") for request in run.proposer.requests]
    assert tried == [12, 9, 6, 4, 3, 3, 3]  # what was too long is not tried again
    assert run.said("12 examples are too long for the proposer; it is shown 9")
    assert any("rule one" in text for text in run.instructions)


def test_infer_rules_goes_without_rules_where_one_example_is_too_long() -> None:
    run = Run("infer-rules", limited(0), options={"candidates": 3})
    assert run.said("1 examples are too long for the proposer; it is shown 0")
    assert (run.result.ending, run.said("ended early")) == ("finished", [])
    assert not any(HEADING in text for text in run.instructions)


# -- the budget ----------------------------------------------------------------------------------------------


def proposals(request: Request) -> str:
    asked = re.findall(r"`(\w+)` \(str", system_of(request).partition("Your output fields are:")[2])
    return reply(
        "chat", **dict.fromkeys(asked, f"be kind {hashed(user_of(request) + str(request.config.seed))}")
    )


def test_calls_kept_for_finalists_are_given_back_once_those_are_scored() -> None:
    run = Run("mipro", proposals, calls=160, options={"candidates": 6})
    assert (run.result.ending, "160 calls" in run.result.reason) == ("budget", True)
    assert run.sent > 160 - 2 * len(run.job.dev)  # what two finalists take
    assert run.context.meter.held == 0


def test_the_reason_says_what_is_left_of_the_calls_for_finalists() -> None:
    run = Run("bootstrap", calls=70, options={"candidates": 30})
    left = 70 - run.sent
    assert left > 0
    assert run.result.reason == (
        f"the calls for the search are spent, of a budget of 70 calls; {left} that were kept for the finalists "
        "were not needed"
    )


# -- settings at their edges ---------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 2])
def test_mipro_refuses_fewer_candidates_than_it_can_try(number: int) -> None:
    with pytest.raises(OptimizerError, match=rf"mipro\.candidates cannot be {number}; give 3 or more, or 0"):
        make("mipro", {"candidates": number})
    budget = SearchBudget(left=1000, run=1, predictors=1)
    assert Mipro(candidates=3).shape(budget, 12, 8)[0] == 3


@pytest.mark.parametrize(("demos", "sets"), [(4, 2), (0, 3)])
def test_mipro_bootstraps_one_more_set_without_demonstrations(
    demos: int, sets: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    class Counted(dspy.BootstrapFewShot):  # type: ignore[misc]
        def __init__(self, **settings: Any) -> None:
            made.append(settings["max_bootstrapped_demos"])
            super().__init__(**settings)

    monkeypatch.setattr(utils, "BootstrapFewShot", Counted)
    Run("mipro", proposals, options={"candidates": 4, "demos": demos})
    assert len(made) == sets
    budget = SearchBudget(left=None, run=1, predictors=1)
    without = Mipro(demos=demos).fixed(4, 0, budget)
    assert Mipro(demos=demos).fixed(4, 1, budget) - without == sets  # a case of train is asked once a set


def test_bootstrap_refuses_no_demonstrations() -> None:
    with pytest.raises(OptimizerError, match=r"bootstrap\.demos cannot be 0; give 1 or more, or use fewshot"):
        make("bootstrap", {"demos": 0})


def test_infer_rules_takes_no_demonstrations_as_said() -> None:
    run = Run("infer-rules", lambda r: rules("rule"), options={"demos": 0, "labels": 0, "candidates": 2})
    assert not any(one.demo_ids for one in run.board.candidates.values())
    assert len(run.judge.requests) == 2 * len(
        run.job.dev
    )  # the basic prompt and one with rules: no bootstrap


def advice(request: Request) -> str:
    return reply("chat", discussion="look", module_advice={"program": "Follow the rule."})


def test_simba_takes_a_seed_below_0() -> None:
    run = Run("simba", advice, seed=-1, options={"steps": 1})
    assert (run.result.ending, len(run.history) > 1) == ("finished", True)


def test_upstream_simba_cuts_demonstrations() -> None:
    given = {"message": "word " * 20_001}
    trace = [(None, given, dspy.Prediction())]
    more: dict[str, Any] = {"predictor2name": {}, "name2predictor": {}, "batch_10p_score": 0.0}
    simba_utils.append_a_demo(dspy.SIMBA(metric=max).demo_input_field_maxlen)(
        [{"trace": trace, "score": 1.0}], None, **more
    )
    assert "TRUNCATED" in given["message"]


def test_simba_cuts_no_demonstration() -> None:
    run = Run("simba", advice, train=cases(0, 8, " and so on" * 10_001), options={"steps": 1})
    found = [one for one in run.board.candidates.values() if one.state.predictors["self"].demos]
    assert found
    for candidate in found:
        assert len(candidate.demo_ids) == len(candidate.state.predictors["self"].demos)
        assert not any("TRUNCATED" in demo["message"] for demo in candidate.state.predictors["self"].demos)


def test_what_simba_lost_is_shown_while_dspy_is_silenced(capsys: pytest.CaptureFixture[str]) -> None:
    Run("simba", lambda r: "no format", options={"steps": 1}, sink=lambda event: print(event.text))
    assert "simba: one prompt less" in capsys.readouterr().out
