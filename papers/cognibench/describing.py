"""What a labelled set of dialogues looks like: the numbers of CogniBench's Table 2 and section 4.4.

Words are counted as everywhere here: a Chinese character is one. Intervals are clustered by document.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from ...evaluation.shares import shares
from ...programs.cognibench import HALLUCINATED, statement_type
from ...signatures.cognibench import LABELS
from ...text.wording import count_words
from .turns import Labelled

__all__ = ["Test", "describe_labelled", "label_tests"]

Test = Callable[[str], bool]


def _is(kind: str) -> Test:
    return lambda label: statement_type(label) == kind


def _any(label: str) -> bool:
    return True


def label_tests(positive: Collection[str]) -> dict[str, tuple[Test, Test]]:
    """Return the shares that are reported: name -> (which labels count, among which)."""

    def bad(label: str) -> bool:
        return label in positive

    def tier(name: str) -> Test:
        return lambda label: label == name

    kinds = {kind: (_is(kind), _any) for kind in ("irrelevant", "factual", "cognitive")}
    rates = {f"hallucinated_of_{kind}": (bad, _is(kind)) for kind in ("factual", "cognitive")}
    tiers = {
        f"{name}_of_cognitive": (tier(name), _is("cognitive"))
        for name in ("misleading", "speculative", "reliable", "irrefutable")
    }
    return {**kinds, "hallucinated": (bad, _any), **rates, **tiers}


def _counted(found: Sequence[Labelled], part: Test, whole: Test) -> Iterator[tuple[str, float, float]]:
    for one in found:
        known = [label for label in one.labels if label is not None and whole(label)]
        yield one.answer.group, float(sum(map(part, known))), float(len(known))


def describe_labelled(
    found: Sequence[Labelled], *, positive: Collection[str] = HALLUCINATED
) -> dict[str, Any]:
    """Return the statistics as JSON values; ``positive`` are the labels that are hallucinations.

    ``responses``, ``conversations``, ``documents``, ``sentences`` (labelled), ``unlabelled`` and ``labels`` are
    counts; ``context_words``, ``words_per_response`` and ``turns`` (per conversation) have ``min``, ``max`` and
    ``mean``; ``shares`` has every share with its interval; ``repeated`` counts sentences that their response
    holds more than once.
    """
    labels = Counter(label for one in found for label in one.labels)
    conversations = Counter(one.answer.dialogue for one in found)
    contexts = {one.answer.dialogue: one.answer.reference for one in found}
    tests = label_tests(positive)
    ratios = shares({name: list(_counted(found, *pair)) for name, pair in tests.items()})
    return {
        "responses": len(found),
        "conversations": len(conversations),
        "documents": len({one.answer.group for one in found}),
        "sentences": sum(labels.values()) - labels[None],
        "unlabelled": labels[None],
        "repeated": sum(len(low) - len(set(low)) for low in (_lower(one) for one in found)),
        "context_words": _spread([count_words(text) for text in contexts.values()]),
        "words_per_response": _spread([count_words(one.answer.text) for one in found]),
        "turns": _spread(list(conversations.values())),
        "labels": {label: labels[label] for label in LABELS},
        "shares": {name: share.to_json() for name, share in ratios.items()},
    }


def _lower(one: Labelled) -> list[str]:
    return [sentence.lower() for sentence in one.answer.sentences]


def _spread(values: Sequence[int]) -> dict[str, float | None]:
    if not values:
        return {"min": None, "max": None, "mean": None}
    return {"min": min(values), "max": max(values), "mean": round(sum(values) / len(values), 2)}
