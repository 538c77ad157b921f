"""The kinds of answers a judge can give, behind one protocol."""

from .base import Answer
from .labels import OneLabel, Policy, Verified
from .reading import Reading

__all__ = ["Answer", "OneLabel", "Policy", "Reading", "Verified"]
