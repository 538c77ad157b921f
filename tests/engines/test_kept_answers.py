"""The answers that finished jobs keep: each is used once in a job, and takes little room."""

from pathlib import Path

import pytest

from jurist.engines.journal import Journal, Past, StoredResponse, request_key
from jurist.engines.kept_answers import FinishedJob, KeptAnswers

NOW = "2026-11-30T04:35:21Z"
LABEL = "[[ ## factual ## ]]\nTrue\n\n[[ ## completed ## ]]"


def keep(path: Path, answers: dict[str, list[str]], endpoint: str = "openai/x here") -> None:
    """Keep answers: request -> the texts of its replies, in the order in which they came."""
    kept = KeptAnswers(path)
    journal = Journal(path.with_name("journal.sqlite"))
    for request, texts in answers.items():
        key = request_key({"request": request})
        for text in texts:
            past = journal.look_up(key)
            attempt = journal.note_sending(key, past.occurrence, call=kept.name_call(endpoint, key))
            journal.note_answer(attempt, StoredResponse(text=text))
    kept.keep("job", FinishedJob(kept_since=NOW, answers={"judge": 1}), [journal], NOW)
    journal.close()
    kept.close()
    path.with_name("journal.sqlite").unlink()


def used(kept: KeptAnswers, request: str, endpoint: str = "openai/x here") -> str | None:
    """Return the text of the next answer to a request; ``None`` where it has to be asked."""
    past = kept.look_up(kept.name_call(endpoint, request_key({"request": request})), Past(occurrence=1))
    return past.answer and past.answer.text


def test_each_answer_is_used_once_in_a_job(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    keep(path, {"a": ["first", "second"], "b": ["other"]})
    for _ in range(2):  # each job has them all
        kept = KeptAnswers(path)
        assert [used(kept, request) for request in "abaa"] == ["first", "other", "second", None]
        kept.close()


def test_another_endpoint_and_a_job_that_asks_anew_use_none(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    keep(path, {"a": ["first"]})
    assert used(KeptAnswers(path), "a", "openai/x there") is None
    anew = KeptAnswers(path, anew=True)
    assert (used(anew, "a"), anew.find_job("job")) == (None, None)
    assert KeptAnswers(path).find_job("job") == FinishedJob(kept_since=NOW, answers={"judge": 1})


@pytest.mark.parametrize("letters", [60, 600])
def test_an_answer_takes_its_text_and_some_200_bytes(tmp_path: Path, letters: int) -> None:
    path = tmp_path / "answers.sqlite"
    keep(path, {f"request {number}": [LABEL.ljust(letters)] for number in range(3_000)})
    assert 100 < path.stat().st_size / 3_000 - letters < 300
