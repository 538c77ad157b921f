"""The kinds of answers a judge can give, behind one protocol."""

from .labels import OneLabel, Policy, Verified
from .protocol import Answer, Lack
from .reading import Reading

__all__ = ["Answer", "Lack", "OneLabel", "Policy", "Reading", "Verified"]
