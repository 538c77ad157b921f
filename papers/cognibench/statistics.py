"""The counts of CogniBench's Table 2 and Figures 5 to 7 and 11, for any labelled responses.

Labels are those of people, or of a judge that labelled the same responses. The turn of a response is the number of
user messages up to it. A place in a response is a fifth of its sentences, by their numbers.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ...cases import Case, Values
from ...evaluation.intervals import Share
from ...evaluation.plain import plain_fields
from ...gold.goldset import Gold
from ...keeping.logs import Log
from ...programs.cognibench import HALLUCINATED, statement_type
from ...report.table import Table, table
from ...signatures.cognibench_labels import LABELS
from ...text.wording import count_words, is_chinese

PLACES: Final = 5
"""The parts of a response in which hallucinated sentences are counted (Figure 7, bottom)."""
_TYPES: Final = ("factual", "cognitive", "irrelevant")
_USER: Final = "user:"


@dataclass(frozen=True, kw_only=True)
class WordCounts:
    """The words of some texts."""

    least: int
    most: int
    mean: float

    @classmethod
    def of(cls, texts: Sequence[str]) -> "WordCounts":
        """Count the words of at least one text."""
        counts = [table_word_count(text) for text in texts]
        return cls(least=min(counts), most=max(counts), mean=sum(counts) / len(counts))

    def __str__(self) -> str:
        return f"{self.least}-{self.most} ({self.mean:.2f})"


def table_word_count(text: str) -> int:
    """Return the number of words as Table 2 counts them: parts between spaces; each Chinese character is one."""
    if is_chinese(text):
        return count_words(text)
    return len(text.split())


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """A line of Table 2."""

    responses: int
    conversations: int
    labelled_sentences: int
    context_words: WordCounts  # of the reference of each response
    response_words: WordCounts


@dataclass(frozen=True, kw_only=True)
class TurnCounts:
    """The labelled sentences of the responses of one turn (Figure 5, and the top of Figure 7)."""

    turn: int  # from 1
    responses: int
    factual: int
    cognitive: int
    irrelevant: int
    factual_hallucinated: int
    cognitive_hallucinated: int


@dataclass(frozen=True, kw_only=True)
class PlaceCounts:
    """The labelled sentences of one part of all responses (Figure 7, bottom)."""

    place: int  # from 1, the beginning of a response
    sentences: int
    factual_hallucinated: int
    cognitive_hallucinated: int


@dataclass(frozen=True, kw_only=True)
class DatasetStatistics:
    """The statistics of a data set."""

    gold: str  # its name
    labels_from: str  # people, or a log
    all_responses: Sizes
    labelled_responses: Sizes | None  # ``None`` if no response has a label
    labels: Mapping[str, int]  # label -> sentences (Figure 6)
    factual_hallucinated: Share  # of the factual sentences (section 4.4), with an interval by conversation
    cognitive_hallucinated: Share  # of the cognitive sentences
    turns: tuple[TurnCounts, ...]
    places: tuple[PlaceCounts, ...]
    # topic -> responses, the most frequent first (Figure 11); empty if no row has one
    topics: Mapping[str, int]

    @classmethod
    def of(cls, gold: Gold, log: Log | None = None) -> "DatasetStatistics":
        """Count the responses of gold, with its own labels or with those of a log."""
        responses: list[tuple[Case, Values]] = []
        labels_from = "gold"
        for case in gold.cases:
            labels = case.gold or ()
            if log is not None:
                verdict = log.verdict_of_id.get(case.id)
                labels = () if verdict is None else verdict.values
            responses.append((case, labels))
        if log is not None:
            labels_from = log.name
        labelled = [(case, labels) for case, labels in responses if any(labels)]
        label_counts = Counter[str]()
        for _, labels in labelled:
            label_counts.update(str(label) for label in labels if label)
        labelled_sizes = _sizes(labelled) if labelled else None
        return cls(
            gold=gold.name,
            labels_from=labels_from,
            all_responses=_sizes(responses),
            labelled_responses=labelled_sizes,
            labels={label: label_counts[label] for label in LABELS},
            factual_hallucinated=_hallucinated_share(labelled, "factual"),
            cognitive_hallucinated=_hallucinated_share(labelled, "cognitive"),
            turns=tuple(_turn_counts(labelled)),
            places=tuple(_place_counts(labelled)),
            topics=_topic_counts(gold.cases),
        )

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        return {"table": "cognibench-2", **plain_fields(self)}

    def sheets(self) -> list[Table]:
        """Return a table for Table 2, and one each for what Figures 5, 6, 7 and 11 show."""
        sheets = [self._size_table()]
        if self.labelled_responses is not None:
            sheets += [self._label_table(), self._turn_table(), self._place_table()]
        if self.topics:
            sheets.append(self._topic_table())
        return sheets

    def _size_table(self) -> Table:
        rows = [_size_row("all responses", self.all_responses)]
        if self.labelled_responses is not None:
            rows.append(_size_row("labelled responses", self.labelled_responses))
        columns = (
            "",
            "responses",
            "conversations",
            "labelled sentences",
            "context words: min-max (mean)",
            "words per response",
        )
        return table(f"{self.gold}: sizes (CogniBench Table 2)", columns, rows)

    def _label_table(self) -> Table:
        rows = []
        totals = Counter[str]()
        for label, count in self.labels.items():
            totals[statement_type(label)] += count
        for label, count in self.labels.items():
            kind = statement_type(label)
            share = "-"
            if totals[kind]:
                share = f"{count / totals[kind]:.3f}"
            rows.append([kind, label, count, share])
        title = (
            f"labels (Figure 6, section 4.4), from {self.labels_from}; hallucinated of factual sentences "
            f"{self.factual_hallucinated}, of cognitive ones {self.cognitive_hallucinated}"
        )
        return table(title, ("type", "label", "sentences", "share of its type"), rows)

    def _turn_table(self) -> Table:
        rows = []
        for counts in self.turns:
            row: list[object] = [counts.turn, counts.responses]
            for number in (
                counts.factual,
                counts.cognitive,
                counts.irrelevant,
                counts.factual_hallucinated,
                counts.cognitive_hallucinated,
            ):
                row.append(f"{number / counts.responses:.2f}")
            rows.append(row)
        columns = (
            "turn",
            "responses",
            "factual",
            "cognitive",
            "irrelevant",
            "factual hallucinated",
            "cognitive hallucinated",
        )
        return table("sentences per response, by turn (Figure 5; top of Figure 7)", columns, rows)

    def _place_table(self) -> Table:
        totals = Counter[str]()
        for counts in self.places:
            totals["factual"] += counts.factual_hallucinated
            totals["cognitive"] += counts.cognitive_hallucinated
        rows = []
        for counts in self.places:
            rows.append(
                [
                    f"{counts.place} of {PLACES}",
                    counts.sentences,
                    _count_and_share(counts.factual_hallucinated, totals["factual"]),
                    _count_and_share(counts.cognitive_hallucinated, totals["cognitive"]),
                ]
            )
        columns = ("part of the response", "sentences", "factual hallucinated", "cognitive hallucinated")
        title = "hallucinated sentences by their place in the response, with their share (bottom of Figure 7)"
        return table(title, columns, rows)

    def _topic_table(self) -> Table:
        total = sum(self.topics.values())
        rows = [[topic, _count_and_share(count, total)] for topic, count in self.topics.items()]
        return table("responses by topic, with their share (Figure 11)", ("topic", "responses"), rows)


def _size_row(name: str, sizes: Sizes) -> list[object]:
    """Return a line of Table 2."""
    return [
        name,
        sizes.responses,
        sizes.conversations,
        sizes.labelled_sentences,
        sizes.context_words,
        sizes.response_words,
    ]


def _count_and_share(count: int, total: int) -> str:
    """Return a count and its share of a total."""
    if not total:
        return str(count)
    return f"{count} ({count / total:.3f})"


def _sizes(responses: Sequence[tuple[Case, Values]]) -> Sizes:
    """Return the line of Table 2 about some responses, of which there is one at least."""
    labelled_sentences = 0
    for _, labels in responses:
        labelled_sentences += len([label for label in labels if label])
    return Sizes(
        responses=len(responses),
        conversations=len({case.group for case, _ in responses}),
        labelled_sentences=labelled_sentences,
        context_words=WordCounts.of([str(case.inputs["reference"]) for case, _ in responses]),
        response_words=WordCounts.of([_response_text(case) for case, _ in responses]),
    )


def _response_text(case: Case) -> str:
    """Return the response of a case; its sentences if the row has no more."""
    return str(case.row.get("response") or "") or " ".join(case.inputs["sentences"])


def turn_of(case: Case) -> int:
    """Return the number of a response in its conversation: the user's messages up to it; 1 if there are none."""
    lines = str(case.inputs["dialogue"]).splitlines()
    return max(1, len([line for line in lines if line.startswith(_USER)]))


def _topic_counts(cases: Iterable[Case]) -> dict[str, int]:
    """Return topic -> number of cases, the most frequent first; cases without a topic count for none."""
    counts = Counter(str(case.row["topic"]) for case in cases if case.row.get("topic"))
    return dict(counts.most_common())


def _hallucinated_share(labelled: Iterable[tuple[Case, Values]], kind: str) -> Share:
    """Return the share of hallucinated sentences among those of a type."""
    items: list[tuple[str, float, float]] = []
    for case, labels in labelled:
        for label in labels:
            if label and statement_type(str(label)) == kind:
                items.append((case.group, float(label in HALLUCINATED), 1.0))
    return Share.over(items)


def _turn_counts(labelled: Sequence[tuple[Case, Values]]) -> list[TurnCounts]:
    """Return the counts of each turn, in order."""
    responses = Counter(turn_of(case) for case, _ in labelled)
    counts = _count_by(labelled, lambda case, position: turn_of(case))
    turns = []
    for turn in sorted(responses):
        turns.append(TurnCounts(turn=turn, responses=responses[turn], **_type_counts(counts, turn)))
    return turns


def _place_counts(labelled: Sequence[tuple[Case, Values]]) -> list[PlaceCounts]:
    """Return the counts of each part of the responses, in order."""
    counts = _count_by(
        labelled, lambda case, position: position * PLACES // len(case.inputs["sentences"]) + 1
    )
    places = []
    for place in range(1, PLACES + 1):
        of_type = _type_counts(counts, place)
        places.append(
            PlaceCounts(
                place=place,
                sentences=of_type["factual"] + of_type["cognitive"] + of_type["irrelevant"],
                factual_hallucinated=of_type["factual_hallucinated"],
                cognitive_hallucinated=of_type["cognitive_hallucinated"],
            )
        )
    return places


def _count_by(
    labelled: Iterable[tuple[Case, Values]], key_of: Callable[[Case, int], int]
) -> Counter[tuple[int, str]]:
    """Count labels by the key of their sentence, which is made of its case and its position from 0."""
    counts = Counter[tuple[int, str]]()
    for case, labels in labelled:
        for position, label in enumerate(labels):
            if label:
                counts[key_of(case, position), str(label)] += 1
    return counts


def _type_counts(counts: Mapping[tuple[int, str], int], key: int) -> dict[str, int]:
    """Return the sentences of each type under a key, and those of them that are hallucinated."""
    type_counts = dict.fromkeys((*_TYPES, "factual_hallucinated", "cognitive_hallucinated"), 0)
    for label in LABELS:
        count = counts.get((key, label), 0)
        type_counts[statement_type(label)] += count
        if label in HALLUCINATED:
            type_counts[f"{statement_type(label)}_hallucinated"] += count
    return type_counts
