"""What is asked about the sentences of a response, answered by echoing them in tags (CogniBench, section 3.1).

The same task, rules and labels as :class:`~jurist.signatures.cognibench.TagResponse`, in the shape of the paper's own
formative prompting (table 6). Rules stand there, once; only how sentences are shown and answered is said here.
"""

from __future__ import annotations

import inspect

import dspy

from .cognibench import LABELS, TagResponse

__all__ = ["EchoResponse"]

_RULES = inspect.cleandoc(TagResponse.__doc__ or "").partition("\n")[2]


class EchoResponse(TagResponse):  # noqa: D101 - its docstring is put together from the rules it shares
    __doc__ = (
        "Copy every sentence of an assistant's response into tags that say how faithful it is to the reference.\n"
        + _RULES
    )

    sentences: str = dspy.InputField(desc="the response, one sentence per line, each between <> and </>")
    labels: str = dspy.OutputField(  # type: ignore[assignment]
        desc="all these sentences in the same order, each copied word for word between tags of its label, such as "
        "<faithful>...</faithful>; the label is one of: " + "; ".join(LABELS)
    )
