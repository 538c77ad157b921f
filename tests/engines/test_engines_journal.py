"""The journal: what was paid is never paid again, torn lines are dropped, damage is an error."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import dspy
import pytest
from fakes import Scripted, context_with, lm_of, reply
from hypothesis import given
from hypothesis import strategies as st
from loopback import Loopback, truth_of

import jurist
from jurist.engines.adapters import adapter
from jurist.engines.channel import CallContext
from jurist.engines.journal import Answer, Journal, Mark, Past, request_key
from jurist.engines.ledger import Ledger
from jurist.engines.meter import Amount, Meter
from jurist.engines.models import Model, connect
from jurist.errors import CheckpointError
from jurist.programs.asking import Asker
from jurist.programs.catalogue import find
from jurist.programs.fect import FECT
from jurist.programs.votes import Sampling

CASES = [FECT.case({"conversation": f"Agent: hello {n}", "claim": f"claim {n}"}) for n in range(60)]
TRUTH = {True: "factual", False: "non_factual"}

SCRIPT = """
import sys
from pathlib import Path
from jurist.engines.channel import CallContext
from jurist.engines.journal import Journal
from jurist.engines.ledger import Ledger
from jurist.engines.meter import Meter, Amount
from jurist.engines.models import Model, connect
from jurist.programs.asking import Asker
from jurist.programs.catalogue import find

judge = find("fect")
cases = [judge.case({"conversation": f"Agent: hello {n}", "claim": f"claim {n}"}) for n in range(60)]
context = CallContext(ledger=Ledger(), meter=Meter(), journal=Journal(Path(sys.argv[2])))
lm = connect(Model(name="openai/gpt-4.1-mini", api_base=sys.argv[1]), context)
found = Asker(judge=judge, program=judge.basic(), lm=lm, concurrency=4).ask_all(cases)
spend = context.ledger.spend()
print(sum(verdict.status == "verdict" for verdict in found), spend.calls, spend.replayed)
"""


def child(url: str, journal: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, url, str(journal)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=journal.parent, env=dict(os.environ)
    )


def test_a_killed_job_goes_on_without_paying_twice(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    with Loopback(delay=0.02) as server:
        first = child(server.url, journal)
        while server.count < 25 and first.poll() is None:
            time.sleep(0.005)
        first.send_signal(signal.SIGKILL)
        first.wait()
        at_kill, kept = server.count, len(Journal(journal))
        assert 25 <= at_kill < 60, "the child ended before it was killed"
        assert at_kill - 4 <= kept <= at_kill
        second = child(server.url, journal)
        said, _ = second.communicate(timeout=60)
        assert second.returncode == 0
        verdicts, calls, replayed = map(int, said.split())
        assert (verdicts, replayed, calls) == (60, kept, 60 - kept)
        assert server.count == at_kill + 60 - kept <= 60 + 4
        # The third time all is known.
        third, _ = child(server.url, journal).communicate(timeout=60)
        assert third.split() == ["60", "0", "60"]
        assert server.count <= 64


def test_samples_are_replayed_each_as_itself(tmp_path: Path) -> None:
    path, said = tmp_path / "j.jsonl", iter([True, False, True, False, False, True])
    inner = Scripted(lambda request: reply("chat", factual=next(said)))

    def ask(engine: Scripted) -> list[tuple[object, ...]]:
        context = context_with(journal=Journal(path))
        judge = Asker(
            judge=FECT,
            program=FECT.basic(),
            lm=lm_of(engine, context),
            sampling=Sampling(samples=3),
            concurrency=1,
        )
        return [verdict.samples for verdict in judge.ask_all(CASES[:2])]

    first = ask(inner)
    assert first == [
        (("factual",), ("non_factual",), ("factual",)),
        (("non_factual",), ("non_factual",), ("factual",)),
    ]
    assert ask(Scripted([])) == first


def test_the_same_question_asked_twice_is_two_answers(tmp_path: Path) -> None:
    twice = [CASES[0], CASES[0]]
    inner = Scripted([reply("chat", factual=True), reply("chat", factual=False)])
    for engine in (inner, Scripted([])):
        context = context_with(journal=Journal(tmp_path / "j"))
        judge = Asker(judge=FECT, program=FECT.basic(), lm=lm_of(engine, context), concurrency=1)
        assert [verdict.label for verdict in judge.ask_all(twice)] == ["factual", "non_factual"]


@pytest.mark.parametrize("keep", [0, 1, 5, 30])
def test_a_torn_last_line_is_dropped(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "j.jsonl"
    journal = Journal(path)
    for n in range(3):
        journal.keep("k", n + 1, Answer(text=f"é{n}"))
    journal.close()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:keep])
    again = Journal(path)
    assert len(again) == 2
    assert [again.ask("k")[1] is None for _ in range(3)] == [False, False, True]
    again.keep("k", 3, Answer(text="new"))
    again.close()
    assert len(Journal(path)) == 3


@pytest.mark.parametrize(
    "line",
    [
        "garbage",
        "5",
        '"text"',
        "null",
        "[]",
        "{}",
        '{"key": "k", "n": 1}',
        '{"key": "k", "n": 1, "text": null}',
        '{"key": "k", "n": 1, "text": "a", "other": 1}',
        '{"key": "k", "n": 1, "text": "a", "input_tokens": "7"}',
        '{"key": ["k"], "n": 1, "text": "a"}',
        "",
        "\udcff",
    ],
)
def test_a_damaged_journal_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "j.jsonl"
    good = json.dumps({"key": "k", "n": 1, **Answer(text="a").to_json()})
    path.write_bytes((good + "\n").encode() + line.encode("utf-8", "surrogateescape") + b"\n")
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=r"j\.jsonl:2: not a journal line"):
        Journal(path)
    assert path.read_bytes() == before


def test_a_journal_that_cannot_be_written_ends_the_work(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full here")
    journal = Journal(tmp_path / "j")
    journal.close()
    journal._file = full.open("ab")
    judge = Asker(
        judge=FECT,
        program=FECT.basic(),
        lm=lm_of(Scripted([reply("chat", factual=True)]), context_with(journal=journal)),
    )
    with pytest.raises(CheckpointError, match="cannot be written"):
        judge.ask(CASES[0])
    journal.close()  # says nothing more: it would hide that error


def test_a_torn_line_is_cut_off_on_a_full_disk_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "j")
    journal.keep("a", 1, Answer(text="paid"))
    journal.close()
    with (tmp_path / "j").open("a") as file:
        file.write('{"key": "b", "te')

    def full(self: Path, data: bytes) -> int:
        self.open("wb").close()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert Journal(tmp_path / "j").ask("a") == (1, Answer(text="paid"))
    assert len((tmp_path / "j").read_bytes().splitlines()) == 1


def test_half_a_surrogate_pair_in_a_reply_can_be_kept(tmp_path: Path) -> None:
    said = "\ud800\n\n" + reply("chat", factual=True)
    for engine in (Scripted([said]), Scripted([])):
        context = context_with(journal=Journal(tmp_path / "j"))
        verdict = Asker(judge=FECT, program=FECT.basic(), lm=lm_of(engine, context)).ask(CASES[0])
        assert verdict.label == "factual"


def test_an_unusable_reply_is_replayed_as_such(tmp_path: Path) -> None:
    for engine in (Scripted(["prose"]), Scripted([])):
        context = context_with(journal=Journal(tmp_path / "j"))
        verdict = Asker(judge=FECT, program=FECT.basic(), lm=lm_of(engine, context)).ask(CASES[0])
        assert verdict.status == "abstained"


def test_replayed_answers_count_against_the_budget_but_not_as_calls(tmp_path: Path) -> None:
    for number in (1, 2):
        engine = Scripted([reply("chat", factual=True)] * 5) if number == 1 else Scripted([])
        context = context_with(journal=Journal(tmp_path / "j"))
        Asker(judge=FECT, program=FECT.basic(), lm=lm_of(engine, context)).ask_all(CASES[:5])
    assert context.meter.calls == 5
    assert context.meter.tokens == 60
    assert (context.ledger.spend().calls, context.ledger.spend().replayed) == (0, 5)


answers = st.builds(
    Answer, text=st.text(), input_tokens=st.integers(0), cost=st.none() | st.floats(0, 9), model=st.text()
)


@given(st.lists(st.tuples(st.sampled_from("abc"), answers), max_size=12))
def test_a_journal_gives_back_what_it_was_given(tmp_path_factory: pytest.TempPathFactory, kept: list) -> None:  # type: ignore[type-arg]
    path = tmp_path_factory.mktemp("j") / "deep" / "j.jsonl"
    journal = Journal(path)
    for key, answer in kept:
        occurrence, known = journal.ask(key)
        assert known is None
        journal.keep(key, occurrence, answer)
    journal.close()
    again = Journal(path)
    assert [again.ask(key)[1] for key, _ in kept] == [answer for _, answer in kept]
    assert again.ask("a")[1] is None


def test_a_request_is_known_by_all_that_is_sent() -> None:
    base = {"model": "m", "system": "s", "messages": [["user", "u"]], "seed": 0}
    assert request_key(base) == request_key(dict(reversed(base.items())))
    assert len({request_key({**base, name: "other"}) for name in base} | {request_key(base)}) == 5


def test_without_a_path_nothing_is_kept() -> None:
    journal = Journal()
    journal.keep("k", 1, Answer(text="a"))
    assert (len(journal), journal.ask("k")) == (0, (1, None))


def test_neither_key_nor_address_is_in_the_journal(tmp_path: Path, fake_key: str) -> None:
    path = tmp_path / "j"
    with Loopback() as server:
        lm = connect(
            Model(name="openai/gpt-4.1-mini", api_base=server.url), context_with(journal=Journal(path))
        )
        found = Asker(judge=FECT, program=FECT.basic(), lm=lm).ask_all(CASES[:3])
        assert server.hits[0].authorization == f"Bearer {fake_key}"
    assert [verdict.label for verdict in found] == [TRUTH[truth_of(f"claim {n}")] for n in range(3)]
    text = path.read_text()
    assert len(text.splitlines()) == 6  # each is sent, and answered
    assert fake_key not in text
    assert "127.0.0.1" not in text
    assert jurist.__name__ not in text


def test_equal_requests_are_other_draws_and_replay_as_such(tmp_path: Path) -> None:
    """DSPy's ``n`` sends equal requests one after the other: they are draws, not copies."""

    def texts() -> list[str]:
        context = CallContext(ledger=Ledger(), meter=Meter(), journal=Journal(tmp_path / "journal.jsonl"))
        lm = connect(Model(temperature=2.0), context)
        judge = find("fect")
        values = judge.values(
            {
                "conversation": "Agent: Hello.\nCustomer: My bill is too high.",
                "claim": "The customer likes the bill.",
            }
        )
        with dspy.context(lm=lm, adapter=adapter("chat")):
            many = dspy.Predict(judge.signature, n=24)(**values)
        context.journal.close()
        return [str(value) for value in many.completions.factual]

    first = texts()
    assert len(first) == 24
    assert len(set(first)) == 2
    assert texts() == first


def test_the_journals_of_earlier_versions_are_read(tmp_path: Path) -> None:
    row = {"key": "k", "n": 1, "text": "a", "input_tokens": 3, "output_tokens": 4, "cost": 0.5}
    (tmp_path / "j").write_text(json.dumps(row) + "\n")
    journal = Journal(tmp_path / "j")
    assert (journal.past("k", 1), len(journal)) == (Past(), 1)
    assert context_with(journal=journal).meter._outstanding() == Amount(calls=1, tokens=7, cost=0.5)


@pytest.mark.parametrize(
    "more",
    [{"failed": "never"}, {"failed": "over", "error": 5}, {"phase": "x"}, {"size": None}]
    + [{"sent": False}, {"sent": True, "text": "a"}],
)
def test_a_damaged_line_of_a_failed_attempt_is_refused(tmp_path: Path, more: dict[str, object]) -> None:
    text = {} if "failed" in more or "sent" in more else {"text": "a"}
    (tmp_path / "j").write_text(json.dumps({"key": "k", "n": 1, **text, **more}) + "\n")
    with pytest.raises(CheckpointError, match="1: not a journal line"):
        Journal(tmp_path / "j")


def test_a_torn_line_of_a_failed_attempt_is_dropped(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.keep_failed("k", 1, "again", Mark(phase=2))
    journal.keep_failed("k", 1, "again", Mark(phase=2))
    journal.close()
    text = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(text[:-5])
    again = Journal(tmp_path / "j")
    assert (again.past("k", 1), len(again)) == (Past(mark=Mark(phase=2), retried=1), 0)
    again.keep("k", 1, Answer(text="a"))
    again.close()
    assert Journal(tmp_path / "j").past("k", 1).retried == 1
