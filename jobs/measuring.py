"""What one question takes, measured on a few prompts that the program renders and the offline engine answers."""

import dataclasses
from collections.abc import Sequence
from typing import TypeVar

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.models import Model, connect
from ..engines.tracing import untraced
from ..errors import JuristError
from ..programs.asking import Asker, room_for
from ..programs.state import PromptState
from ..programs.verdicts import Verdict
from ..programs.votes import Sampling
from ..text.folding import strings
from ..text.terms import count_tokens
from .estimate import Part, Rate, Span

_RENDERED = 4
Item = TypeVar("Item")


def part_of(
    role: str,
    asker: Asker,
    models: Sequence[Model],
    cases: Sequence[Case],
    number: tuple[int, int],
    *,
    examples: Sequence[Case] = (),
    shown: int = 0,
    who: str = "",
    rate: Rate | None = None,
) -> Part:
    """Return what asking a judge takes.

    At the least, every question is one call with the prompt as it is. At the most, every prompt of the judge's
    program is asked, a quarter of the calls is repeated for units left out, and all examples are shown.
    """
    if all(model.classifier for model in models):
        return Part(role=role, models=tuple(models), calls=Span(least=number[0], most=number[1]), who=who)
    basic = rate or (rate_of(asker, cases) if cases else Rate())
    return Part(
        role=role,
        models=tuple(models),
        calls=Span(
            least=number[0] * asker.judge.answer.presentations, most=room_for(asker.judge, number[1], 1)
        ),
        rate=basic,
        longest=with_examples(asker, cases, basic, examples, shown),
        who=who,
    )


def shared_out(part: Part, asker: Asker, verifier: Model | None, cases: Sequence[Case]) -> tuple[Part, ...]:
    """Return a part as it is, or as two where ``verifier`` answers the frozen steps of the program that is asked.

    The calls are shared out as they fall on a few cases, each part with the size of its own prompts. What longer
    prompts add, they add to the steps that are tuned.
    """
    own, frozen = CallContext.fresh(), CallContext.fresh()
    answered = verifier is not None and tried(asker, some(cases), own, frozen)
    counts = [context.ledger.spend().calls for context in (own, frozen)]
    if verifier is None or not answered or not all(counts):
        return (part,)
    share = counts[1] / sum(counts)
    rate, most = _for_all(Rate.of(own.ledger.spend()), cases), part.calls.most
    theirs = Span(least=round(part.calls.least * share), most=None if most is None else round(most * share))
    ours = Span(
        least=part.calls.least - theirs.least,
        most=None if most is None or theirs.most is None else most - theirs.most,
    )
    added = ((part.longest or part.rate).input_tokens - part.rate.input_tokens) / (1 - share)
    tuned = dataclasses.replace(
        part,
        models=tuple(model for model in part.models if model != verifier) or part.models,
        calls=ours,
        rate=rate,
        longest=dataclasses.replace(rate, input_tokens=rate.input_tokens + added),
    )
    return tuned, Part(
        role=f"{part.role}, verifying",
        models=(verifier,),
        calls=theirs,
        rate=_for_all(Rate.of(frozen.ledger.spend()), cases),
        who=f"{part.who} (verifiers)" if part.who else "",
    )


def with_examples(
    asker: Asker, cases: Sequence[Case], basic: Rate, examples: Sequence[Case], shown: int
) -> Rate:
    """Return the rate of the prompt with as many examples as it may show, by what a few of them add."""
    labelled = [case for case in examples if case.known]
    few, shown = some(labelled), min(shown, len(labelled))
    if not shown or not basic.input_tokens:
        return basic
    state = PromptState.of(asker.program)
    for case in few:
        for name, demo in asker.judge.demos(case).items():
            state = state.with_demos(name, (*state.predictors[name].demos, demo))
    more = dataclasses.replace(asker, program=state.apply(asker.judge.basic()))
    added = rate_of(more, cases).input_tokens - basic.input_tokens
    return dataclasses.replace(basic, input_tokens=basic.input_tokens + shown * max(0.0, added / len(few)))


def rate_of(asker: Asker, cases: Sequence[Case]) -> Rate:
    """Return what one question takes on the mean of all cases (at least one): a few are asked of the offline engine.

    What the others' inputs are longer or shorter than those of the few is added, as one long case outweighs many.
    """
    context, few = CallContext.fresh(), some(cases)
    if not tried(asker, few, context):
        return Rate()
    return _for_all(Rate.of(context.ledger.spend(), len(few)), cases)


def _for_all(rate: Rate, cases: Sequence[Case]) -> Rate:
    longer = _length(cases) - _length(some(cases))
    return dataclasses.replace(rate, input_tokens=max(0.0, rate.input_tokens + longer))


def _length(cases: Sequence[Case]) -> float:
    return sum(count_tokens(text) for case in cases for text in strings(case.inputs)) / len(cases)


def tried(
    asker: Asker, cases: Sequence[Case], context: CallContext, frozen: CallContext | None = None
) -> list[Verdict]:
    """Return what is said if the offline engine answers once; nothing where the program cannot take its answers."""
    offline = Model(temperature=0.0)
    lm = connect(offline, context, asker.judge.role)
    frozen_lm = connect(offline, frozen or context)
    dry = dataclasses.replace(asker, lm=lm, frozen_lm=frozen_lm, sampling=Sampling())
    try:
        with untraced():
            return dry.ask_all(cases)
    except JuristError:  # it is still worth counting
        return []


def some(cases: Sequence[Item], most: int = _RENDERED) -> list[Item]:
    """Return a few cases (or whatever is asked about), evenly spread; by default enough to measure a prompt by."""
    size, few = len(cases), min(most, len(cases))
    return [cases[number * size // few] for number in range(few)]
