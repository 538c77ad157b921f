"""The journal: what was paid is never paid again, and damage is an error."""

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from asking import CASES, TRUTH, asker, scripted
from attempts import states
from fakes import Scripted, context_with, reply
from forked import Forked
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import Loopback, truth_of

import jurist
from jurist.cases import Case
from jurist.engines.channel import CallContext
from jurist.engines.journal import Journal, StoredResponse
from jurist.errors import CheckpointError
from jurist.evaluation.votes import Sampling
from jurist.programs.fect import FECT
from jurist.programs.verdicts import Verdict

YES = reply("chat", factual=True)

SCRIPT = """
from pathlib import Path
from jurist.engines.channel import CallContext
from jurist.engines.journal import Journal
from jurist.engines.ledger import Ledger
from jurist.engines.meter import Meter, Amount
from jurist.engines.models import Model, connect
from jurist.programs.asking import Asker
from jurist.programs.catalogue import find
from jurist.programs.settings import AskSettings

judge = find("fect")
cases = [judge.case({"conversation": f"Agent: hello {n}", "claim": f"claim {n}"}) for n in range(60)]
context = CallContext(ledger=Ledger(), meter=Meter(), journal=Journal(Path(argv[1])))
lm = connect(Model(name="openai/gpt-4.1-mini", api_base=argv[0]), context)
found = Asker(judge=judge, program=judge.basic(), lm=lm, settings=AskSettings(concurrency=4)).ask_all(cases)
spend = context.ledger.spend()
print(sum(verdict.status == "verdict" for verdict in found), spend.calls, spend.replayed)
"""


def child(url: str, journal: Path) -> Forked:
    return Forked(url, journal, cwd=journal.parent, code=SCRIPT)


def test_a_killed_job_goes_on_without_paying_twice(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    with Loopback(delay=0.02) as server:
        first = child(server.url, journal)
        while server.count < 25 and first.poll() is None:
            time.sleep(0.005)
        first.kill()
        first.communicate()
        at_kill, kept = server.count, states(journal).count("answered")
        assert 25 <= at_kill < 60, "the child ended before it was killed"
        assert at_kill - 4 <= kept <= at_kill
        second = child(server.url, journal)
        said, _ = second.communicate(timeout=60)
        assert second.returncode == 0
        verdicts, calls, replayed = map(int, said.split())
        assert (verdicts, replayed, calls) == (60, kept, 60 - kept)
        assert server.count == at_kill + 60 - kept <= 60 + 4


def judged(
    said: list[str], path: Path, cases: Sequence[Case], samples: int
) -> tuple[list[Verdict], CallContext]:
    """Ask about cases one after the other; what is asked beyond the replies must be in the journal."""
    context = context_with(journal=Journal(path))
    judge = scripted(FECT, said, context=context, sampling=Sampling(samples=samples), concurrency=1)
    try:
        return judge.ask_all(cases), context
    finally:
        context.journal.close()


@pytest.mark.parametrize(
    ("cases", "samples", "said", "found"),
    [
        (CASES[:2], 3, "TFTFFT", [("TFT"), ("FFT")]),  # each sample as itself
        ([CASES[0]] * 2, 1, "TF", ["T", "F"]),  # the same question asked twice is two answers
        (CASES[:1], 1, "\ud800", ["T"]),  # half a surrogate pair
        (CASES[:1], 1, "-", [""]),  # an unusable reply
    ],
)
def test_what_was_answered_is_replayed_and_counted_but_not_as_calls(
    tmp_path: Path, cases: Sequence[Case], samples: int, said: str, found: list[str]
) -> None:
    texts = {
        "T": YES,
        "F": reply("chat", factual=False),
        "\ud800": f"[[ ## note ## ]]\n\ud800\n\n{YES}",
        "-": "prose",
    }
    labels = {"T": "factual", "F": "non_factual", "\ud800": "factual"}
    first, paid = judged([texts[one] for one in said], tmp_path / "j", cases, samples)
    again, replayed = judged([], tmp_path / "j", cases, samples)
    assert [verdict.samples for verdict in first] == [tuple((labels[one],) for one in row) for row in found]
    assert {verdict.status for verdict in (*first, *again)} == {"abstained" if said == "-" else "verdict"}
    assert [verdict.samples for verdict in again] == [verdict.samples for verdict in first]
    assert (replayed.meter.calls, replayed.meter.tokens) == (paid.meter.calls, paid.meter.tokens)
    spend = replayed.ledger.spend()
    assert (spend.calls, spend.replayed) == (0, len(said))


@pytest.mark.parametrize("text", ["garbage", '{"key": "k", "n": 1, "text": "a"}', "SQLite format 3\0damage"])
def test_a_damaged_journal_is_refused_and_left_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "j"
    path.write_text(text * 100)
    with pytest.raises(
        CheckpointError, match=r"j: cannot be used: .*; it is damaged: start again with fresh=True"
    ):
        Journal(path)
    assert path.read_text() == text * 100


def test_a_journal_that_cannot_be_written_ends_the_work(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    assert journal._data
    full = journal._data.first("PRAGMA page_count")
    journal._data.all(f"PRAGMA max_page_count = {full}")
    script = lambda request: reply("chat", factual=True) + " " * 9000  # noqa: E731
    inner = Scripted(script)
    judge = scripted(FECT, inner, context=context_with(journal=journal))
    with pytest.raises(CheckpointError, match=r"cannot be used: .* full; make room on the disk"):
        judge.ask_all(CASES)
    journal.close()  # says nothing more: it would hide that error
    assert len(Journal(tmp_path / "j")) < len(inner.requests)


answers = st.builds(
    StoredResponse,
    text=st.text(max_size=40),
    input_tokens=st.integers(0, 2**63 - 1),
    cost=st.none() | st.floats(0, 9),
    model=st.text(max_size=9),
    probabilities=st.just({})
    | st.builds(lambda name, share: {name: [{name: share}]}, st.text(), st.floats(0, 1)),
)


@settings(max_examples=15)
@given(st.lists(st.tuples(st.sampled_from("abc"), answers), max_size=12))
def test_a_journal_gives_back_what_it_was_given(tmp_path_factory: pytest.TempPathFactory, kept: list) -> None:  # type: ignore[type-arg]
    path = tmp_path_factory.mktemp("j") / "deep" / "j.jsonl"
    journal = Journal(path)
    for key, answer in kept:
        past = journal.look_up(key)
        assert past.answer is None
        journal.note_answer(journal.note_sending(key, past.occurrence), answer)
    journal.close()
    again = Journal(path)
    assert [again.look_up(key).answer for key, _ in kept] == [answer for _, answer in kept]
    assert again.look_up("a").answer is None


@pytest.mark.parametrize("most_recent", [0, 3, 100])
def test_occurrences_are_counted_alike_in_memory_and_in_a_file(
    most_recent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jurist.engines.journal._MOST_RECENT", most_recent)
    journal = Journal()
    counts = Counter[str]()
    for key in "abcdeabcaaefghiabcdefghaaz":
        counts[key] += 1
        assert journal.look_up(key).occurrence == counts[key]


def test_neither_key_nor_address_is_in_the_journal(tmp_path: Path, fake_key: str) -> None:
    path = tmp_path / "j"
    with Loopback() as server:
        context = context_with(journal=Journal(path))
        found = asker(server, context).ask_all(CASES[:3])
        assert server.hits[0].authorization == f"Bearer {fake_key}"
    assert [verdict.label for verdict in found] == [TRUTH[truth_of(f"claim {n}")] for n in range(3)]
    assert states(path) == ["answered"] * 3
    context.journal.close()
    for secret in (fake_key, "127.0.0.1", jurist.__name__):
        assert secret.encode() not in path.read_bytes()
