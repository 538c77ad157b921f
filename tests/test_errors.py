"""Errors are one line: what is wrong, then what to do."""

from jurist.errors import UsageError, plural


def test_an_error_is_one_line_that_ends_in_its_hint() -> None:
    assert str(UsageError("too\nfew.", hint="add --trust")) == "too few; add trust=True"
    assert str(UsageError("too few ...")) == "too few ..."


def test_one_thing_is_not_many() -> None:
    assert [plural(count, "row") for count in range(3)] == ["0 rows", "1 row", "2 rows"]
