"""The answers that finished jobs keep: each is used once in a job, and takes little room."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jurist.engines.database import Database
from jurist.engines.journal import Journal, Past, StoredResponse, request_key
from jurist.engines.kept_answers import FinishedJob, KeptAnswers
from jurist.errors import CheckpointError

NOW = "2026-11-30T04:35:21Z"
LABEL = "[[ ## factual ## ]]\nTrue\n\n[[ ## completed ## ]]"


def keep(
    path: Path, answers: dict[str, list[str]], endpoint: str = "openai/x here", *, job: str = "job"
) -> None:
    """Keep answers: request -> the texts of its replies, in the order in which they came."""
    kept = KeptAnswers(path)
    journal = Journal(path.with_name(f"{job}.sqlite"))
    for request, texts in answers.items():
        key = request_key({"request": request})
        for text in texts:
            past = journal.look_up(key)
            attempt = journal.note_sending(key, past.occurrence, call=kept.name_call(endpoint, key))
            journal.note_answer(attempt, StoredResponse(text=text))
    kept.keep(job, FinishedJob(kept_since=NOW, answers={"judge": 1}), [journal], NOW)
    journal.close()
    kept.close()
    path.with_name(f"{job}.sqlite").unlink()


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


def test_jobs_that_end_at_once_keep_the_answers_of_each(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    jobs = [f"job{number}" for number in range(8)]

    def keep_job(job: str) -> None:
        keep(path, {f"{job} {number}": [job] for number in range(200)}, job=job)

    with ThreadPoolExecutor(len(jobs)) as pool:
        list(pool.map(keep_job, jobs))
    kept = KeptAnswers(path)
    for job in jobs:
        assert kept.find_job(job) is not None
        assert {used(kept, f"{job} {number}") for number in range(200)} == {job}


def test_a_store_that_turns_out_damaged_is_read_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "answers.sqlite"
    keep(path, {"a": ["first", "second"]})
    kept = KeptAnswers(path)
    assert used(kept, "a") == "first"

    def fail(*_: object) -> None:
        raise CheckpointError("answers.sqlite: malformed", hint="start again")

    with monkeypatch.context() as patch:
        patch.setattr(Database, "all", fail)
        assert used(kept, "a") is None
    assert kept.problem == "answers.sqlite: malformed"
    assert (used(kept, "a"), kept.find_job("job")) == (None, None)


@pytest.mark.parametrize("letters", [60, 600])
def test_an_answer_takes_its_text_and_some_200_bytes(tmp_path: Path, letters: int) -> None:
    path = tmp_path / "answers.sqlite"
    keep(path, {f"request {number}": [LABEL.ljust(letters)] for number in range(3_000)})
    assert 100 < path.stat().st_size / 3_000 - letters < 300
