"""From documents to items: those that pass into one JSONL file, the others with their reasons into another."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.ledger import Purpose
from ..engines.meter import Budget
from ..errors import CheckpointError, UsageError, plural
from ..evaluation.checked_items import items_of
from ..evaluation.plain import plain_parts
from ..gold.writing import check_files, json_text
from ..keeping.loading import LoadedJudge
from ..keeping.paying import Start, checkpoint_folder
from ..programs.asking import Asker
from ..programs.generator import Generator, generator_of
from ..programs.verdicts import Verdict
from .estimate import Ask, Estimate, Size, Span, some, tried
from .surface import Surface

_BATCH = 1024


@dataclass(frozen=True, kw_only=True)
class Generation:
    """A generation: the documents, the generator and its models."""

    loaded: LoadedJudge  # the generator with its models; its samples are the attempts at one document
    cases: tuple[Case, ...]  # the documents, in the order in which their items are written
    budget: Budget = field(default_factory=Budget)  # hard limits of the whole job
    # what else makes it the same job when it is started again, as JSON values
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what writes nothing, and ids that would meet."""
        groups = Counter((case.group, case.id) for case in self.cases)
        twice = next((name for (name, _), count in groups.items() if count > 1), None)
        if twice is not None:
            raise UsageError(f"the document {twice!r} is there twice", hint="give every document once")

    @property
    def generator(self) -> Generator:
        """The generator."""
        return generator_of(self.loaded.judge)

    @property
    def roles(self) -> tuple[Purpose, ...]:
        """Who has a journal: who writes, and who verifies where the program asks a model for that."""
        return ("generator", "judge") if self.generator.frozen else ("generator",)

    def fingerprint(self) -> dict[str, Any]:
        """Return the settings that identify this job when it is started again, as JSON values."""
        texts = "\n".join(f"{case.group} {case.id}" for case in self.cases)
        return {
            "generate": self.loaded.fingerprint(),
            **self.settings,
            "documents": hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest(),
        }

    @property
    def rows(self) -> int:
        """How many documents there are."""
        return len(self.cases)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes for the user before the first call."""
        return (self.loaded.note,)

    def foresee(self) -> Estimate:
        """Estimate it without sending, by offline items."""
        context = CallContext.fresh()
        tried(self.loaded.asker(), some(self.cases), context)
        generator, samples = self.generator, self.loaded.sampling.samples
        verifying = (generator.verifier_calls, generator.verifier_calls)
        each = {
            "generator": [generator.writer_calls(case) for case in self.cases],
            "judge": [verifying] * len(self.cases),
        }
        roles: tuple[Purpose, ...] = ("generator", "judge")
        asks = tuple(
            Ask(
                role=role,
                models=(model,),
                calls=Span(sum(low for low, _ in each[role]), samples * sum(most for _, most in each[role])),
                size=Size.of(context.ledger.spend(role)),
                who=f"of the {role} ({model.name})",
            )
            for role, model in zip(roles, self.loaded.models, strict=False)
            if role in self.roles
        )
        return Estimate(what=plural(len(self.cases), "document"), asks=asks, budget=self.budget)

    def row_stamp(self) -> dict[str, Any]:
        """Return the part of every row that identifies the job."""
        loaded = self.loaded
        return {
            "generator": loaded.name,
            "artifact": loaded.artifact.sha256 if loaded.artifact else None,
            "model": loaded.model.name,
            "temperature": loaded.model.temperature,
            "job": job_id(self.fingerprint()),
        }


@dataclass(frozen=True, kw_only=True)
class Generated:
    """How a generation ended."""

    documents: int = 0  # how many there were
    # documents by how asking ended: ``verdict`` (written and checked), ``abstained``, ``failed``
    statuses: Mapping[str, int] = field(default_factory=dict)
    # items, how many passed, how many are uncertain, and the rate of each check
    totals: Mapping[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] = ()  # the same for people
    # calls, tokens and cost, by purpose; answers paid by an earlier start count as ``replayed``
    spend: Mapping[str, Any] = field(default_factory=dict)
    before: bool = False  # the output was there already, and nothing was asked

    @property
    def kept(self) -> int:
        """Items that passed."""
        return int(self.totals.get("passed", 0))

    @property
    def rejected(self) -> int:
        """Items that did not pass, and documents of which no usable item was written."""
        return int(self.totals.get("items", 0)) - self.kept + self.statuses.get("abstained", 0)

    @property
    def failed(self) -> int:
        """Documents on which the machinery failed."""
        return self.statuses.get("failed", 0)

    @property
    def unusable(self) -> float:
        """The share of what was rejected or failed, 0 to 1."""
        total = self.kept + self.rejected + self.failed
        return (self.rejected + self.failed) / total if total else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain JSON types."""
        return {
            **plain_parts(self, "documents", "kept", "rejected", "failed"),
            **({"uncertain": self.totals["uncertain_items"]} if self.totals else {}),
            **({"check_rates": self.totals["check_rates"]} if self.totals else {}),
            "done_before": self.before,
            "spend": dict(self.spend),
        }


def job_id(fingerprint: Mapping[str, Any]) -> str:
    """Return 16 hex digits for a job."""
    text = json.dumps(fingerprint, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def rejects_path(output: Path) -> Path:
    """Return where the rejected items of an output file go: ``F.rejects.jsonl`` for ``F.jsonl``."""
    return output.with_name(f"{output.stem}.rejects{output.suffix or '.jsonl'}")


def generate(job: Generation, output: Path, surface: Surface) -> Generated:
    """Write what passes into a JSONL file, and the others, if any, into another beside it."""
    if already_made(output, job.fingerprint(), surface.start):
        return Generated(before=True)
    with surface.asking(job, f"writing with {job.loaded.name}") as (work, on_document):
        check_files(output)
        output.parent.mkdir(parents=True, exist_ok=True)
        made = _written(job, replace(job.loaded, contexts=work.contexts).asker(), output, on_document)
        work.unfinished = bool(made.failed)
        return replace(made, spend=work.ledger.to_json())


def _written(job: Generation, asker: Asker, output: Path, on_document: Callable[[], None]) -> Generated:
    scale, stamp, rejects = job.generator.checked.scale, job.row_stamp(), rejects_path(output)
    statuses: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    parts = [path.with_name(path.name + ".part") for path in (output, rejects)]
    try:
        with ExitStack() as files:
            kept, refused = (files.enter_context(part.open("w", encoding="utf-8")) for part in parts)
            for start in range(0, len(job.cases), _BATCH):
                batch = job.cases[start : start + _BATCH]
                verdicts = asker.ask_all(batch, lambda place, verdict: on_document())
                for case, verdict in zip(batch, verdicts, strict=True):
                    statuses[verdict.status] += 1
                    if verdict.status == "verdict":
                        sums.update(scale.tally(verdict.values, verdict.counts))
                    for row, passed in rows_of(job, case, verdict, stamp):
                        (kept if passed else refused).write(json_text(row) + "\n")
        parts[0].replace(output)
        if parts[1].stat().st_size:
            parts[1].replace(rejects)
        else:  # those of an earlier start of this job go
            rejects.unlink(missing_ok=True)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
    silent = statuses["abstained"]
    nothing = [f"{silent} of {len(job.cases)} texts gave no item"] if silent else []
    return Generated(
        documents=len(job.cases),
        statuses=dict(statuses),
        totals=scale.totals(sums),
        words=(*scale.total_words(sums), *nothing),
    )


def rows_of(
    job: Generation, case: Case, verdict: Verdict, stamp: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield the rows of a document's items, and whether each passed; one row with the reason if there is no item."""
    usage, items = verdict.usage, items_of(verdict.value)
    about = {
        "document": case.group,
        "source": case.source,
        "calls": usage.calls - usage.retries - usage.failures + usage.replayed,
    }
    for number, item in enumerate(items, 1):
        row = dict(job.generator.row(case, item, number if len(items) > 1 else 0))
        reasons = row.pop("reasons", None) or job.generator.checked.scale.failures((item,))
        provenance = {**about, **row.pop("provenance", {}), **stamp}
        refused = {} if item.passed else {"status": "rejected", "reasons": reasons}
        yield {**row, **refused, "provenance": provenance}, item.passed
    if not items:
        status = "failed" if verdict.status == "failed" else "rejected"
        row = {"id": case.group, "group": case.group, "status": status, "reasons": [verdict.error]}
        yield {**row, "provenance": {**about, **stamp}}, False


def already_made(output: Path, fingerprint: Mapping[str, Any], start: Start) -> bool:
    """Say whether the output is that of this very job, finished; refuse what would overwrite other work."""
    if output.is_dir():
        raise UsageError(f"{output} is a folder", hint="name a file")
    if not output.exists():
        return False
    if not start.resume and not start.fresh:
        raise UsageError(f"{output} exists", hint="add --resume to continue it, or name another output")
    if _job_of(output) != job_id(fingerprint):
        raise CheckpointError(f"{output} is the output of another job", hint="name another output")
    unfinished = start.root is not None and checkpoint_folder(start.root, fingerprint).exists()
    return not start.fresh and not unfinished


def _job_of(output: Path) -> str | None:
    try:
        path = output if output.stat().st_size else rejects_path(output)
        with path.open(encoding="utf-8") as stream:
            return str(json.loads(stream.readline())["provenance"]["job"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
