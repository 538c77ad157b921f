"""What is asked about the sentences of a response (CogniBench).

The labels are the paper's (section 2, figures 3 and 10): a factual statement is
faithful or invented; a cognitive one passes the tests rational, grounded and
irrefutable in turn, which gives its tier. Each of these decisions is a signature
about one sentence, which annotators see with the dialogue (section 2.2, table 4);
whole responses are tagged in one call, and a second stage gives cognitive
sentences their tier (section 3.1). A detector lists the hallucinated sentences in
one pass (appendices A.8.2 and A.10, figure 13). Conversations about a reference
(sections 2.1 and 4.7; RefGPT) come last: ``NextTurn`` writes both sides of one exchange,
``Reply`` the assistant's. The wording is ours, so a model that was tuned on that of the
authors hears another one.
"""

import inspect
from typing import Literal

import dspy
import pydantic

from .cognibench_labels import (
    ECHO_LABELS,
    LABELS,
    STAGE_LABELS,
    TIERS,
    Faithfulness,
    SentenceLabel,
    StageLabel,
    StatementType,
    Tier,
)

_TESTS = """Is it rational to believe, given the reference? If not, it is misleading.
    Is it grounded, does it follow from what the reference says? If not, it is speculative.
    Is it irrefutable, free of subjective wording and open to no other reading? If not, it is reliable;
    if so, it is irrefutable."""


class _AboutReference(dspy.Signature):
    """Judge what an assistant said, against a reference."""

    reference: str = dspy.InputField(desc="the only source of facts")
    dialogue: str = dspy.InputField(desc="the earlier turns and the user's message that is answered")


class _WholeResponse(_AboutReference):
    """Judge the sentences of an assistant's response."""

    sentences: str = dspy.InputField(desc="the response, one sentence per line, each with its number")


class Tag(pydantic.BaseModel):
    """The label of one numbered sentence."""

    n: int
    label: SentenceLabel


class TagResponse(_WholeResponse):  # noqa: D101 - its docstring ends with the tests that it shares
    __doc__ = f"""Label every numbered sentence of an assistant's response by how faithful it is to the reference.

    First decide what the sentence does. It is irrelevant if it says nothing about the subject: a greeting,
    a filler, an offer of help. It is a factual statement if it states a plain fact: label it faithful if the
    reference supports all of it, invented if any part of it is not in the reference, however true it may be.
    Otherwise it is a cognitive statement, which infers, explains, evaluates or advises; ask in turn:
    {_TESTS}
    """

    labels: list[Tag] = dspy.OutputField(
        desc="exactly one item for each numbered sentence, with its number n and its label, one of: "
        + "; ".join(LABELS)
    )


_RULES = inspect.cleandoc(TagResponse.__doc__ or "").partition("\n")[2]


class EchoResponse(TagResponse):  # noqa: D101 - its docstring is put together from the rules it shares
    # In the shape of the paper's own formative prompting (section 3.1, table 6).
    __doc__ = (
        "Copy every sentence of an assistant's response into tags that say how faithful it is to the reference.\n"
        + _RULES
    )

    sentences: str = dspy.InputField(desc="the response, one sentence per line, each between <> and </>")
    labels: str = dspy.OutputField(  # type: ignore[assignment]
        desc="all these sentences in the same order, each copied word for word between tags of its label, such as "
        "<faithful>...</faithful>; the label is one of: " + "; ".join(LABELS)
    )


class _OneSentence(_AboutReference):
    """Judge one sentence of an assistant's response."""

    before: str = dspy.InputField(desc="what the response says before it, to understand it by; not judged")
    sentence: str = dspy.InputField(desc="the one sentence to judge")


class TypeOfStatement(_OneSentence):
    """Say what one sentence of an assistant's response does.

    It is irrelevant if it says nothing about the subject: a greeting, a filler, an offer of help.
    It is factual if it states plain facts, as one who reports the reference would, whether they are true or not.
    It is cognitive if it goes beyond stating facts: it infers, explains, evaluates, gives an opinion or advises.
    """

    statement_type: StatementType = dspy.OutputField(desc="what the sentence does")


class FactIsFaithful(_OneSentence):
    """Check a sentence that states facts against the reference.

    It is faithful if the reference supports all of it, in whatever words.
    It is invented if any part of it is not in the reference or contradicts it, however true it may be in the world.
    """

    faithfulness: Faithfulness = dspy.OutputField(desc="whether the reference supports all of it")


class TierOfStatement(_OneSentence):
    """Give a sentence that infers, explains, evaluates or advises its tier.

    Misleading: not rational to believe. Speculative: rational, and not grounded in the reference. Reliable:
    grounded, and not irrefutable. Irrefutable: no other reading is possible.
    """

    tier: Tier = dspy.OutputField(
        desc="the last of the three tests it passes: rational, grounded, irrefutable"
    )


class IsRational(_OneSentence):
    """Decide whether a sentence that infers, explains, evaluates or advises is rational to believe.

    It is rational if a sensible reader of the reference may well believe it, though nothing there says so outright.
    It is not rational if it contradicts or distorts the reference, makes something up, rests on an assumption
    that nothing suggests, or would lead the reader to a wrong belief.
    """

    reason: str = dspy.OutputField(desc="one sentence: what speaks for or against believing it")
    rational: bool = dspy.OutputField(desc="whether it is rational to believe")


class IsGrounded(_OneSentence):
    """Decide whether a sentence that was found rational is grounded in the reference.

    It is grounded if what it infers, explains or evaluates follows from facts that the reference states, so that
    they can be pointed to; evaluating words are no obstacle.
    It is not grounded if it is merely plausible: nothing in the reference supports it.
    """

    reason: str = dspy.OutputField(desc="one sentence: the facts it follows from, or what is missing")
    grounded: bool = dspy.OutputField(desc="whether it follows from what the reference says")


class IsIrrefutable(_OneSentence):
    """Decide whether a sentence that was found grounded is irrefutable.

    It is irrefutable if whoever accepts the facts that the reference states must accept it, and it holds no
    subjective wording.
    It is not irrefutable if those facts leave room for another reading, or if it holds words of evaluation, degree
    or opinion that nobody can measure.
    """

    reason: str = dspy.OutputField(
        desc="one sentence: the subjective word or other reading, or why there is none"
    )
    irrefutable: bool = dspy.OutputField(
        desc="whether there is room for no other reading and no wording is subjective"
    )


class StageTag(pydantic.BaseModel):
    """The tag of one numbered sentence by the first stage."""

    n: int
    label: StageLabel


class TagStatements(_WholeResponse):
    """Label every numbered sentence of an assistant's response by what it does and whether its facts are there.

    It is irrelevant if it says nothing about the subject: a greeting, a filler, an offer of help.
    If it states a plain fact, it is faithful if the reference supports all of it, and invented if any part of it
    is not in the reference, however true it may be.
    It is cognitive if it infers, explains, evaluates, gives an opinion or advises.
    """

    labels: list[StageTag] = dspy.OutputField(
        desc="exactly one item for each numbered sentence, with its number n and its label, one of: "
        + "; ".join(STAGE_LABELS)
    )


class EchoTags(_AboutReference):
    """Copy every sentence of an assistant's response into tags that say how faithful it is to the reference.

    It is irrelevant if it says nothing about the subject: a greeting, a filler, an offer of help.
    It is faithful if the reference supports all of it, or if it is an inference, explanation or assessment that
    follows from what the reference says.
    It is hallucinated if any part of it is not in the reference or contradicts it, however true it may be, or if it
    is an opinion or judgement that the reference gives no grounds for.
    """

    sentences: str = dspy.InputField(desc="the response, one sentence per line, each between <> and </>")
    labels: str = dspy.OutputField(
        desc="all these sentences in the same order, each copied word for word between tags of its label, such as "
        "<faithful>...</faithful>; the label is one of: " + "; ".join(ECHO_LABELS)
    )


class TierTag(pydantic.BaseModel):
    """The tier of one numbered sentence."""

    n: int
    label: Tier


class TierStatements(_AboutReference):  # noqa: D101 - its docstring ends with the tests that it shares
    __doc__ = f"""Give every numbered sentence, each of which infers, explains, evaluates or advises, its tier.

    Ask in turn of each of them, and stop at the first no:
    {_TESTS}
    """

    sentences: str = dspy.InputField(
        desc="sentences of the response, one per line, each with the number it has in the response"
    )
    labels: list[TierTag] = dspy.OutputField(
        desc="exactly one item for each numbered sentence, with its number n as given and its label, one of: "
        + "; ".join(TIERS)
    )


class FactOrTier(pydantic.BaseModel):
    """The statement of one numbered sentence: a fact, or something of a tier."""

    n: int
    label: Literal["fact"] | Tier


class TierOrFact(TierStatements):  # noqa: D101 - its docstring ends with the tests that it shares
    __doc__ = f"""Give every numbered sentence its tier, or say that it states a plain fact.

    It is a fact if it reports something as the reference would, whether that is true or not. Else it infers,
    explains, evaluates or advises; ask in turn, and stop at the first no:
    {_TESTS}
    """

    labels: list[FactOrTier] = dspy.OutputField(  # type: ignore[assignment]
        desc="exactly one item for each numbered sentence, with its number n as given and its label, one of: fact; "
        + "; ".join(TIERS)
    )


class DetectHallucinations(_AboutReference):
    """List every sentence of an assistant's response that the reference does not bear out.

    List a sentence if any part of it states a fact that is not in the reference, however true it may be, if it
    goes against the reference, or if it infers, explains or evaluates what the reference gives no grounds for.
    Leave out greetings, fillers and offers of help, facts that the reference supports, and inferences that follow
    from it. Copy each listed sentence exactly, in the order of the response; an empty list means that there is none.
    """

    sentences: str = dspy.InputField(desc="the response, one sentence per line")
    hallucinated: list[str] = dspy.OutputField(
        desc="the sentences that the reference does not bear out, each copied word for word; [] if there are none"
    )


class Dialogue(dspy.Signature):
    """Write a conversation about a reference, whose every assistant message rests on it."""

    reference: str = dspy.InputField(desc="the only source of facts")
    topic: str = dspy.InputField(desc="what the conversation is about")
    language: str = dspy.InputField(desc="en or zh")
    words: str = dspy.InputField(desc="length of every assistant message: a number or a range")
    turns: int = dspy.InputField(desc="how many exchanges")
    written: list[dict[str, object]] = dspy.OutputField(desc="the one conversation")


class NextTurn(dspy.Signature):
    """Write the next exchange of a conversation about a reference: the user's message and the assistant's.

    The user has not seen the reference. They are curious about the topic, follow up on what was said, and ask
    for something that the reference can answer and that was not asked before: facts at first, later also
    causes, comparisons, consequences or an assessment. They write one or two sentences, as people do.
    The assistant answers that message from the reference. It states facts only if the reference holds them,
    in words of its own, and never copies the reference as a whole. It may explain, infer and evaluate where
    this helps the user. It writes plain prose without headings, speaks of no reference or text, and keeps to
    the length.
    """

    reference: str = dspy.InputField(desc="the only source of facts")
    topic: str = dspy.InputField(desc="what the conversation is about")
    dialogue: str = dspy.InputField(desc="the earlier turns, oldest first; empty at the start")
    language: str = dspy.InputField(desc="the language of both messages")
    length: str = dspy.InputField(desc="how long the assistant's message must be")
    complaint: str = dspy.InputField(
        desc="what was wrong with the last attempt and must be right now; may be empty"
    )
    user_message: str = dspy.OutputField(desc="the user's next message")
    assistant_message: str = dspy.OutputField(desc="the assistant's answer to it")


class Reply(dspy.Signature):
    """Answer the user's message with the help of the reference.

    State facts only if the reference holds them. Explain, infer or evaluate where the message asks for it.
    Write plain prose without headings, and speak of no reference or text.
    """

    reference: str = dspy.InputField(desc="the only source of facts")
    dialogue: str = dspy.InputField(desc="the earlier turns, oldest first; empty at the start")
    user_message: str = dspy.InputField(desc="the message to answer")
    length: str = dspy.InputField(desc="how long the answer should be")
    assistant_message: str = dspy.OutputField(desc="the answer")
