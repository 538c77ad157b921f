"""The Markdown tables of ``scoreboard.py``, from the lines of its file of results."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from jurist.errors import plural

Line: TypeAlias = Mapping[str, Any]
"""A line of the file of results: one cell, run or not."""

FREE = ("constant", "words", "neighbours")
"""The contenders without a language model."""
TITLES = {
    "refitted": "jurist, refitted",
    "mipro": "DSPy MIPROv2",
    "gepa": "DSPy GEPA",
    "memalign": "MLflow MemAlign",
}


def tables(lines: Sequence[Line], contenders: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the Markdown tables: scores by number of labels, costs, claims, and what was not run."""
    finished = select(lines, status="run")
    for labels in distinct(finished, "labels"):
        yield f"\nHeld-out score with {labels} labels: mean over seeds, with half of the 95 % interval of one seed.\n"
        yield from score_table(select(finished, labels=labels), contenders)
    yield "\nWhat learning takes, mean over sets and seeds; tokens a row are those of answering afterwards.\n"
    yield from cost_table(finished, contenders)
    yield "\nPrompts that contenders offer.\n"
    yield from claim_table(finished, contenders)
    reasons = list(not_run_words(lines))
    if reasons:
        yield "\nNot run:\n"
        yield from reasons


def select(lines: Sequence[Line], **values: object) -> list[Line]:
    """Return the lines that have some values."""
    return [line for line in lines if all(line[name] == value for name, value in values.items())]


def distinct(lines: Sequence[Line], name: str) -> list[Any]:
    """Return the values of a name, in the order of the lines."""
    return list(dict.fromkeys(line[name] for line in lines))


def mean_of(lines: Sequence[Line], name: str) -> float:
    """Return the mean of a value."""
    return float(statistics.mean(line[name] for line in lines))


def score_table(lines: Sequence[Line], contenders: Sequence[str]) -> Iterator[str]:
    """Yield a row for each set, with the score of each contender and how far jurist is ahead of what is free."""
    titles = [title_of(contender) for contender in contenders]
    ends = ["jurist's best prompt", "jurist less the best free", "refitted less the best"]
    yield row(["set (metric, rows, seeds)"] + titles + ends)
    yield "|" + "---|" * (len(contenders) + 1 + len(ends))
    for name in distinct(lines, "set"):
        yield row(score_cells(select(lines, set=name), contenders))


def score_cells(lines: Sequence[Line], contenders: Sequence[str]) -> list[str]:
    """Return the cells of one set."""
    seeds = len(distinct(lines, "seed"))
    about = lines[0]
    cells = [f"{about['set']} ({about['metric']}, {mean_of(lines, 'held_out'):.0f}, {seeds})"]
    means: dict[str, float] = {}
    for contender in contenders:
        own = select(lines, contender=contender)
        cell = "-"
        if own:
            means[contender] = mean_of(own, "score")
            half = (mean_of(own, "high") - mean_of(own, "low")) / 2
            cell = f"{means[contender]:.3f} ±{half:.3f}"
            if len(own) < seeds:
                cell += f" ({plural(len(own), 'seed')})"
        cells.append(cell)
    by_jurist = select(lines, contender="jurist")
    best_prompt = ahead = refitted_ahead = "-"
    rivals = [means[contender] for contender in (*FREE, "basic") if contender in means]
    if rivals and "refitted" in means:
        refitted_ahead = f"{means['refitted'] - max(rivals):+.3f}"
    if by_jurist:
        best_prompt = f"{mean_of(by_jurist, 'chosen_score'):.3f}"
        free_means = [means[contender] for contender in FREE if contender in means]
        if free_means:
            ahead = f"{means['jurist'] - max(free_means):+.3f}"
    return cells + [best_prompt, ahead, refitted_ahead]


def cost_table(lines: Sequence[Line], contenders: Sequence[str]) -> Iterator[str]:
    """Yield a row for each contender with its mean calls, tokens and seconds."""
    yield row(["contender", "labels", "cells", "calls", "tokens", "tokens a row", "seconds"])
    yield "|" + "---|" * 7
    for contender, labels, own in by_contender(lines, contenders):
        cells = [contender, labels, str(len(own))]
        for name in ("calls", "tokens", "tokens_a_row", "seconds"):
            cells.append(f"{mean_of(own, name):,.0f}")
        yield row(cells)


def claim_table(lines: Sequence[Line], contenders: Sequence[str]) -> Iterator[str]:
    """Yield a row for each contender that offers prompts.

    A prompt is hollow if it is offered for use and is no better than the basic prompt, or than the best constant
    answer, on the held-out rows. A gain is real if the interval of the difference from the basic prompt lies above 0.
    """
    yield row(["contender", "labels", "cells", "offered for use", "hollow", "real gains", "of these offered"])
    yield "|" + "---|" * 7
    constants = select(lines, contender="constant")
    with_gain = [line for line in lines if "over_basic" in line]
    for contender, labels, own in by_contender(with_gain, contenders):
        offered = select(own, promoted=True)
        hollow = [line for line in offered if is_hollow(line, constants)]
        real = [line for line in own if line["over_basic"]["low"] > 0]
        counts = (own, offered, hollow, real, select(real, promoted=True))
        yield row([contender, labels] + [str(len(counted)) for counted in counts])


def is_hollow(line: Line, constants: Sequence[Line]) -> bool:
    """Say whether a prompt is no better on held-out rows than the basic one, or than the best constant answer."""
    if line["over_basic"]["difference"] <= 0:
        return True
    split = {name: line[name] for name in ("set", "labels", "seed", "model")}
    return any(line["score"] <= constant["score"] for constant in select(constants, **split))


def by_contender(
    lines: Sequence[Line], contenders: Sequence[str]
) -> Iterator[tuple[str, str, Sequence[Line]]]:
    """Yield title, number of labels and lines of each contender that has lines, by number of labels."""
    for contender in contenders:
        of_contender = select(lines, contender=contender)
        for labels in sorted(distinct(of_contender, "labels")):
            yield title_of(contender), str(labels), select(of_contender, labels=labels)


def not_run_words(lines: Sequence[Line]) -> Iterator[str]:
    """Yield a line for each reason why cells of a set were not run, with the contenders that it concerns."""
    titles_of_reason: dict[str, list[str]] = {}
    for line in lines:
        if line["status"] == "run":
            continue
        titles = titles_of_reason.setdefault(f"{line['set']}, {line['labels']} labels: {line['why']}", [])
        title = title_of(line["contender"])
        if title not in titles:
            titles.append(title)
    for reason, titles in titles_of_reason.items():
        yield f"- {reason} ({', '.join(titles)})"


def title_of(contender: str) -> str:
    """Return the name of a contender in tables."""
    return TITLES.get(contender, contender)


def row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return "| " + " | ".join(cells) + " |"
