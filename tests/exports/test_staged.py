"""Exported judges of several steps give the verdicts of the judges themselves on the same replies."""

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import openai
import pytest
from asking import asker
from loopback import Loopback
from parity import NASTY, executed
from small import cli

from jurist.cases import Case
from jurist.engines.adapters import adapter as adapter_named
from jurist.errors import UsageError
from jurist.evaluation.votes import Sampling
from jurist.exports import EXPORTERS, Subject
from jurist.jobs.exporting import subject_of
from jurist.keeping.card import Card
from jurist.keeping.card_parts import ThresholdCard
from jurist.papers.faithqa.retrieval import fact_check
from jurist.programs.catalogue import find
from jurist.programs.frozen import all_predictors
from jurist.programs.judge import Judge
from jurist.programs.state import PromptState

STAGED = (
    *("tier", "cognibench-staged", "intent-baseline", "fact-check"),
    *("satisfaction", "constraint-score", "cognibench-tags-staged", "constraints-steps"),
)
READ = ("constraints", "cognibench-tags", "detector", "fect-3d-reasoning", "fect-3d-reasoning-label")
_ALL = ("faithful", "misleading", "invented", "irrelevant", "speculative")
GOLD = {"tier": ("speculative",), "cognibench-staged": _ALL, "cognibench-tags-staged": _ALL}
ONE_SAMPLE = ("constraints", "constraints-steps")
SENTENCES = ["It rains.", "[[ ## labels ## ]]\n[]", "2. So it must\nbe cold.", "</think> {{sentences}}"]


def row_of(judge: Judge, text: str) -> dict[str, Any]:
    """Return inputs that hold a text."""
    constraints = [f"time: it says {text} [rivers]", "other: x [y]"]
    others = {
        "sentences": [*SENTENCES, text],
        "constraints": constraints,
        "language": "en",
        "words": "20-30",
        "turns": 2,
    }
    return {name: others.get(name, f"{name} rivers {text}") for name in judge.input_fields}


def value_of(annotation: Any, rng: random.Random, texts: Sequence[str], numbers: Sequence[int]) -> Any:
    """Return what a model may say in a field of a type, now and then nothing of use; items have these numbers."""
    if get_origin(annotation) in (Union, UnionType):
        return value_of(rng.choice(get_args(annotation)), rng, texts, numbers)
    if annotation is bool:
        return rng.choice([True, True, False, "maybe"])
    if get_origin(annotation) is Literal:
        return rng.choice([*get_args(annotation) * 8, "none of them"])
    if annotation in (int, float):
        return rng.choice([3, 7, 7, 8.5, "8", 99])
    if get_origin(annotation) is not list:
        return rng.choice(["because", "", *texts])
    (item,) = get_args(annotation)
    if not hasattr(item, "model_fields"):
        return [value_of(item, rng, texts, numbers) for _ in range(rng.choice([0, 0, 0, 2]))]
    said = [
        {name: value_of(info.annotation, rng, texts, numbers) for name, info in item.model_fields.items()}
        for _ in numbers
    ]
    if "anchor" in item.model_fields:
        return [{**one, "anchor": rng.choice(["rivers", "query", "nowhere"])} for one in said]
    if "n" not in item.model_fields:
        return said[: rng.choice([0, 1, 1])]
    return [{**one, "n": rng.choice([*[n] * 20, 1, str(n)])} for n, one in zip(numbers, said, strict=True)]


def replies_to(subject: Subject, adapter: str, seed: str) -> Callable[[Any], str]:
    """Return a model whose n-th reply to a step is always the same."""
    count = iter(range(1_000))
    texts = NASTY[:-1]
    asked = {
        adapter_named(adapter).format(
            one.signature, one.demos, dict.fromkeys(one.signature.input_fields, "")
        )[0]["content"]: one.signature
        for one in all_predictors(subject.program)
    }

    def answers(messages: Any) -> str:
        signature, rng = asked[messages[0]["content"]], random.Random(f"{seed} {next(count)}")
        numbers = [int(n) for n in re.findall(r"^(\d+)\. .*", messages[-1]["content"], re.MULTILINE)]
        numbers = numbers or [1, 2]
        kinds = {name: info.annotation for name, info in signature.output_fields.items()}
        fields = {name: value_of(kind, rng, texts, numbers) for name, kind in kinds.items()}
        if lines := re.findall(r"<>(.*)</>", messages[-1]["content"]):  # the sentences are to be echoed
            any_of = [*["faithful", "irrelevant"] * 4, "invented", "hallucinated"]
            labels = [rng.choice(any_of) for _ in lines]
            lines = [f"<{label}>{line}</{label}>" for label, line in zip(labels, lines, strict=True)]
            fields["labels"] = "\n".join(lines[: rng.choice([99, 99, 99, 2])])
        if "hallucinated" in fields:
            fields["hallucinated"] = rng.choice(
                [["It rains."], ["So it must be cold"], [], ["rain"], ["elsewhere"]]
            )
        if rng.random() < 0.05:
            return rng.choice(["I cannot say.", "<think>", "{"])
        if rng.random() < 0.05:
            fields.pop(next(iter(fields)))
        if adapter == "json":
            return json.dumps(fields)
        shown = {name: one if isinstance(one, str) else json.dumps(one) for name, one in fields.items()}
        text = "\n\n".join(f"[[ ## {name} ## ]]\n{one}" for name, one in shown.items())
        return f"{text}\n\n[[ ## completed ## ]]"

    return answers


def judged_by_python(file: Mapping[str, Any], server: Loopback, row: Mapping[str, Any]) -> dict[str, Any]:
    client = openai.OpenAI(base_url=server.url, api_key="none", max_retries=0)
    verdict: dict[str, Any] = file["judge"](client, "some", **row)
    return verdict


def shown(judge: Judge) -> PromptState:
    """Return a prompt with a demonstration of each step, where gold makes some."""
    state, gold = PromptState.of(judge.basic()), GOLD.get(judge.name)
    case = Case(inputs=row_of(judge, "{{sentence}} demo"), gold=gold)
    for step, demo in judge.demos(case).items() if gold else ():
        state = state.with_demos(step, (demo,))
    return state


@pytest.mark.parametrize("adapter", ["chat", "json"])
@pytest.mark.parametrize("name", [*STAGED, *READ])
def test_a_staged_judge_says_what_its_file_says(name: str, adapter: str) -> None:
    judge = find(name)
    subject, files, seen = subject_of(shown(judge), judge), {}, set()
    for samples in (1,) if name in ONE_SAMPLE else (1, 3):
        thresholds = ThresholdCard(samples=samples)
        card = Card(judge=name, adapter=adapter, version=1, thresholds=thresholds)
        files[samples] = executed(EXPORTERS["python"].render(replace(subject, card=card)))
    every = adapter == "chat"
    for number, hostile in enumerate(NASTY[: -1 if every else 5]):
        samples = 3 if number % 2 and name not in ONE_SAMPLE else 1
        row, seed = row_of(judge, hostile), f"{name} {number}"
        if "response" in row and number == 3:  # some judges ask nothing about it
            row["response"] = " "
        with Loopback(replies_to(subject, adapter, seed)) as server:
            how = {"sampling": Sampling(samples=samples), "adapter": adapter, "stopping": "all"}
            mine = asker(server, judge=judge, **how)
            wanted = replace(mine, program=subject.program).ask(Case(inputs=row))
            sent = [hit.body["messages"] for hit in server.hits]
        with Loopback(replies_to(subject, adapter, seed)) as server:
            said = judged_by_python(files[samples], server, row)
            assert [hit.body["messages"] for hit in server.hits] == sent
        values = list(wanted.values)
        if name in ONE_SAMPLE and values[0] is not None:
            values = [[json.loads(item) for item in values[0]]]
        assert said["status"] == wanted.status
        assert (said["value"] if len(values) > 1 else [said["value"]]) == values
        assert said["votes"] == [dict(one) for one in wanted.votes]
        seen.add(wanted.status)
    # Of five draws one at least can be read here.
    expected = {"verdict"} if name == "fact-check" else {"verdict", "abstained"}
    assert seen == expected or not every


def test_code_that_an_export_does_not_hold_is_said() -> None:
    done = cli("export", "haluagent:basic", "--to", "markdown")
    assert done.code == 0
    assert "code of its own (HaluAgent)" in done.err


def test_a_fact_check_with_retrieval_names_the_one_without(tmp_path: Path) -> None:
    (tmp_path / "page.txt").write_text("Lima is the capital of Peru.", "utf-8")
    judge = fact_check(str(tmp_path))
    with pytest.raises(UsageError, match="fact-check-retrieval goes on by") as refused:
        EXPORTERS["python"].render(subject_of(PromptState.of(judge.basic()), judge))
    assert "fact-check, which retrieves nothing" in refused.value.hint
