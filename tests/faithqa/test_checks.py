"""Which constraints code marks, and on which texts: where nobody could count otherwise. The rest is the model's."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jurist.programs.faithqa.checks import marked, read_check
from jurist.text.measures import Unit, as_number, parts

CODE = {  # constraint: (a text that meets it, one that does not)
    "the answer has at most 5 words": ("one two three", "one two three four five six"),
    "it has exactly fifty words": ("word " * 50, "word " * 51),
    "use fewer than 4 words": ("a b c", "a b c d"),
    "between 3 and 5 words": ("a b c", "a b"),
    "the response is one word": ("Jupiter.", "The planet Jupiter."),
    "the answer is one sentence": ("It rained all day.", "It rained. Then it snowed."),
    "it has exactly three lines": ("Sun\nrises\nslow.", "Sun\nrises."),
    "the answer has exactly two bullet points": ("- a\n- b", "two things: a and b"),
    "it has four stanzas": ("a\nb,\n\nb\nc\n\nc\n\nd", "a\n\nb."),
    "each line has exactly two words": ("red sky\nat night", "red sky\nnight"),
    "every line ends with the letter n": ("sun\nmoon", "sun\nrise"),
    'each paragraph begins with the word "Tonight"': ("Tonight it rains.", "It rains tonight."),
    'it starts with the word "Once"': ("Once upon a time.", "A time, once."),
    'the word "thirst" does not occur': ("I am dry.", "Thirst is bad."),
    'the words "rope" and "tide" both appear': ("A rope at low tide.", "A rope."),
    'it does not use the letter "e"': ("Sky and sun.", "The tree is green."),
    "全文不超过5字": ("很好", "这个答案非常非常好"),
    "正好四行": ("春\n夏\n秋\n冬", "春\n夏"),
    "每行两个字": ("春风\n秋月", "春风\n月"),
    "没有出现“秋”字": ("春天来了", "秋天来了"),
}
MODEL = """
    回答使用中文 | 以问句结尾 | the response is written in Chinese | it is in capital letters | it contains no digits
    the answer is in JSON | the response is a numbered list | the answer is a bulleted list
    it ends with a question | one sentence each | the introduction has 50 words
    each of several sentences has ten words | at least twice each | either "cat" or "dog" appears
    the word "sea" appears at least twice | it mentions three rivers | exactly three are named | two
    the poem rhymes | a short poem | about 100 words | roughly two paragraphs | the mood is calm
    the reason is one sentence | the title has three words | the last sentence has three words
    quote one sentence of the article | exactly two characters occur | born before 1950
    there is no dialogue | the lines begin with O, C, E, A, N in this order
    the rating is between 1 and 5 | each list has 5 items | five items of the list are fruits
    three sentences about the sea | ten words that a child knows
    it has at most 30 words and two sentences | it begins with a greeting
    it ends with a surprising sentence | every second line ends with the letter n
    the answer has no more than one adjective a sentence | written in simple English words
    an essay on the word order of Latin | in the first person | it does not speak of "the sea" or the like
    names in JSON are explained | the word "sea" stands in the second line
    for readers interested in Chinese history | each dish has a price | no line is longer than the first
    以“灯”为题 | 列出三位诗人 | 理由只用一句话 | 每位各举出一首代表作
    每种写了一个优点 | 大约一百字 | 标题不超过十个字 | 结尾出人意料
"""
OPEN = [  # (constraint, a text that can be counted in two ways)
    ("it has exactly four lines", "The Sea\n\nwaves\nroll\nin\nslow"),
    ('it starts with the word "Once"', "A Tale\n\nOnce there was a cat.\nIt slept."),
    ("the answer has exactly three words", "a well-known fact"),
    ("the answer has exactly two sentences", "Dr. Lee left. She came back."),
    ("it has exactly two paragraphs", "One.\nTwo."),
    ('the word "sea" does not occur', "Seaside towns"),
    ("全文正好五字", "好，很好，真好"),
]


@pytest.mark.parametrize("constraint", CODE)
def test_code_marks_what_nobody_could_count_otherwise(constraint: str) -> None:
    meets, fails = CODE[constraint]
    assert marked(constraint, meets)[0] == "satisfied"
    assert marked(constraint, fails)[0] in {"omitted", "misinterpreted"}


@pytest.mark.parametrize(
    "constraint", [one.strip() for one in MODEL.replace("\n", "|").split("|") if one.strip()]
)
def test_what_needs_a_reader_goes_to_the_model(constraint: str) -> None:
    assert read_check(constraint) is None


@pytest.mark.parametrize(("constraint", "text"), OPEN)
def test_a_text_that_can_be_counted_in_two_ways_goes_to_the_model(constraint: str, text: str) -> None:
    assert marked(constraint, text) is None


def test_less_than_was_asked_is_omitted_and_more_is_something_else() -> None:
    assert marked("exactly three words", "one two") == ("omitted", "2 words")
    assert marked("exactly three words", "one two three four") == ("misinterpreted", "4 words")


WORD = st.sampled_from(["sun", "Rope", "tide", "a", "slow"])
UNITS: dict[Unit, tuple[str, str]] = {
    "word": (" ", ""),
    "line": ("\n", ""),
    "stanza": ("\n\n", ""),
    "item": ("\n", "- "),
}


@settings(deadline=None)  # the first text loads Punkt
@given(st.sampled_from(sorted(UNITS)), st.lists(WORD, min_size=2, max_size=12), st.integers(2, 14))
def test_a_mark_is_right_or_not_given(unit: Unit, words: list[str], bound: int) -> None:
    between, mark = UNITS[unit]
    text = between.join(f"{mark}{word}" for word in words)
    assert len(parts(text, unit)) == len(words)
    for operator, holds in (
        ("exactly", len(words) == bound),
        ("at most", len(words) <= bound),
        ("fewer than", len(words) < bound),
        ("no fewer than", len(words) >= bound),
    ):
        found = marked(f"it has {operator} {bound} {unit}s", text)
        assert found is None or (found[0] == "satisfied") is holds


@pytest.mark.parametrize(
    ("words", "number"),
    [("7", 7), ("twelve", 12), ("forty", 40), ("ninety-nine", 99), ("two hundred and five", 205),
     ("nine hundred and twenty-one", 921), ("三", 3), ("十二", 12), ("四十", 40), ("九十九", 99), ("二百零五", 205),
     ("九百二十一", 921), ("六百", 600)],
)  # fmt: skip
def test_numbers_are_read_in_digits_and_in_words(words: str, number: int) -> None:
    assert as_number(words) == number


@given(st.text(max_size=200), st.text(max_size=60) | st.sampled_from(sorted(CODE)))
def test_any_text_can_be_read_and_marked(text: str, constraint: str) -> None:
    marked(constraint, text)
