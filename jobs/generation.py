"""From documents to items: those that pass into one JSONL file, the others with their reasons into another.

A paper's generator has a :class:`Recipe`, which says what is made of documents, and what its output becomes.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO, TypeAlias, TypedDict, Unpack

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.ledger import Purpose
from ..engines.meter import Budget
from ..errors import (
    CheckpointError,
    Count,
    JudgeError,
    Seed,
    UnknownJudgeError,
    UsageError,
    as_data,
    checked,
    plural,
    suggest_name,
)
from ..evaluation.checked_items import items_of
from ..evaluation.plain import plain_parts
from ..gold.documents import nothing_for
from ..gold.new_rows import BadRow, Source
from ..gold.writing import check_files, json_text
from ..keeping.artifacts import Store
from ..keeping.loading import LoadedJudge
from ..keeping.paying import Start, checkpoint_folder
from ..programs.asking import Asker
from ..programs.catalogue import GENERATORS
from ..programs.generator import Generator, generator_of
from ..programs.languages import case_texts
from ..programs.verdicts import Verdict
from ..report.shown import Shown
from ..report.table import Table, table
from .estimate import Ask, CostEstimate, Size, Span
from .judges import load_for_new_rows, load_reference
from .kept_calls import Asking
from .measuring import ask_offline, spread_evenly
from .surface import ModelLike, Surface, open_store

_BATCH = 1024


@dataclass(frozen=True, kw_only=True)
class Generation:
    """A generation: the documents, the generator and its models."""

    loaded: LoadedJudge  # the generator with its models; its samples are the attempts at one document
    cases: tuple[Case, ...]  # what is written from, in the order in which items are written
    budget: Budget = field(default_factory=Budget)  # hard limits of the whole job
    # what else makes it the same job when it is started again, as JSON values
    settings: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a document that is there twice: its items would have the same ids."""
        ids = Counter((case.group, case.id) for case in self.cases)
        for (name, _), count in ids.items():
            if count > 1:
                raise UsageError(f"the document {name!r} is there twice", hint="give every document once")

    @property
    def generator(self) -> Generator:
        """The generator."""
        return generator_of(self.loaded.judge)

    @property
    def roles(self) -> tuple[Purpose, ...]:
        """The roles that have a journal: the model that writes, and the one that verifies, if the program asks one."""
        if self.generator.frozen_hash:
            return ("generator", "judge")
        return ("generator",)

    def fingerprint(self) -> dict[str, object]:
        """Return the settings that identify this job when it is started again, as JSON values."""
        texts = "\n".join(f"{case.group} {case.id}" for case in self.cases)
        return {
            "generate": self.loaded.fingerprint(),
            **self.settings,
            "documents": hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest(),
        }

    @property
    def rows(self) -> int:
        """The number of cases."""
        return len(self.cases)

    @property
    def documents(self) -> int:
        """The number of documents: fewer than the cases where a document is made into several."""
        if self.generator.expand is None:
            return len(self.cases)
        return len({case.group for case in self.cases})

    @property
    def size_words(self) -> str:
        """The size of the job in words: ``24 documents``, or ``144 questions of 24 documents``."""
        cases = plural(len(self.cases), *self.generator.case_nouns)
        if self.generator.expand is None:
            return cases
        return f"{cases} of {plural(self.documents, 'document')}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user before the first call."""
        return (self.loaded.note,)

    def askings(self) -> Sequence[Asking]:
        """Return nothing: what is verified follows from what is written."""
        return ()

    def foresee(self) -> CostEstimate:
        """Return the estimate of the generation; nothing is sent, and the offline engine writes a few items."""
        context = CallContext.fresh()
        ask_offline(self.loaded.asker(), spread_evenly(self.cases), context)
        roles: tuple[Purpose, ...] = ("generator", "judge")
        asks = []
        for role, model in zip(roles, self.loaded.models, strict=False):
            if role in self.roles:
                ask = Ask(
                    role=role,
                    models=(model,),
                    calls=self._calls_of(role),
                    size=Size.of(context.ledger.spend(role)),
                    who=f"of the {role} ({model.name})",
                )
                asks.append(ask)
        return CostEstimate(what=self.size_words, asks=tuple(asks), budget=self.budget)

    def _calls_of(self, role: Purpose) -> Span:
        """Return the calls of the model that writes, or of the one that verifies, over all documents."""
        least_calls = 0
        most_calls = 0
        for case in self.cases:
            if role == "generator":
                least, most = self.generator.writer_calls(case)
            else:
                least = most = self.generator.verifier_calls
            least_calls += least
            most_calls += most
        return Span(least_calls, self.loaded.sampling.samples * most_calls)

    def row_stamp(self) -> dict[str, object]:
        """Return the generator, its model and the id of the job, which every row holds."""
        loaded = self.loaded
        artifact_hash = None
        if loaded.artifact:
            artifact_hash = loaded.artifact.sha256
        stamp: dict[str, object] = {
            "generator": loaded.name,
            "artifact": artifact_hash,
            "model": loaded.model.name,
            "temperature": loaded.model.temperature,
        }
        if self.generator.verifying_versions:
            stamp["verifiers"] = list(self.generator.verifying_versions)
        stamp["job"] = job_id(self.fingerprint())
        return stamp


@dataclass(frozen=True, kw_only=True)
class GenerationCounts:
    """The counts of a generation that has ended."""

    documents: int = 0  # how many there were
    cases: int = 0  # how many there were: as many as documents, or more (questions of a document)
    # cases by how asking ended: ``verdict`` (written and checked), ``abstained``, ``failed``
    statuses: Mapping[str, int] = field(default_factory=dict)
    # items and how many passed; unless it was done before, how many are uncertain, and the rate of each check
    totals: Mapping[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] = ()  # the counts of items in words
    # calls, tokens and cost, by purpose; answers paid by an earlier start count as ``replayed``
    spend: Mapping[str, Any] = field(default_factory=dict)
    done_before: bool = False  # the output was there already, and nothing was asked

    @property
    def kept(self) -> int:
        """Items that passed."""
        return int(self.totals.get("passed", 0))

    @property
    def rejected(self) -> int:
        """Items that did not pass, and cases of which no usable item was written."""
        return int(self.totals.get("items", 0)) - self.kept + self.statuses.get("abstained", 0)

    @property
    def failed(self) -> int:
        """Cases on which the machinery failed."""
        return self.statuses.get("failed", 0)

    @property
    def unusable(self) -> float:
        """The share of items and cases that were rejected or failed, 0 to 1."""
        total = self.kept + self.rejected + self.failed
        if not total:
            return 0.0
        return (self.rejected + self.failed) / total

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain JSON types."""
        counts = plain_parts(self, "documents", "cases", "kept", "rejected", "failed")
        if "check_rates" in self.totals:
            counts["uncertain"] = self.totals["uncertain_items"]
            counts["check_rates"] = self.totals["check_rates"]
        return {**counts, "done_before": self.done_before, "spend": dict(self.spend)}


def job_id(fingerprint: Mapping[str, object]) -> str:
    """Return the id of a job: 16 hex digits of the hash of its fingerprint."""
    text = json.dumps(fingerprint, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def rejects_path(output: Path) -> Path:
    """Return the path for the rejected items of an output file: ``F.rejects.jsonl`` for ``F.jsonl``."""
    return output.with_name(f"{output.stem}.rejects{output.suffix or '.jsonl'}")


def write_generation(job: Generation, output: Path, surface: Surface) -> GenerationCounts:
    """Write the items that pass into a JSONL file, the others into another beside it, and return the counts."""
    if is_already_made(output, job.fingerprint(), surface.start):
        return _count_again(job, output)
    with surface.asking(job, f"writing with {job.loaded.name}") as (paid_job, on_document):
        check_files(output)
        output.parent.mkdir(parents=True, exist_ok=True)
        asker = replace(job.loaded, contexts=paid_job.contexts).asker()
        generated = _write_files(job, asker, output, on_document)
        paid_job.unfinished = bool(generated.failed)
        return replace(generated, spend=paid_job.ledger.to_json())


def _count_again(job: Generation, output: Path) -> GenerationCounts:
    """Return the counts of an output that this job has finished before, from its rows."""
    kept = len(_read_rows(output))
    items = kept
    statuses: Counter[str] = Counter()
    for row in _read_rows(rejects_path(output)):
        if row.keys() > _FIELDS_WITHOUT_ITEM:
            items += 1
        elif row["status"] == "failed":
            statuses["failed"] += 1
        else:
            statuses["abstained"] += 1
    statuses["verdict"] = len(job.cases) - statuses.total()
    return GenerationCounts(
        documents=job.documents,
        cases=len(job.cases),
        statuses=dict(statuses),
        totals={"items": items, "passed": kept},
        done_before=True,
    )


def _read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of an output; none where there is no such file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _write_files(
    job: Generation, asker: Asker, output: Path, on_document: Callable[[], None]
) -> GenerationCounts:
    """Write the output and its rejects, which get their names once all documents are done; return the counts."""
    rejects = rejects_path(output)
    part = output.with_name(output.name + ".part")
    rejects_part = rejects.with_name(rejects.name + ".part")
    try:
        with (
            part.open("w", encoding="utf-8") as passing,
            rejects_part.open("w", encoding="utf-8") as rejected,
        ):
            generated = _write_rows_of_documents(job, asker, passing, rejected, on_document)
        part.replace(output)
        if rejects_part.stat().st_size:
            rejects_part.replace(rejects)
        else:  # those of an earlier start of this job go
            rejects.unlink(missing_ok=True)
    finally:
        part.unlink(missing_ok=True)
        rejects_part.unlink(missing_ok=True)
    return generated


def _write_rows_of_documents(
    job: Generation, asker: Asker, passing: TextIO, rejected: TextIO, on_document: Callable[[], None]
) -> GenerationCounts:
    """Write the rows of all documents into two open files, and return the counts."""
    scale, stamp = job.generator.checked.scale, job.row_stamp()
    statuses: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for start in range(0, len(job.cases), _BATCH):
        batch = job.cases[start : start + _BATCH]
        verdicts = asker.ask_all(batch, lambda place, verdict: on_document())
        for case, verdict in zip(batch, verdicts, strict=True):
            statuses[verdict.status] += 1
            if verdict.status == "verdict":
                sums.update(scale.tally(verdict.values, verdict.counts))
            for row, passed in _rows_of_document(job, case, verdict, stamp):
                file = passing if passed else rejected
                file.write(json_text(row) + "\n")
    words = list(scale.total_words(sums))
    silent = statuses["abstained"]
    if silent:
        words.append(f"{silent} of {plural(len(job.cases), *job.generator.case_nouns)} gave no item")
    return GenerationCounts(
        documents=job.documents,
        cases=len(job.cases),
        statuses=dict(statuses),
        totals=scale.totals(sums),
        words=tuple(words),
    )


_FIELDS_WITHOUT_ITEM = frozenset({"id", "group", "status", "reasons", "provenance"})
"""The fields of a row that stands for a case of which no item was written; a row of an item has more."""


def _rows_of_document(
    job: Generation, case: Case, verdict: Verdict, stamp: Mapping[str, object]
) -> Iterator[tuple[dict[str, object], bool]]:
    """Yield the rows of a document's items, and whether each passed; one row with the reason if there is no item."""
    usage = verdict.usage
    items = items_of(verdict.value)
    origin = {
        "document": case.group,
        "source": case.source,
        "calls": usage.calls - usage.retries - usage.failures + usage.replayed,
    }
    for number, item in enumerate(items, 1):
        number_in_document = number if len(items) > 1 else 0
        row = dict(job.generator.row(case, item, number_in_document))
        reasons = row.pop("reasons", None) or job.generator.checked.scale.failures((item,))
        own_provenance = row.pop("provenance", {})
        if not item.passed:
            row["status"] = "rejected"
            row["reasons"] = reasons
        row["provenance"] = {**origin, **own_provenance, **stamp}
        yield row, item.passed
    if not items:
        status = "failed" if verdict.status == "failed" else "rejected"
        row = {"id": case.group, "group": case.group, "status": status, "reasons": [verdict.error]}
        yield {**row, "provenance": {**origin, **stamp}}, False


def is_already_made(output: Path, fingerprint: Mapping[str, object], start: Start) -> bool:
    """Return whether the output is there, finished, and of this very job; refuse to overwrite other work."""
    if output.is_dir():
        raise UsageError(f"{as_data(output)} is a folder", hint="name a file")
    if not output.exists():
        return False
    if not start.resume and not start.fresh:
        raise UsageError(
            f"{as_data(output)} exists", hint="add --resume to continue it, or name another output"
        )
    if _job_of(output) != job_id(fingerprint):
        raise CheckpointError(f"{as_data(output)} is the output of another job", hint="name another output")
    unfinished = start.root is not None and checkpoint_folder(start.root, fingerprint).exists()
    return not start.fresh and not unfinished


def _job_of(output: Path) -> str | None:
    """Return the id of the job that wrote an output, or its rejects where that is empty; ``None`` if none did."""
    try:
        path = output
        if not output.stat().st_size:
            path = rejects_path(output)
        with path.open(encoding="utf-8") as stream:
            return str(json.loads(stream.readline())["provenance"]["job"])
    except (OSError, ValueError, LookupError, TypeError):
        return None


class RecipeSettings(TypedDict, total=False):
    """The settings of the papers' generators: see :func:`generate`."""

    turns: str
    words: str
    per_topic: Count | None
    size: Count
    tasks: str | None
    per_document: Count | None
    types: str | None
    characters: Count | None
    limit: Count | None


@dataclass(frozen=True, kw_only=True)
class WritingRequest:
    """A call of :func:`generate`, from which a recipe makes a job."""

    loaded: LoadedJudge  # the generator with its models
    documents: Any  # a folder, a file or a name; of a generator without a recipe also rows in Python
    output: Path
    budget: Budget
    seed: int
    settings: Mapping[str, Any]  # all settings of the recipe


Description: TypeAlias = tuple[Mapping[str, Any], Sequence[Table | str]]
"""The content of an output, as JSON values and for people."""


@dataclass(frozen=True, kw_only=True)
class Writing:
    """The job of a recipe, and what its output becomes."""

    job: Generation
    output: Path  # the file of items
    # describes the file of items, and may make more files of it
    describe: Callable[[Path], Description] = lambda items: ({}, [])
    noun: str = "items"  # for people
    warning: str = ""  # why much of it may be rejected
    emptiness: Callable[[Mapping[str, Any]], str] = lambda description: ""  # says that nothing has come of it


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The way from documents to the job of a paper's generator; a module of the paper has it as ``RECIPE``."""

    generators: tuple[str, ...]  # the names of the generators that need it
    settings: Mapping[str, Any]  # its settings with their defaults
    plan: Callable[[WritingRequest], Writing]
    attempts: int = 1  # how often a document is tried where nobody says so


_RECIPE_MODULES = ("cognibench.dialogues", "faithqa.benchmark", "haluagent.making")
"""The modules of papers with a recipe."""


def find_recipe(generator: str) -> Recipe | None:
    """Return the recipe of a generator by its name; ``None`` for a generator that takes each row as it is."""
    for name in _RECIPE_MODULES:
        recipe: Recipe = import_module(f"jurist.papers.{name}").RECIPE
        if generator in recipe.generators:
            return recipe
    return None


def _plan_rows(request: WritingRequest) -> Writing:
    """Return the job of a generator without a recipe: each row of the documents is a case."""
    loaded = request.loaded
    source = Source(name="<documents>", judge=loaded.judge, records=request.documents)
    if isinstance(request.documents, str | os.PathLike):
        source = Source(name=os.fspath(request.documents), judge=loaded.judge)
    cases: list[Case] = []
    rows = list(source.rows())
    for row in rows:
        if isinstance(row, BadRow):
            raise row.error
        if isinstance(row, Case):
            cases.append(row)
    if not cases:
        raise nothing_for(loaded.judge, len(rows), source.name)
    loaded = loaded.for_texts(case_texts(cases))
    return Writing(
        job=Generation(loaded=loaded, cases=tuple(cases), budget=request.budget), output=request.output
    )


_ROW_RECIPE = Recipe(generators=(), settings={}, plan=_plan_rows)
"""The recipe of generators that take each row as it is."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Written(Shown):
    """The files that :func:`generate` wrote, with the counts of their items.

    Attributes:
        output: the file of items that passed every check, one a line.
        rejects: the file of the others, with their reasons.
        counts: documents, items that passed (``kept``), items that did not (``rejected``), failures, and the spend;
            ``done_before`` where the output held this very job already, and nothing was spent.
        description: of a paper's benchmark its statistics, as JSON values.
    """

    generator: str
    output: Path
    rejects: Path
    counts: GenerationCounts
    description: Mapping[str, Any]
    body: tuple[Table | str, ...]  # tables of the description
    noun: str  # what people call the items
    warning: str  # why much of it may have been rejected; empty if nothing speaks for that
    emptiness: str  # says that nothing has come of it; empty if something has

    @property
    def headline(self) -> str:
        """The file, and how many items are in it."""
        return self.line

    @property
    def line(self) -> str:
        """The number of items that passed, and their file, in one line."""
        if self.counts.done_before:
            return f"{self.output} holds this very job already; nothing was asked"
        line = f"{self.output}: {'; '.join(self.counts.words)}"
        if self.counts.unusable:
            line += f"; the others are in {self.rejects}, with reasons"
        return line

    def parts(self) -> list[Table | str]:
        """Return the tables of the description, and the counts."""
        return [*self.body, self.line]

    def records(self) -> list[dict[str, object]]:
        """Return a row for each item that passed, as it stands in the output."""
        return _read_rows(self.output)

    @property
    def latex_tables(self) -> Sequence[Table]:
        """The main table of the description; without one, the counts."""
        counts = self.counts
        title = f"{self.noun} of {self.generator}"
        numbers = (counts.documents, counts.kept, counts.rejected, counts.failed)
        return self.tables[:1] or [table(title, ("documents", "kept", "rejected", "failed"), [numbers])]

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types, but for the items."""
        return {
            "output": str(self.output),
            "generator": self.generator,
            **self.description,
            **self.counts.to_json(),
        }


@checked
def generate(
    generator: str | Generator | LoadedJudge,
    documents: str | os.PathLike[str] | Any,
    output: str | os.PathLike[str],
    *,
    model: ModelLike | None = None,
    attempts: Count | None = None,
    verifier: ModelLike | None = None,
    verifiers: Sequence[str] | None = None,
    adapter: str | None = None,
    language: str | None = None,
    concurrency: Count = 8,
    budget: Budget | None = None,
    seed: Seed = 0,
    store: str | os.PathLike[str] | Store | None = None,
    resume: bool = True,
    fresh: bool = False,
    **settings: Unpack[RecipeSettings],
) -> Written:
    """Write items from documents and verify them, as ``jurist generate``: those that pass every check go to the output.

    Args:
        generator: ``dialogue``, ``faithqa``, ``haluagent``, ``path/to/file.py:generator``, a :class:`~jurist.Generator`
            of yours, ``NAME@VERSION`` or ``NAME:basic``, or a generator that :func:`jurist.load` returned.
        documents: rows with ``text``, a folder of ``.txt`` and ``.md`` files, ``hf:org/name``, or gold with references;
            for a generator of yours also rows in Python: dictionaries, or a table.
        output: the file to write, ``.jsonl``; of ``haluagent`` a folder, which gets ``benchmark.jsonl``. The rejected
            items are beside it.
        model: the model that writes; default: of a version, and of a generator that was loaded, its own, else
            ``offline``.
        attempts: the most tries at a document until an item passes, 1 or more; default: 1, of ``faithqa`` 3.
        verifier: the model that answers the frozen steps, which verify; default: ``model`` at temperature 0.
        verifiers, adapter, language: as for :func:`jurist.load`.
        concurrency: the number of documents in flight at once, 1 or more.
        budget: the hard limits on calls, tokens, US dollars and seconds; default: none.
        seed: the seed of the draws of the papers' generators.
        store: the folder of artifacts; default ``$JURIST_STORE``, else ``./compiled``.
        resume, fresh: continue an interrupted generation, and return a finished one, so that nothing is paid twice; or
            write anew. With ``resume=False`` an output that exists is an error.
        settings: of ``dialogue``: ``turns`` (``"3"``, ``"2-5"``), ``words`` of a turn (``"40-200"``), ``per_topic``.
            Of ``faithqa``: ``size`` (40 queries), ``tasks`` (``"fact,poem"``). Of ``haluagent``: ``per_document``,
            ``types`` (``"entity,relation"``), ``characters``, ``limit`` (the first documents only).

    Returns:
        The files, the counts of items, and their statistics; ``records()`` has the items that passed.

    Raises:
        JudgeError: there is no such generator.
        GoldError: the documents cannot be read.
        UsageError: a setting does not apply to this generator, or the output cannot be used.
        CheckpointError: the output is of another job.
        StoppedError: a limit; paid answers are kept.
        Interrupted: a signal; they are kept, too.
        ModelError: a model cannot be used at all.
    """
    opened = open_store(store)
    surface = Surface(opened, Start(root=opened.checkpoints, resume=resume, fresh=fresh))
    name = generator if isinstance(generator, str) else _name_of(generator)
    recipe = find_recipe(name.partition("@")[0].removesuffix(":basic")) or _ROW_RECIPE
    loaded = load_generator(
        generator,
        opened,
        model=model,
        attempts=attempts or recipe.attempts,
        verifier=verifier,
        verifiers=verifiers,
        adapter=adapter,
        language=language,
        concurrency=concurrency,
    )
    surface.note(loaded.note)
    return write_items(
        recipe,
        loaded,
        documents,
        Path(output),
        surface,
        budget=budget or Budget(),
        seed=seed,
        settings=settings,
    )


def _name_of(generator: Generator | LoadedJudge) -> str:
    """Return the name of a generator."""
    if isinstance(generator, LoadedJudge):
        return generator.judge.name
    return generator.name


def load_generator(
    generator: str | Generator | LoadedJudge,
    store: Store,
    *,
    model: ModelLike | None,
    attempts: int,
    adapter: str | None = None,
    **options: Any,
) -> LoadedJudge:
    """Return a generator with its models; one that was loaded keeps its own."""
    if isinstance(generator, LoadedJudge):
        return load_for_new_rows(generator, model, store, {})
    try:
        loaded = load_reference(generator, store, model=model, samples=attempts, adapter=adapter, **options)
    except UnknownJudgeError as error:
        hint = suggest_name(str(generator), GENERATORS, "or path/to/file.py:generator")
        raise JudgeError(f"no generator is called {generator!r}", hint=hint) from error
    generator_of(loaded.judge)
    return loaded


def write_items(
    recipe: Recipe | None,
    loaded: LoadedJudge,
    documents: Any,
    output: Path,
    surface: Surface,
    *,
    budget: Budget,
    seed: int,
    settings: Mapping[str, Any],
) -> Written:
    """Return the writings of a generator from documents by a recipe; without one each row of documents is a case."""
    recipe = recipe or _ROW_RECIPE
    for name in settings:
        if name not in recipe.settings:
            hint = f"leave out {name}"
            if recipe.settings:
                hint = suggest_name(name, recipe.settings)
            raise UsageError(f"{name} does not apply to {loaded.judge.name}", hint=hint)
    is_place = isinstance(documents, str | os.PathLike)
    if recipe.generators and not is_place:
        hint = "write them to a file or a folder, and name that"
        raise UsageError(f"{loaded.judge.name} reads its documents from files", hint=hint)
    request = WritingRequest(
        loaded=loaded,
        documents=os.fspath(documents) if is_place else documents,
        output=output,
        budget=budget,
        seed=seed,
        settings={**recipe.settings, **settings},
    )
    writing = recipe.plan(request)
    surface.note(writing.warning)
    counts = write_generation(writing.job, writing.output, surface)
    description, body = writing.describe(writing.output)
    return Written(
        generator=loaded.name,
        output=writing.output,
        rejects=rejects_path(writing.output),
        counts=counts,
        description=description,
        body=tuple(body),
        noun=writing.noun,
        warning=writing.warning,
        emptiness=writing.emptiness(description),
    )
