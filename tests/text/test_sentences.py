"""Splitting into sentences: a table of cases, laws, and NLTK's own model files."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jurist.text.sentences import Sentence, split, without_repeats

TABLE = [  # | stands where a sentence ends
    ("titles", "Dr. Ames met Mr. He.| They spoke."),
    ("dotted", "It is in the U.S.| The law is old."),
    ("dotted goes on", "The U.S. Army and J.R.R. Tolkien agree."),
    ("initials", "J. K. Rowling wrote it.| He read it."),
    ("letter at the end", "Take vitamin C.| It helps."),
    ("number word", "See No. 5 and Fig. 3 here.| She said no.| Then she left."),
    ("time", "Come at 5 p.m. or later.| At 6 p.m.| The bus leaves."),
    ("latin", "Fruit, e.g. Apples, i.e. Pears, etc. are good."),
    ("decimals", "It is 3.5 km.| Pay $1,234.50.| Use v2.0.1.| Now."),
    ("year", "He came in 1999.| Marvin left."),
    ("url", "See https://a.org/x?y=z!b.| Or www.b.com/a.b?c!| Yes."),
    ("url with a bracket", "See https://a.org/b.(c) now.| Go."),
    ("e-mail", "Write to a.b@c.co.uk.| Thanks."),
    ("quote goes on", 'He said "Why?" and left.| "Stop!" she cried.'),
    ("quote ends", 'It is called "the one."| It won.| ‘So.’| Yes.'),
    ("brackets", "He left (she had, too.)| They met.| (Alone.)| Why?"),
    ("ellipsis", "Well... I see.| Wait...| The door.| So…| Then it… fell."),
    ("many marks", "Really?!| Yes!!!| No."),
    ("references", "It is so.[1]| That too.[2, 3]| And.[^a]| End."),
    ("emphasis", "**Bold.**| Next.| *So.*| Then."),
    ("numbered lines", "1. Foo is good.| It is.|\n2) Bar|\n(c) baz"),
    ("numbered inside", "Steps:| 1. Mix it.| 2. Bake it.| Done."),
    ("number alone", "1.\nFoo|\n\n2."),
    ("bullets", "Have:|\n- pears|\n* figs.| Ripe.|\n• nuts|\n# Next"),
    ("rule lines", "One\n---|\nTwo"),
    ("line ends", "One|\r\nTwo|\u2028Three|\n\n\nFour"),
    ("chinese", "你好。|世界！|好；|行？|他走了……|我也走。"),
    ("chinese quotes", "他说：“走吧。”|然后走了。|「是。」|（完。）"),
    ("chinese goes on", "“好。”，他说。"),
    ("chinese brackets", "『对！』|她想。"),
    ("straight quotes", '他说。|"你好。"|她笑。'),
    ("chinese list", "一、引言。|二、方法。|\n（一）背景。"),
    ("mixed", "我用 Python 3.11.| It works.| 版本v2.0.1发布了。|真的吗?|是的!"),
    ("nothing", " \n\t "),
    ("no stop", "just words"),
    ("repeated", "Yes.| Yes.| Yes."),
]

MARKS = """He Dr. U.S. no. 5 1. 2) - ** " “ ” ( ) . ... … …… ? ! 。 ！ ； ， 」 『 你好 走
    https://a.b/c?d a@b.co [1] the The"""
WORDS = [*MARKS.split(), "\n", "\r\n", " ", "\u3000"]
texts = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(WORDS), max_size=25).map("".join),
    st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join),
)


@pytest.mark.parametrize("marked", [row[1] for row in TABLE], ids=[row[0] for row in TABLE])
def test_where_sentences_end(marked: str) -> None:
    found = [one.text for one in split(marked.replace("|", ""))]
    assert found == [piece.strip() for piece in marked.split("|") if piece.strip()]


def check(text: str, found: tuple[Sentence, ...]) -> None:
    place = 0
    for one in found:
        assert one.start >= place
        assert not text[place : one.start].strip()  # nothing but white space between
        assert one.text == text[one.start : one.end]
        assert one.text
        assert one.text == one.text.strip()
        place = one.end
    assert not text[place:].strip()


@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(text=texts)
@example(text="1.\n\n")
@example(text="。。。」」")
@example(text="\x1c.\x85 A")
def test_pieces_and_the_space_between_are_the_text_and_split_again(text: str) -> None:
    found = split(text)
    check(text, found)
    rebuilt, place = "", 0
    for one in found:
        rebuilt += text[place : one.start] + one.text
        place = one.end
    assert rebuilt + text[place:] == text
    for one in found:
        again = split(one.text)
        check(one.text, again)
        assert again


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(["Yes, he did.", "It is 3.5 km.", "你好。", "Why?", "See Fig. 3!"]),
        min_size=1,
        max_size=8,
    )
)
def test_whole_sentences_come_back_however_often(sentences: list[str]) -> None:
    text = "\n".join(sentences)
    found = split(text)
    assert [one.text for one in found] == sentences
    assert len({one.start for one in found}) == len(sentences)
    assert without_repeats(f" {text} ") == "\n".join(dict.fromkeys(sentences))


def test_what_is_said_again_is_left_out_whatever_its_spacing() -> None:
    text = (
        "Judge it. Say hold if unsure.\n\n- send: fine\n- hold: bad\n- Send:  fine\nJudge it! Now judge it."
    )
    assert (
        without_repeats(text) == "Judge it. Say hold if unsure.\n\n- send: fine\n- hold: bad\nNow judge it."
    )


@pytest.mark.parametrize(
    "text", ["a.b" * 20_000, "x" * 60_000, "。" * 20_000, "a" * 30_000 + "@", '"' * 5_000]
)
def test_long_runs_without_a_boundary_are_one_piece(text: str) -> None:
    # An e-mail pattern that starts everywhere takes minutes here: it is the time limit of the suite that fails.
    assert [one.text for one in split(text)] == [text]
