"""The summary of a run: the counts that it adds up as its rows come."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoppedError, plural
from ..programs.judge import Judge
from ..programs.verdicts import CUT_OFF, PEOPLE, REFUSED_ROW, UNREADABLE, Verdict
from .lines import JsonObject, unit_values
from .outputs import left_out_of

if TYPE_CHECKING:
    from .canary import Drift

_SUMMED = ("inconsistent", "drawn", "saved", "identical", "redrawn", "reasked", "extra", "duplicated")
"""Counts that are sums over the verdicts of rows judged now."""
_COUNTS = (
    "rows",
    "resumed",
    "beside",
    "rejected",
    "empty",
    "equal",
    "abstained_before",
    "saved_calls",
    "votes",
    "several",
    *_SUMMED,
)


@dataclass(kw_only=True, repr=False)
class Summary:
    """The progress of a run. The counts from ``verdicts`` to ``duplicated`` are of the rows judged now."""

    rows: int = 0  # rows of the input; where it was not read to its end, those that were read
    unread: bool = False  # whether it was not
    resumed: int = 0  # rows that an earlier run had done
    abstained_before: int = 0  # those of them that abstained
    # rows without a verdict by the reason for it: those judged now, and those that an earlier run had done
    error_kinds: Counter[str] = field(default_factory=Counter)
    error_kinds_before: Counter[str] = field(default_factory=Counter)
    beside: int = 0  # rows of the input that hold nothing for the judge
    rejected: int = 0  # rows of the input that cannot be used
    empty: int = 0  # rows in which an input of text is empty; they are judged as they stand
    rejects: str = ""  # the file that has those that cannot be used, with the reasons; empty if there is none
    left_out: int = 0  # lines of an earlier start on rows that the input lacks
    left_out_file: str = ""  # the file that has them; empty if there is none
    equal: int = 0  # rows that were answered by an equal one
    verdicts: Counter[str] = field(default_factory=Counter)  # rows by status
    # sums over the rows' answers, as their kind adds them up
    answers: Counter[str] = field(default_factory=Counter)
    # rows that each judge of a cascade answered, and people
    by: Counter[str] = field(default_factory=Counter)
    # of a panel, the rows that each model answered, of those that were asked about
    members: Counter[str] = field(default_factory=Counter)
    inconsistent: int = 0  # samples whose answer contradicted itself, whatever was made of them
    drawn: int = 0  # samples that were asked
    saved: int = 0  # samples that were not, because no outcome of their row could change any more
    saved_calls: int = 0  # the calls they would have taken, at most
    votes: int = 0  # votes cast, over all units
    agreeing: int = 0  # units with a label
    agreed: float = 0.0  # the sum over them of the share of the votes that went to it
    several: int = 0  # rows with two samples or more
    identical: int = 0  # those of them whose replies were all the same text
    redrawn: int = 0  # samples that were drawn once more, as a reply could not be read
    reasked: int = 0  # samples in which missing units were asked for again
    extra: int = 0  # answers for something that was not asked
    duplicated: int = 0  # units that a reply gave two different labels
    # which limit, signal or failure of the model ended the run, in words; empty if all rows were judged
    stopped: str = ""
    hint: str = ""  # what to do before the other rows can be judged, as an imperative clause
    signal: int | None = None  # the number of that signal
    drift: "Drift | None" = None  # what the canary found; ``None`` without one
    # calls, tokens and cost of this start; answers paid by an earlier one count as ``replayed``
    spend: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0  # waited for the answers of this start, their times added up
    # what ``answers`` come to: of labels ``positive`` rows
    totals: Mapping[str, Any] = field(default_factory=dict)
    total_words: tuple[str, ...] = ()  # the same for people

    def __repr__(self) -> str:
        """Say how many rows there were, and what became of them."""
        parts = []
        for status, count in self.verdicts.items():
            parts.append(plural(count, status) if status == "verdict" else f"{count} {status}")
        if self.resumed:
            parts.append(f"{self.resumed} done before")
        if self.rejected:
            parts.append(f"{self.rejected} rejected")
        if self.left_out:
            parts.append(f"{self.left_out} of rows that the input lacks are kept in {self.left_out_file}")
        return f"<Summary of {plural(self.rows, 'row')}: {', '.join(parts)}>"

    def with_left_out(self, count: int, output: Path) -> "Summary":
        """Return a copy with the number of earlier lines on rows that the input lacks, beside an output."""
        if not count:
            return self
        return replace(self, left_out=count, left_out_file=str(left_out_of(output)))

    def add(self, judge: Judge, verdict: Verdict) -> None:
        """Count a row that was asked about."""
        self.verdicts[verdict.status] += 1
        if verdict.by:
            self.by[verdict.by] += 1
        for name, member_values in verdict.members.items():
            self.members[name] += member_values is not None
        if verdict.error_kind:
            self.error_kinds[verdict.error_kind] += 1
        self.seconds += verdict.usage.seconds
        for name in _SUMMED:
            setattr(self, name, getattr(self, name) + int(getattr(verdict, name)))
        self.saved_calls += verdict.saved * judge.calls
        self.several += verdict.drawn > 1
        for votes in verdict.votes:
            self.votes += sum(votes.values())
        self.answers.update(judge.answer.scale.tally(verdict.values, verdict.counts))
        shares = [share for share in verdict.agreement if share is not None]
        self.agreeing += len(shares)
        self.agreed += sum(shares)

    def add_resumed(self, written: JsonObject) -> None:
        """Count a row that was answered in an earlier start, by its written verdict."""
        self.resumed += 1
        if written["status"] == "abstained" and written.get("by") != PEOPLE:
            self.abstained_before += 1
        error_kind = written.get("error_kind")  # earlier releases wrote none
        if error_kind:
            self.error_kinds_before[error_kind] += 1

    def add_equal(self, judge: Judge, written: JsonObject) -> None:
        """Count a row that was answered by an equal one, whose written verdict it is."""
        self.equal += 1
        self.verdicts[written["status"]] += 1
        if written.get("by"):
            self.by[written["by"]] += 1
        if written["error_kind"]:
            self.error_kinds[written["error_kind"]] += 1
        values = unit_values(judge, written)
        self.answers.update(judge.answer.scale.tally(values, written["counts"]))

    def end(self, judge: Judge) -> None:
        """Say what the answers come to."""
        scale = judge.answer.scale
        self.totals = scale.totals(self.answers)
        self.total_words = scale.total_words(self.answers)

    @classmethod
    def of_shards(cls, judge: Judge, shards: Sequence["Summary"]) -> "Summary":
        """Return how a run ended whose shards ended so."""
        joint = cls()
        spend: Counter[str] = Counter()
        for shard in shards:
            joint._add_shard(shard)
            spend.update(shard.spend)
        joint.spend = {name: round(value, 6) for name, value in spend.items()}
        joint.end(judge)
        return joint

    def _add_shard(self, shard: "Summary") -> None:
        """Add up the counts of a shard, but for its spend; the first shard that was stopped says why."""
        for name in (*_COUNTS, "agreeing", "agreed", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(shard, name))
        # Added up by +, sums below 0 would be left out.
        self.verdicts.update(shard.verdicts)
        self.answers.update(shard.answers)
        self.by.update(shard.by)
        self.members.update(shard.members)
        self.error_kinds.update(shard.error_kinds)
        self.error_kinds_before.update(shard.error_kinds_before)
        self.unread = self.unread or shard.unread
        self.rejects = self.rejects or shard.rejects
        if not self.stopped:
            self.stopped = shard.stopped
            self.hint = shard.hint
        self.signal = self.signal or shard.signal

    @property
    def answered(self) -> int:
        """Rows judged now about which the model said something."""
        return self.verdicts.total() - self.verdicts["failed"]

    @property
    def unread_replies(self) -> int:
        """Rows judged now whose replies could not be read."""
        return self.error_kinds[UNREADABLE] + self.error_kinds[CUT_OFF]

    @property
    def refused(self) -> int:
        """Rows judged now that the endpoint refused for what they are."""
        return sum(self.error_kinds[kind] for kind in REFUSED_ROW)

    @property
    def stop_words(self) -> str:
        """Why the run ended before all rows were judged, and what to do before they can be; empty if all were."""
        return str(StoppedError(self.stopped, hint=self.hint))

    @property
    def left(self) -> int:
        """Rows that a limit left to be judged."""
        return self.rows - self.resumed - self.verdicts.total()

    @property
    def unusable(self) -> float:
        """The share of rows that failed, abstained or were rejected, of those judged or rejected, 0 to 1."""
        # What a cascade leaves to people is not among them. Rows of earlier runs count, so that repeating a bad run
        # with nothing left to do does not make it good.
        judged = self.verdicts.total()
        rows = judged + self.resumed + self.rejected
        if not rows:
            return 0.0
        without_verdict = judged - self.verdicts["verdict"] - self.by[PEOPLE]
        return (without_verdict + self.abstained_before + self.rejected) / rows

    @property
    def agreement(self) -> float | None:
        """The mean over units of the share of votes that went to the label; ``None`` without a label."""
        if not self.agreeing:
            return None
        return self.agreed / self.agreeing

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        data: dict[str, Any] = {}
        for name in (*_COUNTS, "agreement", "stopped", "hint", "left"):
            data[name] = getattr(self, name)
        for status in ("verdict", "abstained", "failed"):
            data[status] = self.verdicts[status]
        data["error_kinds"] = dict(self.error_kinds)
        data["error_kinds_before"] = dict(self.error_kinds_before)
        if self.left_out:
            data["left_out"] = self.left_out
            data["left_out_file"] = self.left_out_file
        if self.by:
            data["by"] = dict(self.by)
        if self.members:
            data["panel"] = dict(self.members)
        data |= self.totals
        data["seconds_per_row"] = self.seconds_per_row
        if self.drift:
            data["canary"] = self.drift.to_json()
        return data

    @property
    def seconds_per_row(self) -> float | None:
        """The seconds that the answers for a row took that was asked about now; ``None`` without one."""
        asked_rows = self.verdicts.total() - self.equal
        if not (asked_rows and self.seconds):
            return None
        return round(self.seconds / asked_rows, 3)

    @property
    def lines(self) -> tuple[str, ...]:
        """Lines for people about rows, samples and incomplete replies."""
        lines = []
        if self.beside:
            lines.append(f"rows of the input that hold nothing for this judge: {self.beside}")
        if self.rejected:
            place = "--rejects F writes them to a file"
            if self.rejects:
                place = f"see {self.rejects}"
            lines.append(f"rows of the input that cannot be used: {self.rejected} ({place})")
        if self.left_out:
            lines.append(
                f"earlier verdicts on rows that the input lacks: {self.left_out} (see {self.left_out_file})"
            )
        if self.by:
            lines.append(self._cascade_line())
        if self.members:
            lines.append(self._panel_line())
        if self.empty:
            lines.append(f"rows in which an input is empty, judged as they stand: {self.empty}")
        if self.equal:
            lines.append(f"{plural(self.equal, 'row')} answered by an equal one")
        if self.several and self.agreement is not None:
            lines.append(f"{self.drawn} samples, mean agreement {self.agreement:.3f} of the votes cast")
        if self.saved:
            lines.append(
                f"{self.saved} samples not drawn, as nothing could change ({self.saved_calls} calls)"
            )
        if self.identical:
            lines.append(
                f"{self.identical} of {self.several} rows with several samples got the same text each time: a short "
                "answer may recur, but if the provider does not really sample, these votes are one vote"
            )
        if self.inconsistent:
            lines.append(f"{self.inconsistent} answers contradicted themselves")
        if self.redrawn:
            lines.append(f"{self.redrawn} replies could not be read and were drawn once more")
        if self.reasked:
            lines.append(
                f"{self.reasked} replies left units out or labelled them twice; those were asked again"
            )
        if self.extra:
            lines.append(f"{self.extra} labels were for nothing that was asked")
        return tuple(lines)

    def _panel_line(self) -> str:
        """Return how many of the rows that were asked about each model of a panel answered."""
        members = [f"{name} {rows}" for name, rows in self.members.items()]
        return f"of {self.verdicts.total() - self.equal} rows asked about answered: {', '.join(members)}"

    def _cascade_line(self) -> str:
        """Return how many rows each judge of a cascade answered, and how many are left to people."""
        judges = []
        for judge, rows in self.by.items():
            if judge != PEOPLE:
                judges.append(f"{judge} {rows}")
        return f"answered by {', '.join(judges) or 'nobody'}; left to people: {self.by[PEOPLE]}"
