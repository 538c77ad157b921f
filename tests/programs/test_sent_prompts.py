"""The prompts of all built-in judges, generators and answerers as they are sent, kept in ``golden/prompts``.

A file for each of them and each adapter holds the first request of every step: the system text, all messages and the
settings. ``PYTHONPATH=tests/helpers python tests/programs/test_sent_prompts.py`` writes them anew; read what changed,
as the model would, before it is committed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

import dspy
import pytest
from asking import scripted
from dspy.lm15 import Message, Request, Response
from fakes import system_of

import jurist
from jurist.cases import Case
from jurist.engines.channel import InnerEngine
from jurist.engines.draws import TypedRequest, typed_request
from jurist.engines.offline import OfflineEngine
from jurist.gold.documents import read_documents
from jurist.papers.cognibench.dialogues import dialogue_rows
from jurist.papers.faithqa import assess as faithqa_assess
from jurist.papers.faithqa.benchmark import plan_rows
from jurist.papers.faithqa.retrieval import fact_check
from jurist.papers.haluagent import assess as haluagent_assess
from jurist.programs.catalogue import CATALOGUE, GENERATORS
from jurist.programs.dialogue import RESPOND, Range
from jurist.programs.judge import Judge
from jurist.programs.languages import case_texts
from jurist.text.wording import is_chinese

FOLDER: Final = Path(__file__).parents[1] / "golden" / "prompts"
DATASETS: Final = Path(__file__).parents[2] / "datasets"
ADAPTERS: Final = ("chat", "json")
MOST_CASES: Final = 60
"""Cases that are tried before a step counts as one that is never asked."""
ANSWERERS: Final[Mapping[str, Judge]] = {
    "answer-question": haluagent_assess.ANSWERING,
    "answer-query": faithqa_assess.ANSWERING,
    "answer-message": RESPOND,
}


def judges() -> dict[str, Judge]:
    """Return every judge, generator and answerer by the name of its files."""
    found: dict[str, Judge] = {**CATALOGUE, **GENERATORS, **ANSWERERS}
    for name, judge in chain(CATALOGUE.items(), ANSWERERS.items()):
        if "zh" in judge.languages:
            found[f"{name}-zh"] = judge.in_language("zh")
    found["fact-check-retrieval"] = fact_check(DATASETS / "faithqa-documents" / "gold.jsonl")
    return found


def reply_that_goes_on(typed: TypedRequest) -> dict[str, Any] | None:
    """Return the reply after which a program asks its next step; ``None`` where any reply will do."""
    step = typed.signature.__name__
    if step in ("IsRational", "IsGrounded"):
        return {"reason": "It does.", step.removeprefix("Is").lower(): True}
    if step == "TagStatements":
        numbers = range(1, str(typed.inputs["sentences"]).count("\n") + 2)
        return {"labels": [{"n": number, "label": "cognitive"} for number in numbers]}
    if step == "CheckFacts":
        return {"verdict": "inaccurate"}
    return None


class Recorder(InnerEngine):
    """Answers as the offline engine does, and keeps the first request of each step of a program."""

    def __init__(self, program: dspy.Module) -> None:
        self.steps: dict[str, str] = {}  # a task -> the first step that has it
        for path, predictor in program.named_sub_modules(type_=dspy.Predict):
            self.steps.setdefault(task_of(predictor.signature), path.removeprefix("self."))
        self.requests: dict[str, Request] = {}
        self.offline = OfflineEngine()

    def complete(self, request: Request) -> tuple[Response, float]:
        typed = typed_request.get()
        assert typed is not None
        self.requests.setdefault(self.steps[task_of(typed.signature)], request)
        response = self.offline.complete(request)
        values = reply_that_goes_on(typed)
        if values is None:
            return response, 0.0
        text = typed.adapter.format_assistant_message_content(typed.signature, values)
        return replace(response, message=Message.assistant(text)), 0.0

    async def acomplete(self, request: Request) -> tuple[Response, float]:
        return self.complete(request)


def task_of(signature: type[dspy.Signature]) -> str:
    """Return the instruction and the output fields of a signature: what tells two steps apart."""
    return "\n".join([signature.instructions, *signature.output_fields])


def cases_of(name: str, judge: Judge) -> Sequence[Case]:
    """Return cases of bundled data for a judge."""
    if name == "dialogue":
        documents = read_documents("cognibench-mini")
        rows: Iterator[Mapping[str, Any]] = dialogue_rows(
            documents, 0, turns=Range(2, 3), words=Range(40, 150)
        )
        return [judge.case(row) for row in rows]
    if name == "faithqa":
        return [judge.case(row) for row in plan_rows(read_documents("faithqa-documents"), size=MOST_CASES)]
    if name in ANSWERED:
        return [judge.case(ANSWERED[name])]
    cases = jurist.Gold.load(judge.bundled, judge).cases
    if name.endswith("-zh"):
        cases = [case for case in cases if is_chinese(" ".join(case_texts([case])))]
    return cases


ANSWERED: Final = {
    "answer-question": {"prompt": "When was Rembrandt born?"},
    "answer-question-zh": {"prompt": "伦勃朗出生于哪一年？"},
    "answer-query": {"query": "Name two painters who were born in Leiden."},
    "answer-message": {
        "reference": "Rembrandt was born in Leiden in 1606.",
        "dialogue": "",
        "user_message": "Where was Rembrandt born?",
        "length": "between 40 and 150 words",
    },
}


def sent(name: str, judge: Judge, adapter: str) -> dict[str, Request]:
    """Return the first request of each step, by its path in the program, in the order in which the steps were asked."""
    program = judge.basic()
    recorder = Recorder(program)
    asker = scripted(judge, recorder, adapter=adapter, program=program)
    expected = set(recorder.steps.values())
    if name == "fact-check":  # its last step needs a folder to search
        expected.remove("verify")
    for case in cases_of(name, judge)[:MOST_CASES]:
        asker.ask(case)
        if expected <= recorder.requests.keys():
            return recorder.requests
    pytest.fail(f"{name}: {expected - recorder.requests.keys()} never asked")


def text_of(requests: Mapping[str, Request]) -> str:
    """Return requests as a person reads them."""
    parts: list[str] = []
    for step, request in requests.items():
        parts += [f"======== {step}", f"-------- system\n{system_of(request)}"]
        for message in request.messages:
            parts.append(f"-------- {message.role}\n{message.text}")
        for field in fields(request.config):
            value = getattr(request.config, field.name)
            if value not in (None, ()):
                parts.append(f"-------- {field.name}: {value}")
    return "\n".join(parts) + "\n"


def file_of(name: str, adapter: str) -> Path:
    """Return the file of a judge under an adapter."""
    return FOLDER / f"{name}.{adapter}.txt"


@pytest.mark.parametrize("name", sorted(judges()))
def test_the_prompts_are_sent_as_they_were_read(name: str) -> None:
    judge = judges()[name]
    for adapter in ADAPTERS:
        assert text_of(sent(name, judge, adapter)) == file_of(name, adapter).read_text(encoding="utf-8")


def test_every_file_is_of_a_judge() -> None:
    names = {file_of(name, adapter).name for name in judges() for adapter in ADAPTERS}
    assert {path.name for path in FOLDER.iterdir()} == names


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in FOLDER.glob("*.txt"):
        path.unlink()
    for name, judge in judges().items():
        for adapter in ADAPTERS:
            file_of(name, adapter).write_text(text_of(sent(name, judge, adapter)), encoding="utf-8")
