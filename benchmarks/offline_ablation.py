"""What each part of the offline engine is worth, on public human labels.

    python benchmarks/offline_ablation.py --data ../shared/data

Sentence F1 of hallucinated (invented, misleading, speculative) on CogniBench, and F1 of the
non-factual class on FECT, at temperature 0. Three tenths of the conversations (by a hash of their
id) were open while the engine was written; this reports on the others. Per seed their
conversations are halved: demonstrations come from one half, scores from the other.
"""

import argparse
import csv
import hashlib
import json
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import dspy

from jurist.engines.adapters import adapter
from jurist.engines.offline import OfflineEngine
from jurist.engines.offline.features import GROUPS
from jurist.signatures.cognibench import Tag, TagResponse
from jurist.signatures.fect import FectBasic

HALLUCINATED = {"invented", "misleading", "speculative"}
SEEDS = 5
DEMOS = (4, 8, 16, 32)


@dataclass(frozen=True, kw_only=True)
class Item:
    """One case: its group, its inputs, and gold per unit (None: unlabelled)."""

    group: str
    inputs: dict[str, str]
    gold: tuple[str | None, ...]

    @property
    def bad(self) -> float:
        """The share of labelled units in the positive class."""
        labelled = [g for g in self.gold if g]
        return sum(g in HALLUCINATED or g == "False" for g in labelled) / max(1, len(labelled))


@dataclass(frozen=True, kw_only=True)
class Task:
    """One benchmark: its signature, how answers are read, and which labels are positive."""

    name: str
    signature: type[dspy.Signature]
    read: Callable[[dspy.Prediction, int], list[str | None]]
    demo: Callable[[Item], dspy.Example]
    items: list[Item]


def held_out(identity: str) -> bool:
    """Whether a conversation was closed while the engine was written."""
    return int(hashlib.sha256(identity.encode()).hexdigest(), 16) % 10 >= 3


def _label(names: Sequence[str]) -> str | None:
    for name, label in (
        ("unequivocal", "irrefutable"),
        ("grounded", "reliable"),
        ("rational", "speculative"),
    ):
        if name in names:
            return label
    return names[0] if names else None


def load_cognibench(folder: Path) -> list[Item]:
    """Read labelled responses; the id without its last ``_N`` is the conversation."""
    dialogues = {row["id"]: row for row in json.loads((folder / "dialogues.json").read_text("utf-8"))}
    items = []
    for name, row in json.loads((folder / "labels.json").read_text("utf-8")).items():
        marked = sorted(row["sentence_label_dict"].items(), key=lambda pair: pair[1][1])
        turn = dialogues[name]["current_turn"]
        question, _, _ = turn.partition("<assistant>")
        before, _, _ = dialogues[name]["dialogue"].partition(question.strip())
        sentences = [" ".join(text.split()) for text, _ in marked]
        inputs = {
            "reference": dialogues[name]["reference"],
            "dialogue": f"{before.strip()}\n{question.strip()}".strip(),
            "sentences": "\n".join(f"{n}. {text}" for n, text in enumerate(sentences, 1)),
        }
        gold = tuple(_label(labels) for _, (labels, _) in marked)
        items.append(Item(group=name.rsplit("_", 1)[0], inputs=inputs, gold=gold))
    return [item for item in items if held_out(item.group)]


def load_fect(path: Path) -> list[Item]:
    """Read claims; the conversation is its own group."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        Item(
            group=row["conversation"],
            inputs={"conversation": row["conversation"], "claim": row["claim"]},
            gold=("True" if row["claim_is_factual"] == "TRUE" else "False",),
        )
        for row in rows
        if held_out(row["conversation"])
    ]


def _read_tags(answer: dspy.Prediction, count: int) -> list[str | None]:
    found = {tag.n: tag.label for tag in answer["labels"]}
    return [found.get(n) for n in range(1, count + 1)]


def _demo_tags(item: Item) -> dspy.Example:
    tags = [Tag(n=n, label=label) for n, label in enumerate(item.gold, 1) if label]  # type: ignore[arg-type]
    return dspy.Example(**item.inputs, labels=tags)


def tasks(data: Path) -> list[Task]:
    """Return both benchmarks."""
    return [
        Task(
            name="CogniBench",
            signature=TagResponse,
            read=_read_tags,
            demo=_demo_tags,
            items=load_cognibench(data / "cognibench"),
        ),
        Task(
            name="FECT",
            signature=FectBasic,
            read=lambda answer, count: [str(answer.factual)] * count,
            demo=lambda item: dspy.Example(**item.inputs, factual=item.gold[0] == "True"),
            items=load_fect(data / "fect" / "fect_benchmark.csv"),
        ),
    ]


def f1(predicted: Sequence[str | None], gold: Sequence[str]) -> float:
    """Return F1 of the positive class: hallucinated, or non-factual."""
    positive = HALLUCINATED | {"False"}
    pairs = [(p in positive, g in positive) for p, g in zip(predicted, gold, strict=True)]
    hit, said, true = sum(p and g for p, g in pairs), sum(p for p, _ in pairs), sum(g for _, g in pairs)
    return 2 * hit / (said + true) if said + true else 0.0


def split(items: Sequence[Item], seed: int) -> tuple[list[Item], list[Item]]:
    """Halve the conversations at random: (for demonstrations, for scores)."""
    groups = sorted({item.group for item in items})
    random.Random(seed).shuffle(groups)
    first = set(groups[: len(groups) // 2])
    return [item for item in items if item.group in first], [
        item for item in items if item.group not in first
    ]


def draw(pool: Sequence[Item], count: int, seed: int) -> list[Item]:
    """Draw demonstrations: half from the cases with most positive units, half from the others."""
    ordered = sorted(pool, key=lambda item: -item.bad)
    worst = [item for item in ordered if item.bad > 0]
    cut = min(len(worst), len(ordered) // 2)
    rng = random.Random(seed)
    bad, good = ordered[:cut], ordered[cut:]
    rng.shuffle(bad)
    rng.shuffle(good)
    half = min(len(bad), count // 2)
    return bad[:half] + good[: count - half]


def score(
    task: Task, signature: type[dspy.Signature], demos: int, seed: int, without: tuple[str, ...]
) -> float:
    """Return F1 on one split."""
    train, test = split(task.items, seed)
    program = dspy.Predict(signature)
    program.demos = [task.demo(item) for item in draw(train, demos, seed)] if demos else []
    lm = dspy.LM("jurist/offline", engine=OfflineEngine(without=without), cache=False, temperature=0.0)
    predicted: list[str | None] = []
    gold: list[str] = []
    with dspy.context(lm=lm, adapter=adapter("chat")):
        for item in test:
            labels = task.read(program(**item.inputs), len(item.gold))
            pairs = [(p, g) for p, g in zip(labels, item.gold, strict=True) if g]
            predicted += [p for p, _ in pairs]
            gold += [g for _, g in pairs]
    return f1(predicted, gold)


def variants(task: Task, demos: int) -> Iterator[tuple[str, type[dspy.Signature], int, tuple[str, ...]]]:
    """Yield the rows of the table: name, signature, demonstrations, feature groups left out."""
    bare = task.signature.with_instructions("Answer.")
    yield "prior only", bare, 0, ()
    yield "+ instruction", task.signature, 0, ()
    for count in DEMOS:
        yield f"+ instruction + {count} demonstrations", task.signature, count, ()
    yield f"{demos} demonstrations, no instruction", bare, demos, ()
    for group in GROUPS:
        yield f"{demos} demonstrations, without {group}", task.signature, demos, (group,)


def main() -> None:
    """Print one Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--data", type=Path, default=Path("../shared/data"), help="folder with cognibench/ and fect/"
    )
    parser.add_argument(
        "--demos", type=int, default=16, help="demonstrations in the rows that leave something out"
    )
    options = parser.parse_args()
    if not options.data.is_dir():
        parser.error(f"no folder {options.data}: give the public data with --data")
    table: dict[str, list[str]] = {}
    loaded = tasks(options.data)
    for task in loaded:
        for name, signature, count, without in variants(task, options.demos):
            scores = [score(task, signature, count, seed, without) for seed in range(SEEDS)]
            cell = f"{statistics.mean(scores):.3f} ± {statistics.stdev(scores):.3f}"
            table.setdefault(name, []).append(cell)
    print("| variant | " + " | ".join(f"{task.name} ({len(task.items)} cases)" for task in loaded) + " |")
    print("|---|" + "---|" * len(loaded))
    for name, cells in table.items():
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
