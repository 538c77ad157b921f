"""What labels can teach the offline engine: ceilings for every search on the public gold, on the sealed test.

    python benchmarks/ceilings.py --seeds 9

No search and no choice, each seed another split. *Threshold*: the basic prompt under the one that is best on train and
dev. *N shown*: the basic prompt with so many demonstrations, drawn at random from train, half of them positive where
there are enough; the mean of three draws, without and with the threshold that is best for them on the rest of train and
on dev. *Regression*: a logistic regression, both sides weighted alike, on
the engine's own features of the units of train; its penalty is the one that was best on the tests of wice, lenient, so
that it is a ceiling. *Attainable*: the threshold that is best on the test itself. Wice and summedits: the judges and
the gold in the folder. The public files are not part of this project.
"""

import dataclasses
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from common import mean, missing, parser  # type: ignore[import-not-found]  # beside this file
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from jurist.cases import Case, Value
from jurist.engines.adapters import adapter
from jurist.engines.channel import CallContext
from jurist.engines.draws import TypedRequest
from jurist.engines.models import Model, connect
from jurist.engines.offline.criteria import BANK
from jurist.engines.offline.decisions import PER_UNIT, scene_of
from jurist.engines.offline.features import read_units
from jurist.engines.offline.request import read_request
from jurist.engines.offline.roles import assign_roles
from jurist.evaluation.measured import objective_score
from jurist.evaluation.rows import Row
from jurist.evaluation.votes import Sampling
from jurist.gold.goldset import Gold
from jurist.gold.splits import Split
from jurist.keeping.artifacts import Store
from jurist.keeping.naming import find_judge
from jurist.optimizers.base import Job, optimize
from jurist.optimizers.board import Board, Candidate
from jurist.optimizers.drawing import draw_demos
from jurist.optimizers.fewshot import pool_of, with_cases
from jurist.optimizers.objective import row_of
from jurist.optimizers.threshold import Threshold, fitted
from jurist.programs.asking import Asker
from jurist.programs.judge import Judge
from jurist.programs.state import PromptState
from jurist.programs.verdicts import Verdict

SIZES = (9, 16, 32, 64)
DRAWS = 3
SENTENCES = 3
PENALTY = 0.03  # scikit-learn's C: the smaller, the stronger
CUTS = 200


class Measured:
    """One split of gold, and what is reached on its test.

    Args:
        judge: one of closed labels.
        split: train, dev and test.
        seed: of all draws.
    """

    def __init__(self, judge: Judge, split: Split, seed: int) -> None:
        context = CallContext.fresh()
        lm = connect(Model(temperature=0.0), context)
        self.judge, self.split, self.seed = judge, split, seed
        self.basic = PromptState.of(judge.basic())
        self.job = Job(
            judge=judge,
            train=split.train,
            dev=split.dev,
            judge_lm=lm,
            proposer_lm=lm,
            context=context,
            seed=seed,
        )

    def all(self) -> Iterator[tuple[str, float]]:
        """Yield each column with the metric on test."""
        board = optimize(Threshold(), self.job).board
        asker = self.job.asker(self.judge.basic())
        verdicts = asker.ask_all(self.split.test)

        def at(threshold: float | None) -> float:
            return self._at(asker, verdicts, threshold)

        yield "basic", at(None)
        yield "threshold", at(self._cut(board, board.basic).setting.threshold)
        for size in SIZES:
            plain, cut = np.mean([self._shown(board, size, draw) for draw in range(DRAWS)], axis=0)
            yield f"{size} shown", float(plain)
            yield f"{size} shown, threshold", float(cut)
        yield "sentences", self._sentences(board)
        yield "regression", self._regression()
        known = [
            self.judge.answer.scale.probability(unit) or 0.0 for one in verdicts for unit in one.probabilities
        ]
        cuts = sorted({round(one, 6) for one in known if 0 < round(one, 6) < 1})
        yield "attainable", max(map(at, cuts[:: max(1, len(cuts) // CUTS)]))

    def _value(self, rows: Sequence[Row]) -> float:
        return objective_score(rows, self.judge.metric, self.judge.comparison)

    def _shown(self, board: Board, size: int, draw: int) -> tuple[float, float]:
        """Return what demonstrations give, and what they give under a fitted threshold."""
        random_ = random.Random(f"{self.seed}/{size}/{draw}")
        cases = draw_demos(pool_of(self.job), size, self.judge.answer, random_)
        state = with_cases(self.judge, self.basic, cases)
        ids = tuple(case.id for case in cases)
        made = board.add(state, parent=board.basic, source="shown", demo_ids=ids)
        threshold = self._cut(board, made).setting.threshold
        asker = self.job.asker(state.apply(self.judge.basic()))
        verdicts = asker.ask_all(self.split.test)
        return self._at(asker, verdicts, None), self._at(asker, verdicts, threshold)

    def _sentences(self, board: Board) -> float:
        """Return what the sentences give that are best together under their threshold; none may be."""
        known = (*self.split.train, *self.split.dev)
        best = self._cut(board, board.basic)
        for _ in range(SENTENCES):
            tried = [self._cut(board, self._saying(board, best, one.english)) for one in BANK]
            best = max(best, *tried, key=lambda one: round(board.value(one, known), 9))
        asker = self.job.asker(best.state.apply(self.judge.basic()))
        return self._at(asker, asker.ask_all(self.split.test), best.setting.threshold)

    @staticmethod
    def _saying(board: Board, parent: Candidate, sentence: str) -> Candidate:
        state = parent.state
        for name, prompt in parent.state.predictors.items():
            state = state.with_instruction(name, f"{prompt.instructions} {sentence}")
        return board.add(state, parent=board.basic, source="sentence")

    def _cut(self, board: Board, prompt: Candidate) -> Candidate:
        """Return a prompt, scored on train and dev, under the threshold that is best for it there."""
        known = (*self.split.train, *self.split.dev)
        board.score(prompt, known)
        found = fitted(self.job, board, prompt)
        if found is None:
            return prompt
        setting = dataclasses.replace(prompt.setting, threshold=found.threshold)
        cut = board.add(
            prompt.state, parent=prompt, source="threshold", setting=setting, crossed=found.crossed
        )
        board.score(cut, known)
        return cut

    def _at(self, asker: Asker, verdicts: Sequence[Verdict], threshold: float | None) -> float:
        """Return the metric of verdicts on test under a threshold."""
        again: Asker = dataclasses.replace(asker, sampling=Sampling(threshold=threshold))
        pairs = zip(self.split.test, verdicts, strict=True)
        return self._value(
            [row_of(case, again.revote(case, one) if threshold else one) for case, one in pairs]
        )

    def _regression(self) -> float:
        judge = self.judge
        model = make_pipeline(
            StandardScaler(), LogisticRegression(C=PENALTY, class_weight="balanced", max_iter=3000)
        )
        model.fit(*_sides(self.split.train, judge))
        known = dict.fromkeys(label for case in self.split.train for label in case.known)
        clear, found = (
            next(one for one in known if _is_positive(judge, one) is side) for side in (False, True)
        )
        rows = []
        for case in self.split.test:
            sides = model.predict(_features(judge, case))
            said = tuple(found if one else clear for one in sides)
            gold = case.gold or (None,) * len(said)
            rows.append(Row(id=case.id, group=case.group, gold=gold, predicted=said, failed=False))
        return self._value(rows)


def _is_positive(judge: Judge, label: Value) -> bool:
    return judge.answer.scale.probability({label: 1.0}) == 1.0


def _sides(cases: Sequence[Case], judge: Judge) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of all labelled units and whether each is positive."""
    known = [
        (row, _is_positive(judge, label))
        for case in cases
        for row, label in zip(_features(judge, case), case.gold or (), strict=False)
        if label is not None
    ]
    return np.array([row for row, _ in known]), np.array([side for _, side in known])


def _features(judge: Judge, case: Case) -> np.ndarray:
    """Return the engine's features of each unit of a case, shape (units, features)."""
    values = judge.values(case.inputs)
    ask = read_request(
        TypedRequest(adapter=adapter("chat"), signature=judge.signature, demos=(), inputs=values)
    )
    per_unit = any(field.shape.kind in PER_UNIT for field in ask.outputs)
    scene, _ = scene_of(ask.values, assign_roles(ask), per_unit)
    return np.asarray(read_units(scene).matrix)


def sets(data: Path) -> Iterator[tuple[str, str, Path]]:
    """Yield name, judge and gold."""
    for name in ("fect", "cognibench"):
        yield name, name, data / name
    for folder, name in (("wice", "lenient"), ("wice", "strict"), ("summedits", "summedits")):
        yield name, f"{data / folder / name}.py:judge", data / folder / f"{name}.jsonl"


def main() -> int:
    """Print the table."""
    described = parser(__doc__)
    described.add_argument("--only", nargs="+", help="names of sets, such as lenient")
    options = described.parse_args()
    if missing(options.data, ("fect", "cognibench", "wice", "summedits")):
        return 1
    headed = False
    for name, reference, path in sets(options.data):
        if options.only and name not in options.only:
            continue
        judge = find_judge(reference, Store(Path("compiled")))
        gold = Gold.load(str(path), judge)
        seeds = range(options.seeds)
        found = [dict(Measured(judge, gold.split(seed), seed).all()) for seed in seeds]
        if not headed:
            print(f"| gold | metric | {' | '.join(found[0])} |\n|{'---|' * (len(found[0]) + 2)}")
            headed = True
        cells = [mean([one[column] for one in found]) for column in found[0]]
        print(f"| {name} | {judge.metric} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
