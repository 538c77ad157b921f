"""Names of candidates: words that can be said, and the same again when more candidates are entered."""

from hypothesis import given
from hypothesis import strategies as st

from jurist.optimizers.candidate import candidate_names

TRIED = st.lists(
    st.tuples(st.text("ab", min_size=1), st.sampled_from(["basic", "opro", "opro, error", "3 demos", "?"]))
)


def test_names() -> None:
    tried = [
        ("a", "basic"),
        ("b", "opro"),
        ("c", "opro, error"),
        ("d", "fewshot: 4"),
        ("e", "42"),
        ("b", "opro"),
    ]
    assert list(candidate_names(tried).values()) == ["basic", "opro-1", "opro-2", "fewshot-1", "candidate-1"]


@given(TRIED, TRIED)
def test_a_name_is_one_candidates_own_and_stays(
    first: list[tuple[str, str]], more: list[tuple[str, str]]
) -> None:
    before, after = candidate_names(first), candidate_names([*first, *more])
    assert len(set(after.values())) == len(after)
    assert {id_: after[id_] for id_ in before} == before
