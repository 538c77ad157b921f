"""What is asked of a model that converses about a reference (CogniBench sections 2.1 and 4.7; RefGPT).

``Dialogue`` is the whole task; ``NextTurn`` writes both sides of one exchange, ``Reply`` the assistant's side
only. The wording is ours.
"""

import dspy


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
