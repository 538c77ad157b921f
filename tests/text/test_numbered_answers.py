"""Answers to numbered questions in a reply: what is read, what is not, and what several replies say together."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jurist.text.numbered_answers import (
    ANSWER_KINDS,
    ONE_TO_FIVE,
    RANGES,
    YES_NO,
    mean_answers,
    read_numbered_answers,
    write_numbered_answers,
)

KINDS = (YES_NO, ONE_TO_FIVE)
READ = {
    "1: yes\n2: 3": [1.0, 3.0],
    "2: 3\n1: no": [0.0, 3.0],
    "1. Yes, because it says so\n2) 4": [1.0, 4.0],
    "**1:** yes\n**2:** 4": [1.0, 4.0],
    "1 yes\n2 3": [1.0, 3.0],
    "- 1: no.\n- 2: 5 (very)": [0.0, 5.0],
    "Q1: YES\nQuestion 2: 1": [1.0, 1.0],
    '{"1": "yes", "2": 3}': [1.0, 3.0],
    "{'1': 'no', '2': '5'}": [0.0, 5.0],
    '["1: yes", "2: 3"]': [1.0, 3.0],
    "1: yes\n1: yes\n2: 2": [1.0, 2.0],
    "1: yes\n1: no\n2: 2": [None, 2.0],
    "1: yes/no\n2: 4.5": [None, 4.5],
    "1: 0.83\n2: 1.00": [0.83, 1.0],
    "1: 1.2\n2: 0.5": [None, None],
    "1: 0.5.\n2: 5.01": [0.5, None],
    "1: no idea\n2: 6": [None, None],
    "1: 1\n2: yes": [None, None],
    "1: yes 2: 3": [None, None],
    "1: yes\n2: 3/5": [1.0, None],
    "1: yes\n3: no\n0: no": [1.0, None],
    "yes\n3": [None, None],
    "": [None, None],
}


@pytest.mark.parametrize("text", READ)
def test_an_answer_is_read_where_it_stands_alone_behind_its_number(text: str) -> None:
    assert read_numbered_answers(text, KINDS) == READ[text]


kinds_with_answers = st.lists(
    st.sampled_from(ANSWER_KINDS).flatmap(
        lambda kind: st.tuples(
            st.just(kind),
            st.none() | st.sampled_from((0.0, 1.0) if kind == YES_NO else (1.0, 2.0, 3.0, 4.0, 5.0)),
        )
    ),
    max_size=15,
)


def spelled(kind: str, answer: float) -> str:
    if kind == YES_NO:
        return "yes" if answer else "no"
    return f"{answer:.0f}"


@given(kinds_with_answers, st.booleans())
def test_what_is_written_is_read(questions: list[tuple[str, float | None]], as_json: bool) -> None:
    said = {
        str(number): spelled(kind, answer)
        for number, (kind, answer) in enumerate(questions, 1)
        if answer is not None
    }
    text = json.dumps(said) if as_json else "\n".join(f"{number}: {word}" for number, word in said.items())
    assert read_numbered_answers(text, [kind for kind, _ in questions]) == [answer for _, answer in questions]


@given(st.text(), st.lists(st.sampled_from(ANSWER_KINDS), max_size=5))
def test_any_text_is_read_without_an_error(text: str, kinds: list[str]) -> None:
    for answer, kind in zip(read_numbered_answers(text, kinds), kinds, strict=True):
        least, greatest = RANGES[kind]
        assert answer is None or least <= answer <= greatest


@given(
    st.lists(
        st.sampled_from(ANSWER_KINDS).flatmap(lambda kind: st.tuples(st.just(kind), st.floats(*RANGES[kind])))
    )
)
def test_numbers_that_are_written_are_read(answers: list[tuple[str, float]]) -> None:
    text = write_numbered_answers([answer for _, answer in answers])
    kinds = [kind for kind, _ in answers]
    assert read_numbered_answers(text, kinds) == pytest.approx([answer for _, answer in answers], abs=1e-4)


def test_samples_have_the_mean_of_the_answers_that_they_give() -> None:
    assert mean_answers([[1.0, None, 3.0], [0.0, None, None]]) == [0.5, None, 3.0]
    assert mean_answers([]) == []
