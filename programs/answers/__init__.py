"""The kinds of answers a judge can give, behind one protocol."""

from .base import Answer, Lack
from .labels import OneLabel, Policy, Verified
from .reading import Reading

__all__ = ["Answer", "Lack", "OneLabel", "Policy", "Reading", "Verified"]
