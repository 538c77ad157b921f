"""What is asked of a detector: the hallucinated sentences of a response, in one pass (CogniBench, CogniDet).

Input and output are those of the paper's appendices A.8.2 and A.10 (figure 13): reference, dialogue and response in,
a list of sentences out. The wording is ours.
"""

from __future__ import annotations

import dspy

__all__ = ["DetectHallucinations"]


class DetectHallucinations(dspy.Signature):
    """List every sentence of an assistant's response that the reference does not bear out.

    List a sentence if any part of it states a fact that is not in the reference, however true it may be, if it
    goes against the reference, or if it infers, explains or evaluates what the reference gives no grounds for.
    Leave out greetings, fillers and offers of help, facts that the reference supports, and inferences that follow
    from it. Copy each listed sentence exactly, in the order of the response; an empty list means that there is none.
    """

    reference: str = dspy.InputField(desc="the only source of facts")
    dialogue: str = dspy.InputField(desc="the earlier turns and the user's message that is answered")
    sentences: str = dspy.InputField(desc="the response, one sentence per line")
    hallucinated: list[str] = dspy.OutputField(
        desc="the sentences that the reference does not bear out, each copied word for word; [] if there are none"
    )
