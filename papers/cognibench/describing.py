"""What a labelled set of dialogues looks like: the numbers of CogniBench's Table 2 and section 4.4.

Words are counted as everywhere here: a Chinese character is one. Intervals are clustered by document.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from ...evaluation.intervals import shares
from ...programs.cognibench import HALLUCINATED, statement_type
from ...signatures.cognibench import LABELS, TIERS
from ...text.json_lines import plain
from ...text.wording import count_words
from .turns import Labelled


def label_sets(positive: Collection[str]) -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    """Return the shares that are reported: name -> (which labels count, among which)."""
    every, bad = frozenset(LABELS), frozenset(positive)
    kinds = {
        kind: frozenset(label for label in LABELS if statement_type(label) == kind)
        for kind in ("irrelevant", "factual", "cognitive")
    }
    return {
        **{kind: (labels, every) for kind, labels in kinds.items()},
        "hallucinated": (bad, every),
        **{f"hallucinated_of_{kind}": (bad, kinds[kind]) for kind in ("factual", "cognitive")},
        **{f"{tier}_of_cognitive": (frozenset({tier}), kinds["cognitive"]) for tier in TIERS},
    }


def _counted(
    found: Sequence[Labelled], part: Collection[str], whole: Collection[str]
) -> Iterator[tuple[str, float, float]]:
    for one in found:
        known = [label for label in one.labels if label in whole]
        yield one.answer.group, float(sum(label in part for label in known)), float(len(known))


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
    ratios = shares({name: _counted(found, *pair) for name, pair in label_sets(positive).items()})
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
        "shares": plain(ratios),
    }


def _lower(one: Labelled) -> list[str]:
    return [sentence.lower() for sentence in one.answer.sentences]


def _spread(values: Sequence[int]) -> dict[str, float | None]:
    if not values:
        return {"min": None, "max": None, "mean": None}
    return {"min": min(values), "max": max(values), "mean": round(sum(values) / len(values), 2)}
