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

from collections.abc import Mapping
from typing import Final, Literal, get_args

import dspy
import pydantic

from .cognibench_examples import show_examples
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

_SAME: Final[Mapping[SentenceLabel, str]] = {label: label for label in get_args(SentenceLabel)}
_TIERS_ALONE: Final[Mapping[SentenceLabel, str]] = {tier: tier for tier in get_args(Tier)}
_IRRELEVANT = """Does it say anything about the subject? If not (a greeting, a filler, an offer of help), it is
irrelevant."""
_FACT = """Does it report facts (a name, a number, a date, an event) and nothing else? Then it is faithful if the
reference says all of it, in whatever words, and {absent} if any part of it is not in the reference or contradicts it,
even if you know it to be true."""
_TESTS = """Would a sensible reader of the reference believe it? If not (it contradicts or distorts the reference, or
rests on something made up), it is misleading.
Can you point to stated facts that it follows from? If not, it is only plausible or only an opinion, and speculative.
The conclusion itself need not be stated.
Must whoever accepts these facts accept it, and is no word in it subjective? If not, it is reliable; if so, it is
irrefutable."""


def _with_examples(text: str, name_of_label: Mapping[SentenceLabel, str]) -> str:
    """Return an instruction with the worked examples at its end, under the names of its labels."""
    return f"{text.strip()}\n\n{show_examples(name_of_label)}"


class _AboutReference(dspy.Signature):
    """Judge what an assistant said, against a reference."""

    reference: str = dspy.InputField(desc="the only source of facts")
    dialogue: str = dspy.InputField(
        desc="the earlier turns and the user's message that is answered; may be empty"
    )


class _WholeResponse(_AboutReference):
    """Judge the sentences of an assistant's response."""

    sentences: str = dspy.InputField(desc="the response, one sentence per line, each with its number")


class Tag(pydantic.BaseModel):
    """The label of one numbered sentence."""

    n: int
    label: SentenceLabel


_RULES = f"""Ask of each sentence, in this order:
1. {_IRRELEVANT}
2. {_FACT.format(absent="invented")}
3. Otherwise it is a cognitive statement: it infers, explains, evaluates or advises, perhaps beside facts that it
reports. Judge the whole of it. Ask in turn:
{_TESTS}"""


class TagResponse(_WholeResponse):  # noqa: D101 - its docstring is put together from the rules it shares
    __doc__ = _with_examples(
        "Label every numbered sentence of an assistant's response by how faithful it is to the reference.\n\n"
        + _RULES,
        _SAME,
    )

    labels: list[Tag] = dspy.OutputField(
        desc="exactly one item for each numbered sentence, with its number n and its label, one of: "
        + "; ".join(LABELS)
    )


class EchoResponse(TagResponse):  # noqa: D101 - its docstring is put together from the rules it shares
    # In the shape of the paper's own formative prompting (section 3.1, table 6).
    __doc__ = _with_examples(
        "Copy every sentence of an assistant's response into tags that say how faithful it is to the reference.\n\n"
        + _RULES,
        _SAME,
    )

    sentences: str = dspy.InputField(desc="the response, one sentence per line, each between <> and </>")
    labels: str = dspy.OutputField(  # type: ignore[assignment]
        desc="all these sentences in the same order, each copied word for word between tags of its label, such as "
        "<faithful>...</faithful>; the label is one of: " + "; ".join(LABELS)
    )


class _OneSentence(_AboutReference):
    """Judge one sentence of an assistant's response."""

    before: str = dspy.InputField(
        desc="what the response says before it, for context; not judged, may be empty"
    )
    sentence: str = dspy.InputField(desc="the one sentence to judge")


class TypeOfStatement(_OneSentence):  # noqa: D101 - its docstring ends with examples
    __doc__ = _with_examples(
        """Say what one sentence of an assistant's response does.

It is irrelevant if it says nothing about the subject: a greeting, a filler, an offer of help.
It is factual if it reports facts (a name, a number, a date, an event), true or not, and nothing else.
It is cognitive if it goes beyond facts, even beside facts that it reports: it infers, explains, evaluates, gives an
opinion or advises.""",
        {
            "irrelevant": "irrelevant",
            "invented": "factual",
            "reliable": "cognitive",
            "irrefutable": "cognitive",
        },
    )

    statement_type: StatementType = dspy.OutputField(desc="what the sentence does")


class FactIsFaithful(_OneSentence):  # noqa: D101 - its docstring ends with examples
    __doc__ = _with_examples(
        """Check a sentence that states facts against the reference.

It is faithful if the reference says all of it, in whatever words.
It is invented if any part of it is not in the reference or contradicts it, even if you know it to be true.""",
        {"faithful": "faithful", "invented": "invented"},
    )

    faithfulness: Faithfulness = dspy.OutputField(desc="whether the reference supports all of it")


class TierOfStatement(_OneSentence):  # noqa: D101 - its docstring ends with examples
    __doc__ = _with_examples(
        f"""Give a sentence that infers, explains, evaluates or advises its tier.

Ask in turn, and stop at the first no:
{_TESTS}""",
        _TIERS_ALONE,
    )

    tier: Tier = dspy.OutputField(desc="its tier")


class IsRational(_OneSentence):  # noqa: D101 - its docstring ends with examples
    __doc__ = _with_examples(
        """Decide whether a sentence that infers, explains, evaluates or advises is rational to believe.

It is rational if a sensible reader of the reference may well believe it, even if no stated fact leads to it.
It is not rational if it contradicts or distorts the reference, makes something up, rests on an assumption
that nothing suggests, or would lead the reader to a wrong belief.""",
        {"misleading": "not rational", "speculative": "rational", "reliable": "rational"},
    )

    reason: str = dspy.OutputField(desc="one sentence: what speaks for or against believing it")
    rational: bool = dspy.OutputField(desc="True if it is rational to believe, else False")


class IsGrounded(_OneSentence):  # noqa: D101 - its docstring ends with examples
    __doc__ = _with_examples(
        """Decide whether a sentence that was found rational is grounded in the reference.

It is grounded if you can point to stated facts that it follows from. The conclusion itself need not be stated, and
words of evaluation, such as important, do not matter.
It is not grounded if it is only plausible or only an opinion: no stated fact leads to it.""",
        {"speculative": "not grounded", "reliable": "grounded", "irrefutable": "grounded"},
    )

    reason: str = dspy.OutputField(desc="one sentence: the facts it follows from, or what is missing")
    grounded: bool = dspy.OutputField(desc="True if stated facts lead to it, else False")


class IsIrrefutable(_OneSentence):  # noqa: D101 - its docstring ends with examples
    __doc__ = _with_examples(
        """Decide whether a sentence that was found grounded is irrefutable.

It is irrefutable if whoever accepts the facts that the reference states must accept it, and it holds no
subjective wording.
It is not irrefutable if those facts leave room for another reading, or if it holds words of evaluation, degree
or opinion that nobody can measure.""",
        {"reliable": "not irrefutable", "irrefutable": "irrefutable"},
    )

    reason: str = dspy.OutputField(
        desc="one sentence: the subjective word or other reading, or why there is none"
    )
    irrefutable: bool = dspy.OutputField(
        desc="True if no other reading is possible and no wording is subjective, else False"
    )


class StageTag(pydantic.BaseModel):
    """The tag of one numbered sentence by the first stage."""

    n: int
    label: StageLabel


class TagStatements(_WholeResponse):  # noqa: D101 - its docstring is put together from the rules it shares
    __doc__ = _with_examples(
        f"""Label every numbered sentence of an assistant's response by what it does and whether its facts are there.

Ask of each sentence, in this order:
1. {_IRRELEVANT}
2. {_FACT.format(absent="invented")}
3. Otherwise it infers, explains, evaluates, gives an opinion or advises, perhaps beside facts that it reports, and is
cognitive.""",
        {
            "irrelevant": "irrelevant",
            "faithful": "faithful",
            "invented": "invented",
            "speculative": "cognitive",
            "irrefutable": "cognitive",
        },
    )

    labels: list[StageTag] = dspy.OutputField(
        desc="exactly one item for each numbered sentence, with its number n and its label, one of: "
        + "; ".join(STAGE_LABELS)
    )


class EchoTags(_AboutReference):  # noqa: D101 - its docstring is put together from the rules it shares
    __doc__ = _with_examples(
        f"""Copy every sentence of an assistant's response into tags that say how faithful it is to the reference.

Ask of each sentence, in this order:
1. {_IRRELEVANT}
2. {_FACT.format(absent="hallucinated")}
3. Otherwise it infers, explains, evaluates or advises, perhaps beside facts that it reports. It is faithful if you can
point to stated facts that it follows from. The conclusion itself need not be stated, and words of evaluation, such as
important, do not matter. It is hallucinated if it is only plausible, only an opinion, or at odds with the
reference.""",
        {
            "irrelevant": "irrelevant",
            "faithful": "faithful",
            "reliable": "faithful",
            "irrefutable": "faithful",
            "invented": "hallucinated",
            "misleading": "hallucinated",
            "speculative": "hallucinated",
        },
    )

    sentences: str = dspy.InputField(desc="the response, one sentence per line, each between <> and </>")
    labels: str = dspy.OutputField(
        desc="all these sentences in the same order, each copied word for word between tags of its label, such as "
        "<faithful>...</faithful>; the label is one of: " + "; ".join(ECHO_LABELS)
    )


class TierTag(pydantic.BaseModel):
    """The tier of one numbered sentence."""

    n: int
    label: Tier


class TierStatements(_AboutReference):  # noqa: D101 - its docstring ends with examples
    __doc__ = _with_examples(
        f"""Give every numbered sentence, each of which infers, explains, evaluates or advises, its tier.

Ask in turn of each of them, and stop at the first no:
{_TESTS}""",
        _TIERS_ALONE,
    )

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


class DivideTags(_AboutReference):  # noqa: D101 - its docstring ends with examples
    __doc__ = _with_examples(
        """Divide sentences of an assistant's response that were found faithful to the reference, or hallucinated.

The word in brackets before each sentence is what was found. Do not judge that again: say of what kind the sentence is.
A sentence that reports facts (a name, a number, a date, an event) and nothing else is a fact, whether the reference
has them or not. Any other sentence infers, explains, evaluates or advises. A faithful one is irrefutable if whoever
accepts the reference must accept it and no word in it is subjective; otherwise it is reliable. A hallucinated one is
misleading if a sensible reader of the reference would not believe it, because it contradicts or distorts the reference
or rests on something made up; otherwise it is speculative.""",
        {
            "faithful": "[faithful] fact",
            "reliable": "[faithful] reliable",
            "irrefutable": "[faithful] irrefutable",
            "invented": "[hallucinated] fact",
            "misleading": "[hallucinated] misleading",
            "speculative": "[hallucinated] speculative",
        },
    )

    sentences: str = dspy.InputField(
        desc="sentences of the response, one per line, each with the number it has in the response and what was found"
    )
    labels: list[FactOrTier] = dspy.OutputField(
        desc="exactly one item for each numbered sentence, with its number n as given and its label, one of: fact; "
        + "; ".join(TIERS)
    )


class DetectHallucinations(_AboutReference):  # noqa: D101 - its docstring ends with examples
    __doc__ = _with_examples(
        """List every sentence of an assistant's response that the reference does not bear out.

List a sentence that states a fact if any part of it is not in the reference or contradicts it, even if you know it to
be true. List a sentence that infers, explains, evaluates or advises if no stated fact leads to it, or if it distorts
the reference. Leave out greetings, fillers and offers of help, facts that the reference has, and conclusions that
follow from it, even where it does not state them. Copy each listed sentence exactly, in the order of the response; an
empty list means that there is none.""",
        {
            "irrelevant": "left out",
            "faithful": "left out",
            "invented": "listed",
            "speculative": "listed",
            "reliable": "left out",
        },
    )

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
    this helps the user. It writes plain prose without headings, does not mention a reference or a text, and
    keeps to the length.
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
    Write plain prose without headings, and do not mention a reference or a text.
    """

    reference: str = dspy.InputField(desc="the only source of facts")
    dialogue: str = dspy.InputField(desc="the earlier turns, oldest first; empty at the start")
    user_message: str = dspy.InputField(desc="the message to answer")
    length: str = dspy.InputField(desc="how long the answer should be")
    assistant_message: str = dspy.OutputField(desc="the answer")
