"""The share of cascades that keep less agreement with people than they were chosen for, and the rows that they answer.

Simulated judges see the truth through noise and are the surer the farther they are from it, on rows by themselves or in
groups of five that share how hard they are. A level is chosen on some rows for an agreement of 0.9 at a risk of 0.1,
and held against 20,000 others: *broken* is the share of runs in which the answered ones agree less. With the folder of
public gold sets, the same for 0.8 with two judges that need no model on WiCE: learned from a third of the rows, chosen
on a third, and held against the last, whose own chance is in the figure too.

Run: python benchmarks/cascades.py --runs 200 [--wice DIR/wice]
"""

import argparse
import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from jurist.evaluation.cascade import Step, choose_step, cross_fit, fit_trust, try_levels
from jurist.evaluation.trust import AgreementRegression, SureAnswer
from jurist.gold.goldset import Gold

AGREE, RISK = 0.9, 0.1
ON_WICE = 0.8  # what judges without a model can reach there
JUDGES = {
    "cheap (.84 right), dear (.96)": ([1.0, 1.8], 0.0),
    "cheap and partial (.73), dear (.96)": ([1.0, 1.8], 0.8),
    "one by guess (.58), dear (.96)": ([0.2, 1.8], 0.0),
    "two weak ones (.79, .82)": ([0.8, 0.9], 0.0),
}
Judged = tuple[list[list[SureAnswer]], list[list[bool]], list[str]]


def judged(skills: Sequence[float], lean: float, rows: int, size: int, random: np.random.Generator) -> Judged:
    """Return what simulated judges say, whether that is right, and the groups; the first ``lean`` to one label."""
    group = np.arange(rows) // size
    shared = random.normal(size=group[-1] + 1)[group] * (size > 1)
    hard = np.exp(0.35 * (shared + random.normal(size=rows) * (0.5 if size > 1 else 1.1)))
    truth, said, right = random.random(rows) < 0.4, list[list[SureAnswer]](), list[list[bool]]()
    for place, skill in enumerate(skills):
        sees = np.where(truth, skill, -skill) + random.normal(size=rows) * hard + lean * (place == 0)
        sure = 1 / (1 + np.exp(-1.5 * np.abs(sees)))
        said.append(
            [("yes" if one > 0 else "no", float(share)) for one, share in zip(sees, sure, strict=True)]
        )
        right.append(((sees > 0) == truth).tolist())
    return said, right, [str(one) for one in group]


def choose(own: Judged, agree: float = AGREE) -> tuple[Step | None, list[AgreementRegression]]:
    """Return the level that some rows give, and what they tell of each judge."""
    said, right, groups = own
    sure = [cross_fit(*pair, groups) for pair in zip(said, right, strict=True)]
    best = choose_step(list(try_levels(sure, right, groups, agree=agree, risk=RISK)), agree)
    return best, [fit_trust(*pair) for pair in zip(said, right, strict=True)]


def held(best: Step, trusts: Sequence[AgreementRegression], later: Judged) -> tuple[float, float, float]:
    """Return the agreement on other rows, the share that is answered, and that of the first judge."""
    said, right, _ = later
    sure = np.array([[trust.of(one) for one in told] for trust, told in zip(trusts, said, strict=True)])
    able = sure >= best.level
    answered = able.any(axis=0)
    hit = np.array(right)[able.argmax(axis=0), np.arange(able.shape[1])][answered]
    return float(hit.mean()) if hit.size else 1.0, float(answered.mean()), float(able[0].mean())


def line(name: str, found: Sequence[tuple[float, float, float]], runs: int, agree: float = AGREE) -> str:
    """Return what came of the runs in which something was shown."""
    means = np.array(found).sum(axis=0) / runs if found else np.zeros(3)
    broken = sum(agreement < agree for agreement, _, _ in found) / runs
    shown = f"shown {len(found) / runs:.2f}  answered {means[1]:.2f}, by the first {means[2]:.2f}"
    return f"{name:<52} broken {broken:.3f}  {shown}"


def simulated(runs: int) -> None:
    """Print the table of simulated judges."""
    for name, (skills, lean) in JUDGES.items():
        for size in (1, 5):
            later = judged(skills, lean, 20_000, size, np.random.default_rng(1))
            for rows in (60, 150, 300):
                random, found = np.random.default_rng(rows + size), []
                for _ in range(runs):
                    best, trusts = choose(judged(skills, lean, rows, size, random))
                    if best is not None:
                        found.append(held(best, trusts, later))
                print(line(f"{name}, {rows} rows in groups of {size}", found, runs), flush=True)


def on_wice(folder: Path, runs: int) -> None:
    """Print the line of judges that need no model, on claims of WiCE (lenient)."""
    spec = importlib.util.spec_from_file_location("lenient", folder / "lenient.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cases = [case for case in Gold.load(str(folder / "lenient.jsonl"), module.judge).cases if case.gold]
    texts = [list(map(str, case.inputs.values())) for case in cases]
    labels, groups = [str((case.gold or ("",))[0]) for case in cases], [case.group for case in cases]
    names, found = sorted(set(groups)), []
    for run in range(runs):
        part = dict(zip(names, np.random.default_rng(run).permutation(len(names)) % 3, strict=True))
        rows = [[place for place, group in enumerate(groups) if part[group] == number] for number in range(3)]
        learned = [_words(texts, labels, rows[0], apart) for apart in (False, True)]
        own, later = (
            (
                [[told[place] for place in some] for told in learned],
                [[told[place][0] == labels[place] for place in some] for told in learned],
                [groups[place] for place in some],
            )
            for some in rows[1:]
        )
        best, trusts = choose(own, ON_WICE)  # type: ignore[arg-type]
        if best is not None:
            found.append(held(best, trusts, later))  # type: ignore[arg-type]
    print(line(f"WiCE, two judges without a model, {len(cases) // 3} rows", found, runs, ON_WICE))


def _words(
    texts: Sequence[Sequence[str]], labels: Sequence[str], learned: Sequence[int], apart: bool
) -> list[tuple[str, float]]:
    """Return what a regression on words says of all rows: on all words, or on those that claim and evidence share."""
    shown = [" ".join(one) for one in texts]
    if apart:
        shown = [" ".join(sorted(set(one[0].split()) & set(one[-1].split()))) for one in texts]
    vectors = TfidfVectorizer(sublinear_tf=True)
    model = LogisticRegression(class_weight="balanced").fit(
        vectors.fit_transform([shown[place] for place in learned]), [labels[place] for place in learned]
    )
    shares = model.predict_proba(vectors.transform(shown))
    return [(str(model.classes_[row.argmax()]), float(row.max())) for row in shares]


def main() -> None:
    """Print both."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--runs", type=int, default=200)
    options.add_argument("--wice", type=Path)
    given = options.parse_args()
    simulated(given.runs)
    if given.wice:
        on_wice(given.wice, given.runs)


if __name__ == "__main__":
    main()
