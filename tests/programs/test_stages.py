"""Judges that decide in steps: tiers that stop at the first no, sentences in two calls; strictness."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from asking import scripted
from fakes import Scripted, context_with, lm_of, reply, system_of, user_of
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import field_of
from small import FAST, cli, ok, write_jsonl
from talks import small_gold

from jurist.errors import UsageError
from jurist.evaluation.votes import Sampling
from jurist.keeping.artifacts import Store
from jurist.keeping.loaders import load_judge
from jurist.programs.catalogue import CATALOGUE, find
from jurist.programs.cognibench import LEVELS
from jurist.programs.staged import COGNIBENCH_STAGED as STAGED
from jurist.programs.staged import COGNIBENCH_TAGS_STAGED as TAGS_STAGED
from jurist.programs.state import PromptState
from jurist.programs.statements import STEPS, TIER, decisions
from jurist.programs.together import asking_of
from jurist.programs.verdicts import Verdict
from jurist.signatures.cognibench_labels import LABELS, TIERS

CASE = TIER.case({"reference": "The mill closed in 1911.", "sentence": "It must have hurt the town."})
PATHS = {
    "misleading": {"rational": False},
    "speculative": {"rational": True, "grounded": False},
    "reliable": {"rational": True, "grounded": True, "irrefutable": False},
    "irrefutable": {"rational": True, "grounded": True, "irrefutable": True},
}


def asked(answers: Mapping[str, Any], adapter: str = "chat") -> tuple[Verdict, list[str]]:
    """Ask with a model that gives these answers; return the verdict and the steps that were asked, in order."""
    steps: list[str] = []

    def answer(request: Any) -> str:
        system = system_of(request)
        step = next(name for name in STEPS if f"`{name}` (bool)" in system)
        steps.append(step)
        said = answers[step]
        return said if isinstance(said, str) else reply(adapter, reason=f"why {step}", **{step: said})

    return scripted(TIER, answer, adapter=adapter).ask(CASE), steps


@pytest.mark.parametrize("adapter", ["chat", "json"])
@pytest.mark.parametrize("tier", TIERS)
def test_the_first_no_ends_it_and_every_reason_is_kept(tier: str, adapter: str) -> None:
    verdict, steps = asked(PATHS[tier], adapter)
    assert (verdict.label, tuple(steps)) == (tier, STEPS[: len(PATHS[tier])])
    assert verdict.usage.calls == len(steps) <= TIER.calls == 3
    assert verdict.reasoning.splitlines() == [
        f"{step}: {'yes' if said else 'no'}: why {step}" for step, said in PATHS[tier].items()
    ]
    assert decisions(tier) == PATHS[tier]
    assert TIER.answer.unit_parts(tier).items() >= {step: PATHS[tier].get(step) for step in STEPS}.items()


@pytest.mark.parametrize("place", range(3))
def test_an_unusable_reply_at_any_step_is_an_abstention(place: int) -> None:
    answers: dict[str, Any] = dict.fromkeys(STEPS[:place], True)
    verdict, steps = asked({**answers, STEPS[place]: "I would rather not say."})
    assert (verdict.status, verdict.label) == ("abstained", None)
    assert "unusable reply" in verdict.error
    assert set(steps) == set(STEPS[: place + 1])


EVIDENCE = "The mill was built in 1802 and closed in 1911 after a fire in the boiler house."


@pytest.mark.parametrize("name", ["tier", "cognibench", "cognibench-staged"])
def test_strictness_says_what_is_hallucinated(name: str) -> None:
    judge = find(name)
    assert judge.option_values == {"strictness": "grounded"}
    assert judge.answer.positive == judge.with_options({"strictness": "grounded"}).answer.positive
    sets = [judge.with_options({"strictness": level}).answer.positive & set(TIERS) for level in LEVELS]
    assert sets == [{"misleading"}, {"misleading", "speculative"}, {"misleading", "speculative", "reliable"}]
    strict = judge.with_options({"strictness": "irrefutable"})
    assert ("invented" in strict.answer.positive) == (name != "tier")
    if name != "tier":
        words = [one.answer.unit_parts("reliable")["verdict"] for one in (judge, strict)]
        assert words == ["faithful", "hallucinated"]


def test_a_judge_without_tiers_has_no_strictness() -> None:
    tiered = {judge.name for judge in CATALOGUE.values() if "strictness" in judge.options}
    assert tiered >= {"tier", "cognibench", "cognibench-staged"}
    with pytest.raises(UsageError, match="judge fect has no strictness"):
        find("fect").with_options({"strictness": "rational"})


def test_a_judge_is_compiled_for_a_strictness_and_runs_with_it(tmp_path: Path) -> None:
    store, gold = tmp_path / "store", ("--gold", write_jsonl(tmp_path / "gold.jsonl", small_gold()))
    asked = ("compile", "cognibench", *gold, "--strictness", "irrefutable", *FAST, "--force", "--json")
    done = ok(*asked, "--store", store)
    assert done.json["strictness"] == "irrefutable"
    assert "reliable" in done.json["positive"]
    loaded = load_judge("cognibench", store=Store(store))
    assert loaded.judge.option_values == {"strictness": "irrefutable"}
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"reference": EVIDENCE, "sentences": ["It closed in 1911."]}) + "\n")

    def ran(out: Path, *more: str) -> tuple[str, str]:
        done = ok("run", "cognibench", "--input", rows, "--output", out, "--store", store, *more)
        return json.loads(out.read_text())["strictness"], done.err

    assert ran(tmp_path / "a.jsonl")[0] == "irrefutable"
    strictness, said = ran(tmp_path / "b.jsonl", "--strictness", "rational")
    assert strictness == "rational"
    assert "cognibench@1 was proven for strictness irrefutable and runs with rational" in said
    compare = ("compare", "cognibench", "cognibench:basic", *gold, "--store", store)
    refused = cli(*compare)
    assert refused.code == 2
    assert "give --strictness" in refused.err
    ok(*compare, "--strictness", "rational", "--json")


def test_a_fitted_threshold_belongs_to_its_strictness(tmp_path: Path) -> None:
    judge, store = find("cognibench"), Store(tmp_path)
    card = {"thresholds": {"samples": 5, "threshold": 1}, "gold": {}}
    store.save(judge, PromptState.of(judge.basic()), card, [], make_latest=True)
    assert load_judge("cognibench", store=store).sampling.needed == 1
    assert load_judge("cognibench", store=store, strictness="irrefutable").sampling.needed == 3


SENTENCES = ["Sure!", "It was built\nin 1802.", "It must be loved.", "2. It had owners.", "So it mattered."]
RESPONSE = STAGED.case({"reference": "The mill was built in 1802.", "sentences": SENTENCES})


def tags(pairs: dict[int, str] | list[tuple[int, str]]) -> list[dict[str, Any]]:
    return [{"n": n, "label": label} for n, label in (pairs.items() if isinstance(pairs, dict) else pairs)]


def staged(first: Any, second: Any = None, adapter: str = "chat") -> tuple[Verdict, list[str]]:
    """Ask with a model that gives these tags; return the verdict and the sentences that the second stage saw."""
    shown: list[str] = []

    def answer(request: Any) -> str:
        if "cognitive" not in system_of(request):
            shown.append(field_of(user_of(request), "sentences") if adapter == "chat" else "")
            return reply(adapter, labels=tags(second))
        return reply(adapter, labels=tags(first))

    return scripted(STAGED, answer, adapter=adapter).ask(RESPONSE), shown


@pytest.mark.parametrize("adapter", ["chat", "json"])
def test_the_second_stage_sees_the_cognitive_sentences_under_their_own_numbers(adapter: str) -> None:
    first = {1: "irrelevant", 2: "faithful", 3: "cognitive", 4: "invented", 5: "cognitive"}
    verdict, shown = staged(first, {3: "speculative", 5: "irrefutable"}, adapter)
    assert verdict.values == ("irrelevant", "faithful", "speculative", "invented", "irrefutable")
    assert verdict.usage.calls == 2 == STAGED.calls
    if adapter == "chat":
        assert shown == ["3. It must be loved.\n5. So it mattered."]


def test_a_sentence_without_one_usable_label_is_abstained() -> None:
    said = "irrelevant faithful cognitive cognitive cognitive faithful"
    first = list(zip((1, 2, 2, 3, 4, 5), said.split(), strict=True))
    second = [(2, "reliable"), (3, "reliable"), (3, "misleading"), (4, "reliable"), (5, "misleading")]
    verdict, shown = staged(first, second)
    assert verdict.values == ("irrelevant", None, None, "reliable", "faithful")
    assert verdict.status == "abstained"
    assert shown[0] == "3. It must be loved.\n4. 2. It had owners."


@settings(max_examples=40)
@given(st.lists(st.sampled_from((*LABELS, None)), min_size=1, max_size=9).filter(any))
def test_answering_as_the_demonstrations_do_gives_gold_back(gold: list[str | None]) -> None:
    case = STAGED.case({"reference": "r", "sentences": [f"S{n}." for n in range(len(gold))], "labels": gold})
    demos = STAGED.demos(case)
    assert ("tier" in demos) == any(label in TIERS for label in gold)
    shown = demos.get("tier", {"sentences": ""})["sentences"].split("\n")
    numbers = [line.partition(". ")[0] for line in shown]
    assert numbers == ([str(n) for n, label in enumerate(gold, 1) if label in TIERS] or [""])

    def answer(request: Any) -> str:
        name = "tag" if "cognitive" in system_of(request) else "tier"
        return reply("chat", labels=demos[name]["labels"])

    assert scripted(STAGED, answer).ask(case).values == tuple(gold)


TAGS = ("irrelevant", "faithful", "hallucinated")
DIVIDED = {
    ("faithful", "fact"): "faithful",
    ("faithful", "irrefutable"): "irrefutable",
    ("faithful", "reliable"): "reliable",
    ("faithful", "speculative"): "reliable",
    ("faithful", "misleading"): "reliable",
    ("hallucinated", "fact"): "invented",
    ("hallucinated", "misleading"): "misleading",
    ("hallucinated", "speculative"): "speculative",
    ("hallucinated", "reliable"): "speculative",
    ("hallucinated", "irrefutable"): "speculative",
}
"""Tag and second label -> the label: the tag decides whether a sentence is hallucinated."""


def divided(tags: list[str], second_labels: dict[int, str]) -> tuple[list[str | None], list[str]]:
    """Ask with a model that gives these tags and labels; return the labels and what each call was shown."""
    texts = [f"Sentence {number}." for number in range(1, len(tags) + 1)]
    case = TAGS_STAGED.case({"reference": "The mill closed in 1911.", "sentences": texts})
    echo = "\n".join(f"<{tag}>{text}</{tag}>" for tag, text in zip(tags, texts, strict=True))
    shown: list[str] = []

    def answer(request: Any) -> str:
        shown.append(field_of(user_of(request), "sentences"))
        said = [{"n": n, "label": label} for n, label in second_labels.items()]
        return reply("chat", labels=echo if len(shown) == 1 else json.dumps(said))

    program = TAGS_STAGED.basic()
    with asking_of(lm_of(Scripted(answer), context_with()), "chat"):
        prediction = program(**TAGS_STAGED.prompt_values(case.inputs))
    return list(TAGS_STAGED.read(prediction, case.inputs).values), shown


def test_the_tag_decides_and_the_second_stage_divides() -> None:
    pairs = [(tag, label) for tag in TAGS[1:] for label in ("fact", *TIERS)]
    second_labels = {number: label for number, (_, label) in enumerate(pairs, 1)}
    labels, _ = divided([tag for tag, _ in pairs], second_labels)
    assert dict(zip(pairs, labels, strict=True)) == DIVIDED
    for (tag, _), label in zip(pairs, labels, strict=True):
        assert (label in TAGS_STAGED.answer.positive) == (tag == "hallucinated")


def test_the_second_stage_sees_tags_and_no_irrelevant_sentence() -> None:
    labels, shown = divided(list(TAGS), {2: "reliable"})
    assert labels == ["irrelevant", "reliable", None]
    assert shown[1] == "2. [faithful] Sentence 2.\n3. [hallucinated] Sentence 3."
    labels, shown = divided(["irrelevant"] * 2, {})
    assert labels == ["irrelevant"] * 2
    assert len(shown) == 1


@settings(max_examples=30)
@given(st.lists(st.sampled_from(LABELS), min_size=1, max_size=9))
def test_answering_as_the_demonstrations_of_tags_do_gives_gold_back(gold: list[str]) -> None:
    case = TAGS_STAGED.case(
        {"reference": "r", "sentences": [f"S{n}." for n in range(len(gold))], "labels": gold}
    )
    demos = TAGS_STAGED.demos(case)

    def answer(request: Any) -> str:
        if "Copy every sentence" in system_of(request):
            return reply("chat", labels=demos["tag"]["labels"])
        assert field_of(user_of(request), "sentences") == demos["tier"]["sentences"]
        return reply("chat", labels=demos["tier"]["labels"])

    assert scripted(TAGS_STAGED, answer).ask(case).values == tuple(gold)


@pytest.mark.parametrize(("hallucinated", "label"), [(2, "reliable"), (3, "speculative")])
def test_the_vote_on_the_tag_decides_the_side(hallucinated: int, label: str) -> None:
    case = TAGS_STAGED.case({"reference": "The mill closed in 1911.", "sentences": ["It hurt the town."]})
    tags = ["hallucinated"] * hallucinated + ["faithful"] * (5 - hallucinated)
    calls: list[str] = []

    def answer(request: Any) -> str:
        if "Copy every sentence" in system_of(request):
            tag = tags[len(calls)]
            calls.append(tag)
            return reply("chat", labels=f"<{tag}>It hurt the town.</{tag}>")
        return reply("chat", labels=[{"n": 1, "label": "speculative"}])

    assert scripted(TAGS_STAGED, answer, sampling=Sampling(samples=5)).ask(case).values == (label,)
