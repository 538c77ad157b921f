"""The labels of FAITHQA's judges (sections 3 and 4, appendix A.5.3). Rows hold them too, and are read without DSPy."""

from typing import Literal

Category = Literal["location", "time", "subject", "action", "qualifier", "quantity", "other"]
"""What a constraint is about (section 4.1, step 2)."""

Mark = Literal["satisfied", "omitted", "misinterpreted"]
"""What a response does with a constraint: meet it, pass it over, or put something else in its place (section 3.2)."""

FactVerdict = Literal["accurate", "inaccurate", "incomplete"]
"""Whether a response holds a factual error, or lacks a fact that the query asks for (appendix A.5.3)."""
