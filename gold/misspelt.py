"""Labels that are near spellings of more frequent ones: a slip of the keyboard is no class of its own."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from shlex import quote
from types import MappingProxyType

from ..errors import plural
from .columns import is_number

_TIMES_RARER = 10
"""The rows of a label for each row of its misspelling, at least."""
_RARE_SHARE = 0.02
"""The share of all rows that a misspelling has at most; a single row is always few."""
_LETTERS_OF_ONE_SLIP = 4
_LETTERS_OF_TWO_SLIPS = 8
"""Letters of a word from which one, or two, may be wrong: in shorter words another letter makes another word."""
_PUNCTUATION = re.compile(r"[\s.,;:!?'\"`’“”()\[\]_]+|(?<=\w)-(?=\w)")
"""What may differ between two spellings; the signs of ``A+`` and ``A-`` are no punctuation."""
_ONE_WORD = {"okay": "ok"}


@dataclass(frozen=True)
class Misspelling:
    """A label that looks like a misspelling of another one."""

    label: str
    rows: int
    meant: str

    def __str__(self) -> str:
        return f"{self.label} ({plural(self.rows, 'row')}) like {self.meant}"


def find_misspellings(rows_of_label: Mapping[str, int], text: str = "") -> list[Misspelling]:
    """Return the labels that look like misspellings of a more frequent one.

    Args:
        rows_of_label: label -> how many rows have it; one that no row has is a choice of the judge, and no slip.
        text: the prompt; a label that it names is no misspelling, but for its punctuation, which may be the prompt's.
    """
    total = sum(rows_of_label.values())
    by_frequency = sorted(rows_of_label, key=lambda label: -rows_of_label[label])
    misspelt: set[str] = set()
    found: list[Misspelling] = []
    for place, label in enumerate(by_frequency):
        rows = rows_of_label[label]
        if is_number(label) or not rows:
            continue
        is_rare = rows <= max(1, _RARE_SHARE * total) and not _names(text, label)
        for meant in by_frequency[:place]:
            if meant in misspelt:
                continue
            is_slip = is_rare and rows_of_label[meant] >= _TIMES_RARER * rows and _is_slip(label, meant)
            if is_slip or _differ_by_punctuation(label, meant):
                found.append(Misspelling(label, rows, meant))
                misspelt.add(label)
                break
    return found


def misspelt_words(
    misspellings: Iterable[Misspelling], meanings: Mapping[str, str] = MappingProxyType({})
) -> tuple[str, str]:
    """Return which labels look misspelt, and the options that say what they mean.

    Args:
        misspellings: the labels, at least one.
        meanings: label of the file, in small letters -> the meaning that the options give it.
    """
    listed = []
    options = []
    for misspelling in misspellings:
        meaning = meanings.get(misspelling.meant.casefold(), misspelling.meant)
        listed.append(str(misspelling))
        options.append(f"--map {quote(f'{misspelling.label}={meaning}')}")
    return "; ".join(listed), " ".join(options)


def keeping_words(label: str) -> str:
    """Return how to keep a label as a class of its own that looks misspelt."""
    return f"(to keep {label} as a class: --map {quote(f'{label}={label}')})"


def _names(text: str, label: str) -> bool:
    """Say whether a text has a label as words of its own."""
    return re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text, re.IGNORECASE) is not None


def _words(label: str) -> list[str]:
    """Return the words of a label in small letters, without punctuation."""
    words = []
    for word in _PUNCTUATION.sub(" ", label.casefold()).split():
        words.append(_ONE_WORD.get(word, word))
    return words


def _differ_by_punctuation(label: str, meant: str) -> bool:
    """Say whether two labels have the same letters: ``ok.`` and ``ok``, but not two codes of one letter."""
    letters = "".join(_words(label))
    return len(letters) > 1 and letters == "".join(_words(meant))


def _is_slip(label: str, meant: str) -> bool:
    """Say whether each word of a label is that of another one, or it with a slip; and one is."""
    words, meant_words = _words(label), _words(meant)
    if len(words) != len(meant_words) or words == meant_words:
        return False
    for word, meant_word in zip(words, meant_words, strict=True):
        if word != meant_word and not _is_slip_of_word(word, meant_word):
            return False
    return True


def _is_slip_of_word(word: str, meant: str) -> bool:
    """Say whether a word is another one with a letter that is wrong, missing, doubled or at its neighbour's place.

    Another first letter makes another word (``moral`` and ``amoral``, ``include`` and ``exclude``), and so does a
    letter of a script without capitals, where one character is a word.
    """
    shortest = min(len(word), len(meant))
    if shortest < _LETTERS_OF_ONE_SLIP or not all(map(_has_capital, word + meant)):
        return False
    if word[0] != meant[0] and word[:2] != meant[1::-1]:
        return False
    # of ``safe`` and ``unsafe``, only ``ssafe`` is a slip
    for longer, shorter in ((word, meant), (meant, word)):
        if longer != shorter and longer.endswith(shorter) and longer != shorter[0] + shorter:
            return False
    most_slips = 2 if shortest >= _LETTERS_OF_TWO_SLIPS else 1
    return _slips(word, meant) <= most_slips


def _has_capital(character: str) -> bool:
    """Say whether a character is a letter that has a capital."""
    return character.lower() != character.upper()


def _slips(word: str, meant: str) -> int:
    """Return the letters to add, remove, change or swap with their neighbour until two words are equal."""
    before_last: list[int] = []
    last = list(range(len(meant) + 1))
    for i, letter in enumerate(word, start=1):
        row = [i]
        for j, meant_letter in enumerate(meant, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != meant_letter))
            if i > 1 and j > 1 and letter == meant[j - 2] and word[i - 2] == meant_letter:
                cost = min(cost, before_last[j - 2] + 1)
            row.append(cost)
        before_last, last = last, row
    return last[-1]
