"""Errors speak the language of whoever made them: options to a command, arguments to Python."""

import pytest
from judges import CHECK

import jurist
from jurist.errors import GoldError, UsageError, as_command, in_python, plural

WORDS = {
    "raise --max-calls, or use fewer rows": "raise Budget(calls=...), or use fewer rows",
    "use another seed (--seed 20 works)": "use another seed (seed=20 works)",
    "add --resume to go on, or --fresh": "add resume=True to go on, or fresh=True",
    "check the address (--api-base)": "check the address (Model(api_base=...))",
    "leave out --judge-model": "leave out verifier=...",
    "compile with --adapter json": "compile with adapter=... json",
    "say which: --column THEIRS=reply": "say which: mapping=RowMapping(columns={'THEIRS': 'reply'})",
    "or: --map maybe not=LABEL; 3 more": "or: mapping=RowMapping(labels={'maybe not': 'LABEL'}); 3 more",
    "a -- b, x--y and 2 --": "a -- b, x--y and 2 --",
}


@pytest.mark.parametrize("text", WORDS)
def test_what_an_option_is_called_in_python(text: str) -> None:
    assert in_python(text) == WORDS[text]


def test_the_same_error_in_a_command_and_in_python() -> None:
    assert str(UsageError("too few", hint="add --trust")) == "too few; add trust=True"
    with as_command("jurist"):
        assert str(UsageError("too few", hint="add --trust")) == "too few; add --trust"
    assert str(UsageError("too few", hint="add --trust")) == "too few; add trust=True"


def test_gold_in_python_names_no_option_of_a_command() -> None:
    with pytest.raises(GoldError) as caught:
        jurist.Gold.of([{"policy": "p", "answer": "r", "verdict": "no"}] * 2, CHECK)
    assert "--" not in str(caught.value)
    assert "RowMapping(columns={'THEIRS': 'reply'})" in str(caught.value)


def test_one_thing_is_not_many() -> None:
    assert [plural(count, "row") for count in range(3)] == ["0 rows", "1 row", "2 rows"]
