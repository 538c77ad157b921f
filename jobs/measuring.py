"""What a question takes, measured on a few prompts that the program renders and the offline engine answers."""

import math
from collections.abc import Sequence
from typing import TypeVar

import dspy

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.draws import TypedRequest
from ..engines.models import Model, connect
from ..errors import JuristError, ModelError
from ..keeping.loading import LoadedJudge
from ..programs.asking import Asker, room_for
from ..programs.judge import Judge
from ..programs.verdicts import Verdict
from ..text.templates import CHAT
from ..text.terms import count_tokens
from ..text.wording import strings
from .estimate import Ask, Size, Span, is_free

_MEASURED_CASES = 4
_Item = TypeVar("_Item")


def make_ask(
    role: str,
    asker: Asker,
    models: Sequence[Model],
    cases: Sequence[Case],
    number: tuple[int, int],
    *,
    who: str = "",
) -> Ask:
    """Return the range of calls for some questions: from a call each to every prompt and a quarter more.

    Args:
        role: the name of the questions in the work.
        asker: the program that asks them.
        models: who may answer.
        cases: on which the size of a question is measured.
        number: of questions, at least and at most.
        who: what people call them.
    """
    fewest, highest = number
    calls = Span(fewest * asker.judge.answer.presentations, room_for(asker.judge, highest, 1))
    # The model answers each task once; all rows may have the same one.
    if asker.settings.own_answer is not None and highest:
        rows = math.ceil(highest / asker.settings.sampling.samples)
        calls = Span(calls.low + 1, calls.high + rows)
    size = measure_question(asker, cases) if cases else Size()
    requests = requests_of_question(asker.judge, asker.program, models, cases)
    calls = Span(math.ceil(calls.low * requests), math.ceil(calls.high * requests))
    # Units that a reply leaves out are asked for again, which is kept room for and seldom needed.
    expected = (calls.low + highest * asker.judge.calls * requests) / 2
    return Ask(role=role, models=tuple(models), calls=calls, size=size, who=who, expected=expected)


def requests_of_question(
    judge: Judge, program: dspy.Module, models: Sequence[Model], cases: Sequence[Case]
) -> float:
    """Return how many requests a call of a program is, on the mean of some cases.

    A call is one request, but for a decision model, which is sent so many questions at most in one. Inputs that a step
    has from an earlier step are not known, and such a step counts as one request.
    """
    if not cases or not any(model.decides for model in models):
        return 1.0
    from ..engines.decision_models import count_requests

    requests: list[int] = []
    for case in cases:
        for inputs in judge.answer.asks(case.inputs):
            row = judge.prompt_values(inputs)
            for predictor in program.predictors():
                typed = TypedRequest(
                    adapter=judge.adapter(CHAT), signature=predictor.signature, demos=(), inputs=row
                )
                if not row.keys() >= predictor.signature.input_fields.keys():
                    requests.append(1)
                    continue
                try:
                    requests.append(count_requests(typed))
                except ModelError:  # the model cannot answer this judge, which is said when it is asked
                    requests.append(1)
    return sum(requests) / len(requests)


def count_redraws(judge: LoadedJudge, rows: int) -> int:
    """Return the calls at the most by which replies that cannot be read are drawn once more."""
    if all(map(is_free, judge.models)) or judge.judge.role != "judge":
        return 0
    return rows * judge.settings.redraws * judge.judge.calls


def make_judge_ask(judge: LoadedJudge, questions: int, cases: Sequence[Case]) -> Ask:
    """Return the calls of a judge for some questions, from settled votes to incomplete replies in 1 of 4 samples."""
    fewest, highest = judge.questions
    number = (questions * fewest, questions * highest)
    who = f"of the judge ({judge.model.name})"
    return make_ask("judge", judge.asker(), judge.models, cases, number, who=who)


def make_embedding_asks(role: str, asker: Asker, rows: int, cases: Sequence[Case]) -> list[Ask]:
    """Return the requests for embedding rows, many at once or one by one, and remembered rows beside them."""
    if not asker.embedded:
        return []
    from ..engines.embedding import count_requests, embedder_beside  # vectors need NumPy

    asks: list[Ask] = []
    for number, (member, remembered) in enumerate(asker.embedded, 1):
        embedder = embedder_beside(member.lm, remembered.embedder)
        if not embedder:
            continue
        texts = rows * member.judge.answer.presentations
        remembered_requests = count_requests(len(remembered.rows))
        calls = Span(remembered_requests + count_requests(texts), remembered_requests + texts)
        tokens = mean_input_tokens(cases) * (texts + len(remembered.rows))
        asks.append(
            Ask(
                role=f"{role}, embedder {number}",
                who=f"of {remembered.embedder}",
                models=(embedder.model,),
                calls=calls,
                size=Size(1.0, tokens / calls.low),
                longest=Size(1.0, tokens / calls.high),
            )
        )
    return asks


def measure_question(asker: Asker, cases: Sequence[Case]) -> Size:
    """Return the mean size of a question over all cases (at least one); the offline engine answers a few of them."""
    context = CallContext.fresh()
    sample = spread_evenly(cases)
    if not ask_offline(asker, sample, context):
        return Size()
    size = Size.of(context.ledger.spend(), len(sample))
    # One long case outweighs many: count what the inputs of all are longer or shorter than those of the sample.
    longer = mean_input_tokens(cases) - mean_input_tokens(sample)
    return size._replace(input=max(0.0, size.input + longer))


def mean_input_tokens(cases: Sequence[Case]) -> float:
    """Return the tokens of the inputs of a case, on the mean."""
    tokens = 0
    for case in cases:
        for text in strings(case.inputs):
            tokens += count_tokens(text)
    return tokens / max(1, len(cases))


def ask_offline(asker: Asker, cases: Sequence[Case], context: CallContext) -> list[Verdict]:
    """Return the verdicts of the offline engine on some cases; none where the program cannot take its answers."""
    lm = connect(Model(temperature=0.0), context, asker.judge.role)
    try:
        return asker.tried_by(lm, connect(Model(temperature=0.0), context)).ask_all(cases)
    except JuristError:  # it is still worth counting
        return []


def spread_evenly(items: Sequence[_Item], limit: int = _MEASURED_CASES) -> list[_Item]:
    """Return a few items, evenly spread over all of them; by default enough to measure a prompt by."""
    number = min(limit, len(items))
    return [items[place * len(items) // number] for place in range(number)]
