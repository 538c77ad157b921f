"""Conditions that a program checks: read from words, and verified on texts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jurist.programs.faithqa.checks import (
    FORMS,
    Check,
    Counted,
    Edge,
    Formed,
    Initials,
    Mentions,
    Within,
    Written,
    check_of,
    read_check,
)
from jurist.text.measures import Unit, as_number, parts

QUESTION = Edge("end", ("?", "？"), "mark")


@pytest.mark.parametrize(
    ("words", "check"),
    [
        ("in exactly 50 words", Counted("word", 50, 50)),
        ("use at most thirty-five words", Counted("word", 0, 35)),
        ("no more than 120 words", Counted("word", 0, 120)),
        ("fewer than 80 words", Counted("word", 0, 79)),
        ("more than 3 sentences", Counted("sentence", 4)),
        ("at least two paragraphs", Counted("paragraph", 2)),
        ("in 100 words or fewer", Counted("word", 0, 100)),
        ("between 3 and 5 sentences", Counted("sentence", 3, 5)),
        ("about a hundred words", Counted("word", 90, 110)),
        ("a poem of four stanzas", Counted("stanza", 4, 4)),
        ("the answer has exactly five bullet points", Counted("item", 5, 5)),
        ("each line must have exactly seven words", Within("each", "line", Counted("word", 7, 7))),
        ("eight words per line", Within("each", "line", Counted("word", 8, 8))),
        ("no sentence longer than twelve words", Within("each", "sentence", Counted("word", 0, 12))),
        ("a last sentence of three words", Within("last", "sentence", Counted("word", 3, 3))),
        ("every line ends with the letter w", Within("each", "line", Edge("end", ("w",)))),
        ("each word ends with a vowel", Within("each", "word", Edge("end", tuple("aeiou")))),
        ('every stanza starts with the word "If"', Within("each", "stanza", Edge("start", ("If",), "word"))),
        ("it must end with a question", QUESTION),
        ('an acrostic of "RAIN"', Initials("RAIN")),
        ("the lines begin with S, E, and A", Initials("SEA")),
        ('do not use the word "sea"', Mentions(("sea",), wanted=False)),
        ('the word "sea" must not appear', Mentions(("sea",), wanted=False)),
        ('include the words "rope" and "tide"', Mentions(("rope", "tide"))),
        ("as a bulleted list", Formed("bulleted list")),
        ("give the answer as a numbered list", Formed("numbered list")),
        ("reply in JSON", Formed("JSON")),
        ("without numbers", Formed("no numbers")),
        ("no dialogue", Formed("no dialogue")),
        ("in capital letters", Formed("upper case")),
        ("the answer is written in Russian", Written("Russian")),
        ("不超过50字", Counted("word", 0, 50)),
        ("二十字以内", Counted("word", 0, 20)),
        ("至少三句话", Counted("sentence", 3)),
        ("正好四行", Counted("line", 4, 4)),
        ("每行七个字", Within("each", "line", Counted("word", 7, 7))),
        ("分三段", Counted("paragraph", 3, 3)),
        ("最后一句不超过十个字", Within("last", "sentence", Counted("word", 0, 10))),
        ("每行以“春”字开头", Within("each", "line", Edge("start", ("春",), "word"))),
        ("以问句结尾", QUESTION),
        ("不要出现“秋”字", Mentions(("秋",), wanted=False)),
        ("必须包含“月”和“酒”", Mentions(("月", "酒"))),
        ("用英文回答", Written("English")),
        ("不能使用对话", Formed("no dialogue")),
    ],
)
def test_a_check_is_read_from_words(words: str, check: Check) -> None:
    assert read_check(words) == check


@pytest.mark.parametrize(
    "words",
    [
        "List",
        "two",
        "exactly two characters occur",  # people, not letters
        "quote one sentence of the article",  # what is quoted, not how long the answer is
        "the poem rhymes",
        "a short poem",
        "the mood is calm",
        "born before 1950",
        "an essay on the word order of Latin",
        "for readers interested in Chinese history",
        "以“灯”为题",
        "列出三位诗人",
        "",
    ],
)
def test_what_a_program_cannot_see_is_no_check(words: str) -> None:
    assert read_check(words) is None


def test_the_length_of_a_part_is_not_that_of_the_answer() -> None:
    assert check_of("理由只用一句话", "一句话") is None
    assert check_of("the reason is one sentence", "in one sentence") is None
    assert check_of("it stays short enough", "in one sentence") == Counted("sentence", 1, 1)


POEM = "Rain at noon,\na silver spoon.\n\nIron moon,\ngone too soon."


@pytest.mark.parametrize(
    ("check", "text", "holds"),
    [
        (Counted("stanza", 2, 2), POEM, True),
        (Counted("line", 4, 4), POEM, True),
        (Counted("paragraph", 2, 2), "One.\nTwo.", True),
        (Counted("paragraph", 1, 1), "One.\n\nTwo.", False),
        (Counted("word", 0, 3), "It's twenty-one o'clock — now", False),
        (Counted("word", 4, 4), "It's twenty-one o'clock — now", True),
        (Counted("word", 5, 5), "我在家，你呢", True),
        (Counted("item", 2, 2), "Here:\n- a\n- b", True),
        (Counted("item", 2, 2), "a and b", None),
        (Within("each", "line", Edge("end", ("n",))), POEM, True),
        (Within("each", "line", Edge("end", ("n",))), "Sun\nrise", False),
        (Within("each", "line", Counted("word", 1)), "", False),
        (Within("last", "sentence", Counted("word", 2, 2)), "It rained all day. She left.", True),
        (Within("first", "sentence", Counted("word", 2, 2)), "It rained all day. She left.", False),
        (QUESTION, "He asked: “Why?”", True),
        (QUESTION, "为什么？", True),
        (QUESTION, "Why? Because.", False),
        (Initials("RAIN"), "Roofs\nAre\n“Instruments”\nNow", True),
        (Initials("RAIN"), "Roofs\nAre\nNow", False),
        (Mentions(("sea",), wanted=False), "The season is over", True),
        (Mentions(("sea",), wanted=False), "The Sea!", False),
        (Mentions(("秋",), wanted=False), "秋天", False),
        (Mentions(("rope", "tide")), "A rope.", False),
        (Edge("start", ("Once upon",), "word"), "Once upon a time", True),
        (Written("Chinese"), "太阳能 (solar)", False),
        (Written("Chinese"), "太阳能很便宜", True),
        (Written("English"), "太阳能很便宜", False),
        (Written("English"), "C'est la vie", None),
        (Written("English"), "...", False),
        (Formed("bulleted list"), "Symptoms:\n- a\n- b", True),
        (Formed("bulleted list"), "- a\nand b", False),
        (Formed("bulleted list"), "1. a\n2. b", False),
        (Formed("numbered list"), "1. a\n2. b", True),
        (Formed("JSON"), '```json\n{"a": 1}\n```', True),
        (Formed("JSON"), "3", False),
        (Formed("no numbers"), "One of them", True),
        (Formed("no numbers"), "fourteen rooms", False),
        (Formed("no dialogue"), "He didn't speak.", True),
        (Formed("no dialogue"), "他说：“走。”", False),
    ],
)
def test_a_check_is_verified(check: Check, text: str, holds: bool | None) -> None:
    found = check.verify(text)
    assert found.holds is holds
    assert found.evidence


WORD = st.sampled_from(["sun", "Rope", "tide", "a", "well-known", "It's"])
UNITS: dict[Unit, tuple[str, str]] = {
    "word": (" ", ""),
    "line": ("\n", ""),
    "stanza": ("\n\n", ""),
    "paragraph": ("\n\n", ""),
    "sentence": (" ", "Alone."),
    "item": ("\n", "- "),
}


@settings(deadline=None)  # the first text loads Punkt
@given(st.sampled_from(sorted(UNITS)), st.lists(WORD, min_size=1, max_size=12), st.integers(0, 14))
def test_counting_finds_what_was_put_together(unit: Unit, words: list[str], bound: int) -> None:
    between, mark = UNITS[unit]
    pieces = [f"{word} {mark}".capitalize() if unit == "sentence" else f"{mark}{word}" for word in words]
    text = between.join(pieces)
    assert len(parts(text, unit)) == len(words)
    assert Counted(unit, len(words), len(words)).verify(text).holds
    assert Counted(unit, 0, bound).verify(text).holds is (len(words) <= bound)
    assert Counted(unit, bound).verify(text).holds is (len(words) >= bound)


@given(st.sampled_from(["word", "line", "stanza", "paragraph", "sentence", "item"]), st.integers(2, 99))
def test_stated_bounds_are_read_back(unit: Unit, number: int) -> None:
    assert read_check(f"it has exactly {number} {unit}s") == Counted(unit, number, number)
    assert read_check(f"use at most {number} {unit}s") == Counted(unit, 0, number)
    assert read_check(f"fewer than {number} {unit}s") == Counted(unit, 0, number - 1)
    assert read_check(f"no fewer than {number} {unit}s") == Counted(unit, number)


@pytest.mark.parametrize(
    ("words", "number"),
    [("7", 7), ("twelve", 12), ("forty", 40), ("ninety-nine", 99), ("two hundred and five", 205),
     ("nine hundred and twenty-one", 921), ("三", 3), ("十二", 12), ("四十", 40), ("九十九", 99), ("二百零五", 205),
     ("九百二十一", 921), ("六百", 600)],
)  # fmt: skip
def test_numbers_are_read_in_digits_and_in_words(words: str, number: int) -> None:
    assert as_number(words) == number


@given(st.lists(WORD, min_size=1, max_size=6), st.characters(min_codepoint=97, max_codepoint=122))
def test_each_line_must_end_with_the_letter(words: list[str], letter: str) -> None:
    check = read_check(f"every line ends with the letter {letter}")
    assert check is not None
    assert check.verify("\n".join(f"{word} {letter}," for word in words)).holds
    odd = "y" if letter == "z" else "z"
    assert check.verify("\n".join([f"{word} {letter}" for word in words] + [odd])).holds is False


@given(st.lists(WORD, max_size=8), WORD)
def test_required_and_forbidden_are_opposites_for_one_word(words: list[str], word: str) -> None:
    text = " ".join(words)
    found = Mentions((word,)).verify(text).holds, Mentions((word,), wanted=False).verify(text).holds
    assert set(found) == {True, False}


@given(st.text(max_size=200), st.text(max_size=60))
def test_any_text_can_be_read_and_verified(text: str, words: str) -> None:
    read_check(words)
    for check in (
        *map(Formed, FORMS),
        Written("Chinese"),
        Initials("A"),
        QUESTION,
        Counted("word", 1),
        Edge("start", ("a",), "word"),
        Within("each", "sentence", Edge("end", ("n",))),
    ):
        check.verify(text)
