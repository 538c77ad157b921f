"""A decision model as a judge, compiled: sentences of movie reviews, of which half the labels are learned from.

Sparrow Decider (2 MB, its weights are in its package) answers over ``/v1/systemone`` on this machine. Each seed draws
other rows and another split: half for train and dev, half sealed. A compilation that finds nothing better than the
basic question leaves the sealed rows unopened, and counts as the basic question.

Run: pip install sparrow-decider
     pip download --no-deps --no-binary :all: vaderSentiment==3.3.2    # the rows travel in this package
     python benchmarks/decision_model.py --packages FOLDER --seeds 0 1 2 3 4 5 6 7 8 9
     python benchmarks/decision_model.py --packages FOLDER --parts
"""

import argparse
import json
import math
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from real_model import TASKS, movies, sampled  # type: ignore[import-not-found]  # beside this file
from scipy.stats import t as student
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sparrow_decider import Decider

import jurist
from jurist.engines.channel import CallContext
from jurist.engines.meter import Budget
from jurist.engines.models import connect
from jurist.programs.asking import Asker

METRIC = "balanced_accuracy"
SHARES = (0.25, 0.25, 0.5)
GENERAL = (
    "Does the text praise something?",
    "Does the text criticise something?",
    "Is the tone of the text positive?",
    "Is the writer satisfied?",
    "Is the writer disappointed?",
    "Does the text recommend something?",
    "Does the text warn against something?",
    "Does the text express joy or enthusiasm?",
    "Does the text express anger or annoyance?",
    "Does the text express boredom?",
    "Is the text funny or ironic?",
    "Does the text describe a problem or a defect?",
    "Does the text name a strength or an advantage?",
    "Is the text certain of what it says?",
)
"""Small questions about any text."""
OF_MOVIES = (
    "Does the reviewer praise the acting?",
    "Does the reviewer find the story weak or confusing?",
    "Does the reviewer find the movie boring or slow?",
    "Does the reviewer find the movie funny?",
    "Is the movie called a failure?",
    "Is the movie called a success?",
    "Is the movie called moving or touching?",
    "Is the movie called clever or original?",
    "Is the movie called stupid or lazy?",
    "Does the reviewer recommend seeing the movie?",
    "Does the reviewer say that the movie is a waste of time?",
    "Is the movie called beautiful?",
    "Is the reviewer disappointed?",
    "Is the reviewer delighted?",
    "Does the sentence complain?",
)
"""Small questions that somebody who knows the task would write."""
PRAISE_AND_BLAME = {
    "positive": "good great excellent best wonderful beautiful love enjoy fun funny moving smart fresh strong charming "
    "brilliant",
    "negative": "bad worst poor terrible awful boring dull stupid silly weak lame tired flat empty fails mess",
}
"""Label -> words that describe it in any review."""
ARMS: dict[str, dict[str, Any]] = {
    "question and words": {},
    "question alone": {"words": False},
    "29 small questions and words": {"questions": (*GENERAL, *OF_MOVIES)},
    "29 small questions alone": {
        "questions": (*GENERAL, *OF_MOVIES),
        "optimizer": "questions",
        "words": False,
    },
}


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve the model while the block runs, and give its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-c",
        "from sparrow_decider.cli import main; main()",
        "serve",
        "--port",
        str(port),
    ]
    with (
        (folder / "server.log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as server,
    ):
        try:
            address = f"http://127.0.0.1:{port}"
            for _ in range(100):
                with suppress(OSError):
                    urllib.request.urlopen(address, timeout=5).close()
                    break
                time.sleep(0.1)
            yield address
        finally:
            server.kill()


def compiled(arm: str, seed: int, count: int, address: str, packages: Path, folder: Path) -> dict[str, Any]:
    """Return the figures of one compilation."""
    gold = folder / f"movies-{seed}.jsonl"
    rows = sampled(movies(packages), "opinion", count, seed)
    gold.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    os.environ["XDG_DATA_HOME"] = str(folder / "data" / f"{arm}-{seed}")
    judge = TASKS["movies"][1].with_metric(METRIC)
    model = jurist.Model(name="systemone/sparrow", api_base=address)
    made = jurist.compile(
        judge,
        gold=str(gold),
        model=model,
        shares=SHARES,
        seed=seed,
        budget=Budget(calls=20_000),
        store=folder / "store" / f"{arm}-{seed}",
        **ARMS[arm],
    )
    card = made.artifact.card
    scores = card["scores"] or {}
    spent = card["spend"]["by_purpose"]["total"]["calls"]
    row = {"arm": arm, "seed": seed, "verdict": card["decision"]["verdict"], "calls": spent}
    row["decides"] = (card.get("setting") or {}).get("words", {}).get("decide", "question")
    if "compiled" in scores:
        row["basic"] = scores["basic"][METRIC]["value"]
        row["compiled"] = scores["compiled"][METRIC]["value"]
    else:
        row["basic"] = row["compiled"] = zero_shot(judge, model, gold, seed)
    for name in ("words", "neighbours"):
        reference = (card.get("references") or {}).get(name)
        if reference:
            row[name] = reference["score"]
    return row


def zero_shot(judge: jurist.Judge, model: jurist.Model, gold: Path, seed: int) -> float:
    """Return the score of the basic question on the rows that a compilation left unopened."""
    asker = Asker(judge=judge, program=judge.basic(), lm=connect(model, CallContext.fresh()))
    cases = jurist.Gold.load(gold, judge).split(seed, SHARES).test
    right: dict[object, list[bool]] = {}
    for case, verdict in zip(cases, asker.ask_all(cases), strict=True):
        assert case.gold is not None
        right.setdefault(case.gold[0], []).append(verdict.values == case.gold)
    return statistics.mean(map(statistics.mean, right.values()))


def interval(values: Sequence[float]) -> str:
    """Return the mean over seeds and its 95 % interval, by Student's t."""
    mean = statistics.mean(values)
    if len(values) < 2:
        return f"{mean:.3f}"
    reach = float(student.ppf(0.975, len(values) - 1)) * statistics.stdev(values) / math.sqrt(len(values))
    return f"{mean:.3f} [{mean - reach:.3f}, {mean + reach:.3f}]"


def table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table: of each arm the scores, the gain, and how many compilations were proven."""
    yield f"| | {METRIC} on the sealed rows, mean over seeds [95 % interval] | gain | shown better | calls |"
    yield "|---|---|---|---|---|"
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    first = [row for row in rows if row["arm"] == arms[0]]
    yield f"| the basic question, without labels | {interval([row['basic'] for row in first])} | | | |"
    words = [row["words"] for row in first if "words" in row]
    if words:
        yield f"| a regression on words (no model) | {interval(words)} | | | |"
    for arm in arms:
        of_arm = [row for row in rows if row["arm"] == arm]
        gains = [row["compiled"] - row["basic"] for row in of_arm]
        better = sum(row["verdict"] == "better" for row in of_arm)
        calls = statistics.mean(row["calls"] for row in of_arm)
        scores = interval([row["compiled"] for row in of_arm])
        yield f"| {arm} | {scores} | {interval(gains)} | {better} of {len(of_arm)} | {calls:.0f} |"


def parts_table(packages: Path, labels: int, seeds: Sequence[int]) -> Iterator[str]:
    """Yield the lines of a table: by regressions on so many labels, the score on 1,000 other rows of each part.

    The model makes one vector of a text, and every answer to a question follows from it: a regression on that vector
    reaches what questions can reach at most.
    """
    decider = Decider.load()
    instructions = TASKS["movies"][1].signature.instructions
    choices = {"positive": "", "negative": ""}
    own_question = {"type": "choice", "instructions": instructions, "criteria": choices}
    described_question = {**own_question, "criteria": PRAISE_AND_BLAME}
    nouls = {text: {"type": "noul", "instructions": text} for text in (*GENERAL, *OF_MOVIES)}
    scores: dict[str, list[float]] = {}
    for seed in seeds:
        rows = sampled(movies(packages), "opinion", labels + 1000, seed)
        random.Random(seed).shuffle(rows)
        is_negative = np.array([row["opinion"] == "negative" for row in rows])
        columns: dict[str, list[list[float]]] = {"own": [], "described": [], "questions": [], "vector": []}
        for row in rows:
            text = row["sentence"]
            said = decider.ask(text, {"own": own_question, "described": described_question, **nouls})
            for name in ("own", "described"):
                columns[name].append([logit(said[name]["probabilities"]["negative"])])
            columns["questions"].append([logit(said[name]["noul"]) for name in nouls])
            columns["vector"].append(list(decider.static._n(decider.static._pool(text))))
        texts = [row["sentence"] for row in rows]
        grams = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True).fit(texts[:labels]).transform(texts)
        own = np.array(columns["own"])
        answers = np.hstack([own, np.array(columns["questions"])])
        odds = {
            "words": log_odds(grams, is_negative, labels, 3.0),
            "head on the small questions": log_odds(standardised(answers, labels), is_negative, labels, 0.1),
            "all that the model sees of a text": log_odds(
                np.array(columns["vector"]), is_negative, labels, 1.0
            ),
            "the model's own answer": log_odds(own, is_negative, labels, 1.0),
            "16 words describe each label": log_odds(
                np.array(columns["described"]), is_negative, labels, 1.0
            ),
        }
        odds["own answer and words"] = odds["the model's own answer"] + odds["words"]
        odds["16 words describe each label, and words"] = odds["16 words describe each label"] + odds["words"]
        odds["head and words"] = odds["head on the small questions"] + odds["words"]
        for name, values in odds.items():
            score = balanced_accuracy_score(is_negative[labels:], values > 0)
            scores.setdefault(name, []).append(float(score))
    yield f"| part, {labels} labels | {METRIC} [95 % interval] |"
    yield "|---|---|"
    for name, values_of_seeds in scores.items():
        yield f"| {name} | {interval(values_of_seeds)} |"


def logit(probability: float) -> float:
    """Return the log odds of a probability, at most those of 1 in 10,000."""
    inside = min(max(probability, 1e-4), 1 - 1e-4)
    return math.log(inside / (1 - inside))


def standardised(columns: Any, labels: int) -> Any:
    """Return columns with the mean 0 and the deviation 1 over the first rows, which have labels."""
    deviation = columns[:labels].std(axis=0)
    return (columns - columns[:labels].mean(axis=0)) / np.where(deviation > 1e-9, deviation, 1.0)


def log_odds(columns: Any, is_negative: Any, labels: int, inverse_penalty: float) -> Any:
    """Return the log odds that a regression on the first rows gives to the others."""
    model = LogisticRegression(C=inverse_penalty, class_weight="balanced", max_iter=1000)
    return model.fit(columns[:labels], is_negative[:labels]).decision_function(columns[labels:])


def main() -> None:
    """Make what is missing, and print the table."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--packages", type=Path, required=True, help="the folder of the downloaded package")
    options.add_argument("--rows", type=int, default=220, help="half of them are sealed")
    options.add_argument("--seeds", nargs="+", type=int, default=list(range(10)))
    options.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    options.add_argument(
        "--parts",
        action="store_true",
        help="print instead what regressions on the parts reach: the small questions, words, and all that the model "
        "sees of a text",
    )
    options.add_argument("--out", type=Path, default=Path("benchmark-decision-model.jsonl"))
    chosen = options.parse_args()
    if chosen.parts:
        print(*parts_table(chosen.packages, chosen.rows // 2, chosen.seeds), sep="\n")
        return
    done: list[dict[str, Any]] = []
    if chosen.out.exists():
        done = [json.loads(line) for line in chosen.out.read_text(encoding="utf-8").splitlines()]
    made = {(row["arm"], row["seed"]) for row in done}
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as address:
        for seed in chosen.seeds:
            for arm in chosen.arms:
                if (arm, seed) in made:
                    continue
                row = compiled(arm, seed, chosen.rows, address, chosen.packages, Path(name))
                done.append(row)
                with chosen.out.open("a", encoding="utf-8") as out:
                    out.write(f"{json.dumps(row)}\n")
    print(*table(done), sep="\n")


if __name__ == "__main__":
    main()
