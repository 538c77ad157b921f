"""How a run ended: what it adds up as its rows come."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import plural
from ..evaluation.drift import Drift
from ..programs.judge import Judge
from ..programs.verdicts import PEOPLE, Verdict
from .lines import values_said
from .state import Known

_SUMMED = ("inconsistent", "drawn", "saved", "identical", "reasked", "extra", "duplicated")
_COUNTS = (
    *("rows", "resumed", "beside", "rejected", "empty", "equal", "abstained_before"),
    *("saved_calls", "votes", "several", *_SUMMED),
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Summary:
    """How a run ended. The counts from ``verdicts`` to ``duplicated`` are of the rows judged now."""

    rows: int  # rows of the input; where it was not read to its end, those that were read
    resumed: int = 0  # rows that an earlier run had done
    unread: bool = False  # whether it was not
    beside: int = 0  # rows of the input that hold nothing for the judge
    rejected: int = 0  # rows of the input that cannot be used
    empty: int = 0  # rows in which an input of text is empty; they are judged as they stand
    rejects: str = ""  # the file that has them, with the reasons; empty if there is none
    # columns of the rows that CSV or Parquet do not have, because they came after its first row
    left_out: tuple[str, ...] = ()
    equal: int = 0  # rows that were answered by an equal one
    abstained_before: int = 0  # those of them that abstained
    verdicts: Mapping[str, int]  # rows by status
    # sums over the rows' answers, as their kind adds them up
    answers: Mapping[str, float] = field(default_factory=dict)
    # what these come to, as JSON values: of closed labels, ``positive`` rows
    totals: Mapping[str, Any] = field(default_factory=dict)
    total_words: tuple[str, ...] = ()  # the same for people
    inconsistent: int = 0  # samples whose answer contradicted itself, whatever was made of them
    drawn: int = 0  # samples that were asked
    saved: int = 0  # samples that were not, because no outcome of their row could change any more
    saved_calls: int = 0  # the calls they would have taken, at most
    votes: int = 0  # votes cast, over all units
    agreeing: tuple[int, float] = (0, 0.0)  # units with a label, and the sum of their agreement
    several: int = 0  # rows with two samples or more
    identical: int = 0  # those of them whose replies were all the same text
    reasked: int = 0  # samples in which missing units were asked for again
    extra: int = 0  # answers for something that was not asked
    duplicated: int = 0  # units that a reply gave two different labels
    by: Mapping[str, int] = field(
        default_factory=dict
    )  # rows that each judge of a cascade answered, and people
    # which limit, signal or failure of the model ended the run, in words; empty if all rows were judged
    stopped: str = ""
    signal: int | None = None  # the number of that signal
    drift: Drift | None = None  # what the canary found; ``None`` without one
    # calls, tokens and cost of this start; answers paid by an earlier one count as ``replayed``
    spend: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Say how many rows there were, and what became of them."""
        parts = [
            plural(count, status) if status == "verdict" else f"{count} {status}"
            for status, count in self.verdicts.items()
        ]
        parts += [f"{self.resumed} done before"] * bool(self.resumed)
        parts += [f"{self.rejected} rejected"] * bool(self.rejected)
        return f"<Summary of {plural(self.rows, 'row')}: {', '.join(parts)}>"

    @property
    def left(self) -> int:
        """Rows that a limit left to be judged."""
        return self.rows - self.resumed - sum(self.verdicts.values())

    @property
    def unusable(self) -> float:
        """The share of the rows that failed, abstained or were rejected, of those that were judged or rejected, 0 to 1.

        What a cascade leaves to people is not among them.
        Rows of earlier runs count, so that repeating a bad run with nothing left to do does not make it good.
        """
        judged = sum(self.verdicts.values())
        bad = (
            judged
            - self.verdicts.get("verdict", 0)
            - self.by.get(PEOPLE, 0)
            + self.abstained_before
            + self.rejected
        )
        every = judged + self.resumed + self.rejected
        return bad / every if every else 0.0

    @property
    def agreement(self) -> float | None:
        """The mean over units of the share of votes that went to the label; ``None`` without a label."""
        units, total = self.agreeing
        return total / units if units else None

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {
            **{name: getattr(self, name) for name in (*_COUNTS, "agreement", "stopped", "left")},
            **{status: self.verdicts.get(status, 0) for status in ("verdict", "abstained", "failed")},
            **({"by": dict(self.by)} if self.by else {}),
            **self.totals,
            **({"canary": self.drift.to_json()} if self.drift else {}),
        }

    @property
    def lines(self) -> tuple[str, ...]:
        """What there is to say about samples and incomplete replies, for people."""
        found = []
        if self.by:
            answered = ", ".join(f"{name} {rows}" for name, rows in self.by.items() if name != PEOPLE)
            found.append(f"answered by {answered or 'nobody'}; left to people: {self.by.get(PEOPLE, 0)}")
        if self.empty:
            found.append(f"rows in which an input is empty, judged as they stand: {self.empty}")
        if self.equal:
            found.append(f"{self.equal} rows answered by an equal one")
        if self.several and self.agreement is not None:
            found.append(f"{self.drawn} samples, mean agreement {self.agreement:.3f} of the votes cast")
        if self.saved:
            found.append(
                f"{self.saved} samples not drawn, as nothing could change ({self.saved_calls} calls)"
            )
        if self.identical:
            found.append(
                f"{self.identical} of {self.several} rows with several samples got the same text each time: a short "
                "answer may recur, but if the provider does not really sample, these votes are one vote"
            )
        if self.inconsistent:
            found.append(f"{self.inconsistent} answers contradicted themselves")
        if self.reasked:
            found.append(
                f"{self.reasked} replies left units out or labelled them twice; those were asked again"
            )
        if self.extra:
            found.append(f"{self.extra} labels were for nothing that was asked")
        if self.left_out:
            found.append(f"columns that came after the first row are left out: {', '.join(self.left_out)}")
        return tuple(found)


class Counts:
    """What a run adds up as its rows come."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._status, self._answers = Counter[str](), Counter[str]()
        self._sums: Counter[str] = Counter()  # by the names of a summary
        self._agreements = (0, 0.0)
        self._by = Counter[str]()

    def add(self, verdict: Verdict) -> None:
        """Count a row that was asked about."""
        self._status[verdict.status] += 1
        self._by.update(filter(None, [verdict.by]))
        self._sums.update({name: int(getattr(verdict, name)) for name in _SUMMED})
        self._sums["saved_calls"] += verdict.saved * self._judge.calls
        self._sums["several"] += verdict.drawn > 1
        self._sums["votes"] += sum(sum(votes.values()) for votes in verdict.votes)
        self._answers.update(self._judge.answer.scale.tally(verdict.values, verdict.counts))
        shares = [share for share in verdict.agreement if share is not None]
        self._agreements = (self._agreements[0] + len(shares), self._agreements[1] + sum(shares))

    def add_known(self, known: Known) -> None:
        """Count a row that was answered by an equal one, or in an earlier start."""
        if not known.new:
            self._sums["resumed"] += 1
            self._sums["abstained_before"] += known.status == "abstained" and known.said.get("by") != PEOPLE
            return
        self._sums["equal"] += 1
        self._by.update(filter(None, [known.said.get("by")]))
        self._status[known.status] += 1
        self._answers.update(
            self._judge.answer.scale.tally(values_said(self._judge, known.said), known.said["counts"])
        )

    @property
    def answered(self) -> int:
        """Rows about which the model said something."""
        return self._status.total() - self._status["failed"]

    @property
    def abstained(self) -> int:
        """Rows of which no reply could be used."""
        return self._status["abstained"]

    def summary(self, rows: int) -> Summary:
        """Return what there is so far, of so many rows."""
        sums: dict[str, Any] = {"rows": rows, **self._sums}
        told = _told(self._judge, self._answers)
        return Summary(
            verdicts=dict(self._status), agreeing=self._agreements, by=dict(self._by), **told, **sums
        )


def merged(judge: Judge, shards: Sequence[Summary]) -> Summary:
    """Return how a run ended whose shards ended so."""
    counts: dict[str, Any] = {name: sum(getattr(one, name) for one in shards) for name in _COUNTS}
    stops = [one for one in shards if one.stopped]
    return Summary(
        unread=any(one.unread for one in shards),
        rejects="".join(one.rejects for one in shards),  # the first has them all
        left_out=(),
        verdicts=_sum(one.verdicts for one in shards),
        by=_sum(one.by for one in shards),
        agreeing=(sum(one.agreeing[0] for one in shards), sum(one.agreeing[1] for one in shards)),
        stopped=stops[0].stopped if stops else "",
        signal=stops[0].signal if stops else None,
        spend={name: round(value, 6) for name, value in _sum(one.spend for one in shards).items()},
        **_told(judge, _sum(one.answers for one in shards)),
        **counts,
    )


def _told(judge: Judge, answers: Mapping[str, Any]) -> dict[str, Any]:
    totals, words = judge.answer.scale.totals(answers), judge.answer.scale.total_words(answers)
    return {"answers": dict(answers), "totals": totals, "total_words": words}


def _sum(counts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(total)
