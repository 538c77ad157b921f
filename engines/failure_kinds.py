"""The kinds of failed requests. :mod:`~jurist.engines.failures` finds out which one a failure is."""

from enum import StrEnum


class FailureKind(StrEnum):
    """The kinds of failures of a request, in words for users."""

    SETTINGS = "request refused"
    """The endpoint takes no such request; a setting may be the reason, or something in this row."""
    LEARNT = "setting refused"
    """The endpoint refused a setting, which no later request has."""
    FILTERED = "content filter"
    TOO_LONG = "context length"
    RATE = "rate limit"
    LONG_LIMIT = "rate limit of a day"
    """Requests come too fast for longer than anybody waits."""
    OVERLOAD = "overload"
    SERVER = "server error"
    NOT_READY = "not ready"
    TIMEOUT = "time-out"
    TRANSPORT = "no connection"
    REPLY = "no usable reply"
    THOUGHTS = "only thoughts"
    """The reply holds what the model thought, and no answer."""
    KEY = "key refused"
    CREDIT = "no credit"
    ACCESS = "access refused"
    MODEL = "unknown model"
    ADDRESS = "unknown address"
    CONFIGURATION = "not configured"
    UNSUPPORTED = "not supported"
    """The client cannot send such a request to this provider."""
    UNEXPECTED = "unexpected failure"
