"""Every sentence of a response in two calls: all of them first, then the cognitive ones only."""

from typing import Any

import pytest
from fakes import Scripted, context_with, lm_of, reply, system_of, user_of
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import field_of

from jurist.errors import UsageError
from jurist.exports import export
from jurist.programs.asking import Asker
from jurist.programs.catalogue import find
from jurist.programs.staged import COGNIBENCH_STAGED as STAGED
from jurist.programs.state import PromptState
from jurist.programs.verdicts import Verdict
from jurist.signatures.cognibench import LABELS, TIERS

SENTENCES = ["Sure!", "It was built\nin 1802.", "It must be loved.", "2. It had owners.", "So it mattered."]
CASE = STAGED.case({"reference": "The mill was built in 1802.", "sentences": SENTENCES})


def tags(pairs: dict[int, str] | list[tuple[int, str]]) -> list[dict[str, Any]]:
    return [{"n": n, "label": label} for n, label in (pairs.items() if isinstance(pairs, dict) else pairs)]


def asked(first: Any, second: Any = None, adapter: str = "chat") -> tuple[Verdict, list[str]]:
    """Ask with a model that gives these tags; return the verdict and the sentences that the second stage saw."""
    shown: list[str] = []

    def answer(request: Any) -> str:
        if "cognitive" not in system_of(request):
            shown.append(field_of(user_of(request), "sentences") if adapter == "chat" else "")
            return reply(adapter, labels=tags(second))
        return reply(adapter, labels=tags(first))

    asker = Asker(
        judge=STAGED, program=STAGED.basic(), lm=lm_of(Scripted(answer), context_with()), adapter=adapter
    )
    return asker.ask(CASE), shown


@pytest.mark.parametrize("adapter", ["chat", "json", "xml"])
def test_the_second_stage_sees_the_cognitive_sentences_under_their_own_numbers(adapter: str) -> None:
    first = {1: "irrelevant", 2: "faithful", 3: "cognitive", 4: "invented", 5: "cognitive"}
    verdict, shown = asked(first, {3: "speculative", 5: "irrefutable"}, adapter)
    assert verdict.values == ("irrelevant", "faithful", "speculative", "invented", "irrefutable")
    assert verdict.usage.calls == 2 == STAGED.calls
    if adapter == "chat":
        assert shown == ["3. It must be loved.\n5. So it mattered."]


def test_without_a_cognitive_sentence_there_is_no_second_call() -> None:
    verdict, shown = asked(dict.fromkeys(range(1, 6), "faithful"))
    assert (verdict.values, verdict.usage.calls, shown) == (("faithful",) * 5, 1, [])


def test_a_sentence_without_one_usable_label_is_abstained() -> None:
    first = [
        (1, "irrelevant"),
        (2, "faithful"),
        (2, "cognitive"),
        (3, "cognitive"),
        (4, "cognitive"),
        (5, "faithful"),
    ]
    second = [(2, "reliable"), (3, "reliable"), (3, "misleading"), (4, "reliable"), (5, "misleading")]
    verdict, shown = asked(first, second)
    assert verdict.values == ("irrelevant", None, None, "reliable", "faithful")
    assert verdict.status == "abstained"
    assert shown[0] == "3. It must be loved.\n4. 2. It had owners."


@settings(max_examples=40)
@given(st.lists(st.sampled_from((*LABELS, None)), min_size=1, max_size=9).filter(any))
def test_answering_as_the_demonstrations_do_gives_gold_back(gold: list[str | None]) -> None:
    case = STAGED.case({"reference": "r", "sentences": [f"S{n}." for n in range(len(gold))], "labels": gold})
    demos = STAGED.demos(case)
    assert ("tier" in demos) == any(label in TIERS for label in gold)
    numbers = [
        line.partition(". ")[0] for line in demos.get("tier", {"sentences": ""})["sentences"].split("\n")
    ]
    assert numbers == ([str(n) for n, label in enumerate(gold, 1) if label in TIERS] or [""])

    def answer(request: Any) -> str:
        name = "tag" if "cognitive" in system_of(request) else "tier"
        return reply("chat", labels=demos[name]["labels"])

    lm = lm_of(Scripted(answer), context_with())
    program = STAGED.basic()
    assert Asker(judge=STAGED, program=program, lm=lm).ask(case).values == tuple(gold)


def test_messages_refuse_several_prompts_and_markdown_shows_them_in_order() -> None:
    for name, steps in (
        ("cognibench-staged", ["tag", "tier"]),
        ("tier", ["rational", "grounded", "irrefutable"]),
    ):
        judge = find(name)
        state = PromptState.of(judge.basic())
        with pytest.raises(UsageError, match=f"up to {len(steps)} prompts .{', '.join(steps)}.") as caught:
            export(state, judge, "messages")
        assert "export it to markdown" in caught.value.hint
        page = export(state, judge, "markdown")
        places = [page.index(f"## Instruction of `{step}`") for step in steps]
        assert places == sorted(places)
