"""Turns of a conversation as the offline engine writes them: sentences of the reference as they stand."""

import re
from collections.abc import Sequence
from typing import Any, Final

from ..engines.offline.filler import Inputs, Written
from ..engines.offline.sampler import Sampler
from ..text.evidence import index_evidence, term_set
from ..text.sentences import split
from ..text.tables import read_table
from ..text.wording import count_words, is_chinese

_PHRASES: Final = read_table(__package__, "dialogue")
_LENGTH: Final = re.compile(r"(\d+)(?:\D+(\d+))?")
_USUAL_LENGTH: Final = (40, 120)  # words of a reply
_FEWEST_WORDS: Final = 4  # of a sentence that a reply may use; shorter ones are headings and the like
_STARTS: Final = 3  # the first new sentences, with one of which a reply at a temperature above 0 begins


def write_turn(values: Inputs, sampler: Sampler) -> Written:
    """Return a reply made of sentences of the reference: those nearest to the user's message, if there is one.

    Without a message, that is written too, and the reply has sentences that the dialogue does not have yet.
    """
    reference = values.get("reference", "")
    sentences: list[str] = []
    for sentence in split(reference):
        if count_words(sentence.text) >= _FEWEST_WORDS and not sentence.text.startswith("#"):
            sentences.append(sentence.text)
    low, high = _length_range(values.get("length", ""))
    question = values.get("user_message", "")
    if question:
        by_relevance = _by_relevance(sentences, question)
        return {"assistant_message": _choose_sentences(sentences, by_relevance, low, high)}

    dialogue = values.get("dialogue", "")
    new_sentences = [text for text in sentences if text not in dialogue]
    start = 0
    if sampler.temperature > 0 and new_sentences:
        start = sampler.rng.randrange(min(_STARTS, len(new_sentences)))
    in_order = new_sentences[start:] + new_sentences[:start]
    return {
        "user_message": _next_question(reference, dialogue, values.get("topic", "")),
        "assistant_message": _choose_sentences(sentences, in_order, low, high),
    }


def _length_range(length: str) -> tuple[int, int]:
    """Return the fewest and the most words in ``30 to 90 words``; the usual ones where it names none."""
    match = _LENGTH.search(length)
    if match is None:
        return _USUAL_LENGTH
    low = int(match[1])
    high = int(match[2] or low)
    return low, max(low, high)


def _by_relevance(sentences: Sequence[str], question: str) -> list[str]:
    """Return the sentences by the weight of the terms that they share with a question, the heaviest first."""
    evidence = index_evidence("\n".join(sentences))
    question_terms = term_set(question)
    weights: dict[str, float] = {}
    for sentence in sentences:
        shared_terms = question_terms & term_set(sentence)
        weights[sentence] = sum(evidence.weight(term) for term in sorted(shared_terms))
    return sorted(sentences, key=lambda sentence: -weights[sentence])


def _next_question(reference: str, dialogue: str, topic: str) -> str:
    """Return the user's message: an opening, then the first request to go on that was not used yet."""
    phrases: dict[str, Any] = _PHRASES["english"]
    if is_chinese(reference):
        phrases = _PHRASES["chinese"]
    if not dialogue.strip():
        opening: str = phrases["opening"].format(topic=topic) if topic else phrases["opening_alone"]
        return opening
    return next((text for text in phrases["going_on"] if text not in dialogue), "")


def _choose_sentences(sentences: Sequence[str], by_priority: Sequence[str], low: int, high: int) -> str:
    """Return sentences in the order of their text until they are long enough, none that would make them too long."""
    chosen: list[str] = []
    for sentence in by_priority:
        too_short = count_words(_join_sentences(chosen)) < low
        if too_short and count_words(_join_sentences(chosen + [sentence])) <= high:
            chosen.append(sentence)
    return _join_sentences([sentence for sentence in sentences if sentence in chosen])


def _join_sentences(sentences: Sequence[str]) -> str:
    if sentences and is_chinese(sentences[0]):
        return "".join(sentences)
    return " ".join(sentences)
