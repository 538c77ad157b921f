"""The differences of two versions, in prompt, demonstrations, settings and scores; and the history of a version."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from ..errors import plural
from ..keeping.artifact_card import Artifact, read_json_prompt
from ..keeping.artifacts import Store
from ..keeping.card import Card
from ..keeping.card_parts import BY_HAND
from ..keeping.naming import compiled_judge_of
from ..keeping.records import CandidateRecord, PartScore
from ..programs.options import JUDGE_OPTIONS
from ..programs.state import PredictorPrompt, PromptState, candidate_names
from ..text.templates import CHAT, JSON, PLAIN
from .document import Change, Changes, Word, readable_text
from .scores import Scores, metric_cell, number_cell
from .table import Table, table

KEPT_PROMPT = "the basic prompt was kept"
"""What is said of a prompt that compiling did not change."""
_STAR_WORDS = " (* became the artifact)"
_MARKS = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
_NO_PROMPT = PredictorPrompt(instructions="")
ADAPTER_WORDS: Mapping[str, str] = {PLAIN: "your text as it stands", CHAT: "chat layout", JSON: "JSON layout"}
"""Adapter of a prompt -> its name for people."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the two versions that are compared."""

    name: str  # ``JUDGE@VERSION`` or ``JUDGE:basic``
    state: PromptState  # its prompt
    adapter: str = CHAT  # the adapter of its prompt
    card: Card | None = None  # of the artifact; ``None`` for a basic prompt
    # metric -> score on its own sealed test; empty if it was never proven
    scores: Scores = field(default_factory=dict)

    @classmethod
    def of(cls, artifact: Artifact, basic: PromptState | None = None) -> "Side":
        """Return an artifact as a side, or ``basic``, the basic prompt that it was proven against."""
        card = artifact.about
        basic_adapter, compiled_adapter = card.forms
        if basic:
            return cls(
                name=f"{artifact.judge}:basic",
                state=basic,
                adapter=basic_adapter,
                scores=card.proven_scores.get("basic") or {},
            )
        return cls(
            name=artifact.ref,
            state=artifact.state,
            adapter=compiled_adapter,
            card=card,
            scores=card.proven_scores.get("compiled") or {},
        )


def prompt_difference(first: Side, second: Side) -> str:
    """Return the changes of a prompt: ``[-removed-]`` and ``{+added+}`` words of each instruction that changed, and
    the demonstrations that went (``-``) and came (``+``); empty if nothing did.
    """
    first_prompts, second_prompts = first.state.predictors, second.state.predictors
    lines: list[str] = []
    if first.adapter != second.adapter:
        lines.append(f"## form: {_adapter_change(first.adapter, second.adapter)}")
    for name in sorted(first_prompts.keys() | second_prompts.keys()):
        if name not in second_prompts:
            lines.append(f"## {name}: gone")
        else:
            lines += _difference_of_step(name, first_prompts.get(name, _NO_PROMPT), second_prompts[name])
    if not lines:
        return ""
    return "\n".join([f"--- {first.name}", f"+++ {second.name}"] + lines)


def _difference_of_step(name: str, first: PredictorPrompt, second: PredictorPrompt) -> list[str]:
    """Return the changes of the prompt of one step, as lines; none without a change."""
    lines = []
    if first.instructions != second.instructions:
        words = word_changes(first.instructions, second.instructions)
        lines.append(f"## {name}: instruction")
        marked_text = ""
        for word in words:
            marked_text += _MARKS[word.change].format(word.text)
        lines.append(marked_text)
    first_examples, second_examples = Counter(_examples(first)), Counter(_examples(second))
    if first_examples != second_examples:
        lines.append(f"## {name}: demonstrations")
    first_shown, second_shown = _shown_words(first), _shown_words(second)
    if first_shown != second_shown:
        lines.append(f"## {name}: shown with each row: {first_shown or 'all'} -> {second_shown or 'all'}")
    for mark, examples in (("-", first_examples - second_examples), ("+", second_examples - first_examples)):
        for text in examples.elements():
            lines.append(f"{mark} {text}".replace("\n", "\n  "))
    return lines


def setting_rows(first: Side, second: Side) -> list[list[str]]:
    """Return the settings that differ, each as name, first value, second value; none if a side has no card."""
    if first.card is None or second.card is None:
        return []
    second_settings = _compared_settings(second.card)
    rows = []
    for setting, value in _compared_settings(first.card).items():
        row = [setting, str(value), str(second_settings[setting])]
        if row[1] != row[2]:
            rows.append(row)
    return rows


def _compared_settings(card: Card) -> dict[str, object]:
    """Return the settings of a version that are compared: name for people -> value."""
    thresholds = card.thresholds
    settings: dict[str, object] = {
        "model": card.model.name or None,
        "temperature": card.model.temperature,
        "prompts written by": card.prompt_model.name or None,
        "verified by": ", ".join(card.verifiers) or None,
        "samples": None,
        "threshold": thresholds.threshold,
        "several scores": thresholds.combine,
        "adapter": card.adapter,
        "structure": card.structure,
        "own answer to": None,
    }
    if card.setting.own_answer_request is not None:
        settings["own answer to"] = ", ".join(card.setting.own_answer_request.task)
    if "samples" in thresholds.model_fields_set:
        settings["samples"] = thresholds.samples
    for option in JUDGE_OPTIONS:
        settings[option] = card.option_values.get(option)
    settings |= {
        "optimizer": card.optimizer.name,
        "seed": card.optimizer.seed,
        "gold": card.gold.name,
        "gold sha256": card.gold.sha256,
        "parent": card.parent,
    }
    return settings


def score_rows(first: Side, second: Side) -> Table | None:
    """Return the scores of both, each on its own sealed test; ``None`` if neither was proven."""
    metrics = list(dict.fromkeys(list(first.scores) + list(second.scores)))
    if not metrics:
        return None
    rows = []
    for metric in metrics:
        rows.append([metric, metric_cell(first.scores.get(metric)), metric_cell(second.scores.get(metric))])
    return table("each on its own sealed test", ["metric [95 % interval]", first.name, second.name], rows)


_QUOTED = 12
"""Words of a new text that are quoted, at most."""
_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")


def word_changes(old_text: str, new_text: str) -> tuple[Word, ...]:
    """Return the runs of words that stayed, were removed or were added; a removed run precedes an added one."""
    old_words, new_words = _TOKEN.findall(old_text), _TOKEN.findall(new_text)
    runs: list[Word] = []
    matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        run_text = "".join(new_words[new_start:new_end])
        if kind == "equal":
            runs.append(Word(run_text, "same"))
        else:
            runs.append(Word("".join(old_words[old_start:old_end]), "removed"))
            runs.append(Word(run_text, "added"))
    return tuple(run for run in runs if run.text)


def prompt_changes(basic: PromptState, compiled: PromptState) -> tuple[Changes, ...]:
    """Return, for each predictor, the changes of its instruction, and the demonstrations that it has now."""
    has_steps = len(compiled.predictors) > 1
    changes = []
    for name, prompt in sorted(compiled.predictors.items()):
        basic_prompt = basic.predictors.get(name, _NO_PROMPT)
        changes.append(
            Changes(
                title=f"instruction of {name}" if has_steps else "instruction",
                words=word_changes(basic_prompt.instructions, prompt.instructions),
                examples=_examples(prompt),
            )
        )
    return tuple(changes)


def _examples(prompt: PredictorPrompt) -> tuple[str, ...]:
    """Return the demonstrations as text for people."""
    texts = []
    for demo in prompt.examples:
        lines = []
        for field_name, value in demo.items():
            lines.append(f"{field_name}: {readable_text(value, None)}")
        texts.append("\n".join(lines))
    return tuple(texts)


def _shown_words(prompt: PredictorPrompt) -> str:
    """Return in words how many demonstrations a prompt shows with each row; empty if it shows all."""
    if prompt.remembered is None:
        return ""
    return prompt.remembered.words


def change_words(basic: PromptState, compiled: PromptState, adapters: tuple[str, str]) -> str:
    """Return the changes of a prompt in one line: its form, how many words, how many demonstrations, and the first
    new words. ``forms`` are the forms of the basic and of the compiled prompt.
    """
    changes = prompt_changes(basic, compiled)
    parts = []
    basic_adapter, compiled_adapter = adapters
    if basic_adapter != compiled_adapter:
        parts.append(_adapter_change(basic_adapter, compiled_adapter))
    added_runs = _runs_of("added", changes)
    if added_runs:
        parts.append(f"{sum(map(len, added_runs))} words added")
    removed_runs = _runs_of("removed", changes)
    if removed_runs:
        parts.append(f"{sum(map(len, removed_runs))} words removed")
    demonstrations = sum(len(change.examples) for change in changes)
    if demonstrations:
        parts.append(plural(demonstrations, "demonstration") + _shown_with_each_row(compiled))
    if compiled.questions and compiled.questions != basic.questions:
        parts.append(f"asks {plural(len(compiled.questions), 'question')} besides")
    if not parts:
        return KEPT_PROMPT
    words = ", ".join(parts)
    if added_runs:
        longest_run = max(added_runs, key=len)
        words += f"; new: {' '.join(longest_run[:_QUOTED])}"
        if len(longest_run) > _QUOTED:
            words += " ..."
    return words


def _shown_with_each_row(state: PromptState) -> str:
    """Return a phrase about the first step that does not show all demonstrations with each row; else empty."""
    for prompt in state.predictors.values():
        remembered = _shown_words(prompt)
        if remembered:
            return f", each row sees {remembered}"
    return ""


def _runs_of(kind: Change, changes: Iterable[Changes]) -> list[list[str]]:
    """Return the words of each run that was added, or removed; a run of white space alone is left out."""
    runs = []
    for change in changes:
        for run in change.words:
            words = run.text.split()
            if run.change == kind and words:
                runs.append(words)
    return runs


def _adapter_change(first: str, second: str) -> str:
    """Return a change of the adapter in words; an adapter of a card that is not known here has its own name."""
    return f"{ADAPTER_WORDS.get(first, first)} -> {ADAPTER_WORDS.get(second, second)}"


def sign_of(artifact: Artifact) -> float:
    """Return -1.0 if less is better by the metric, else 1.0: the history has scores times this."""
    if artifact.about.decision.higher_is_better is False:
        return -1.0
    return 1.0


def basic_state(artifact: Artifact, store: Store) -> PromptState:
    """Return the basic prompt in the history of an artifact; without one, the judge's present basic prompt."""
    for candidate in artifact.candidates:
        if candidate.source == "basic" and candidate.prompt:
            return read_json_prompt(candidate.prompt, f"the basic prompt in the history of {artifact.ref}")
    return PromptState.of(compiled_judge_of(artifact, store).basic())


def history_table(artifact: Artifact) -> Table:
    """Return a table of the candidates of an artifact; the chosen one has a star."""
    chosen_id, names = artifact.about.optimizer.candidate, candidate_names_of(artifact)
    sign = sign_of(artifact)
    rows = []
    for candidate in artifact.candidates:
        mark = " *" if candidate.candidate == chosen_id else ""
        estimate = "-"
        if candidate.estimate:
            estimate = f"{sign * candidate.estimate.value:.3f} ± {candidate.estimate.error:.3f}"
        rows.append(
            [
                _text_cell(candidate.step),
                names[candidate.candidate],
                f"{candidate.candidate}{mark}",
                names.get(candidate.parent or "", "-"),
                candidate.source,
                _text_cell(candidate.calls),
                _score_cell(candidate.train, sign),
                _score_cell(candidate.dev, sign),
                number_cell(candidate.gain, "+.3f"),
                estimate,
            ]
        )
    columns = "step|name|candidate|parent|source|calls before|train|dev|gain on dev|estimate"
    title = artifact.ref
    if any(candidate.candidate == chosen_id for candidate in artifact.candidates):
        title += _STAR_WORDS
    return table(title, columns.split("|"), rows)


@dataclass(frozen=True, kw_only=True)
class RoundBest:
    """The best prompt of a round of a search, by its score on dev."""

    number: int  # of the round; 0 is the basic prompt
    name: str  # of the candidate
    candidate: str  # its id
    is_chosen: bool  # whether it became the artifact
    dev: PartScore

    def to_json(self) -> dict[str, object]:
        """Return it as JSON values."""
        return {
            "round": self.number,
            "name": self.name,
            "candidate": self.candidate,
            "chosen": self.is_chosen,
            "cases": self.dev.cases,
            "value": self.dev.value,
            "metrics": dict(self.dev.metrics),
        }


def best_of_rounds(artifact: Artifact) -> list[RoundBest]:
    """Return the best prompt of each round among those that were scored on as much of dev as any, first round first."""
    names = candidate_names_of(artifact)
    most_cases = max((candidate.dev.cases for candidate in artifact.candidates), default=0)
    best: dict[int, CandidateRecord] = {}
    for candidate in artifact.candidates:
        number = 0 if candidate.source == "basic" else candidate.step
        value = candidate.dev.value
        if number is None or value is None or candidate.dev.cases < most_cases:
            continue
        leader = best.get(number)
        if leader is None or leader.dev.value is None or value > leader.dev.value:
            best[number] = candidate
    rounds: list[RoundBest] = []
    for number, candidate in sorted(best.items()):
        rounds.append(
            RoundBest(
                number=number,
                name=names[candidate.candidate],
                candidate=candidate.candidate,
                is_chosen=candidate.candidate == artifact.about.optimizer.candidate,
                dev=candidate.dev,
            )
        )
    return rounds


def rounds_table(artifact: Artifact, rounds: Sequence[RoundBest]) -> Table:
    """Return a table of the best prompts of one or more rounds: dev scores, or the rates of a generator's checks."""
    sign = sign_of(artifact)
    metrics: dict[str, None] = {}
    for entry in rounds:
        metrics.update(dict.fromkeys(entry.dev.metrics))
    columns = ["round", "name", *(name.replace("_", " ") for name in metrics)]
    if not metrics:
        columns.append("dev")
    rows = []
    for entry in rounds:
        mark = " *" if entry.is_chosen else ""
        cells = [str(entry.number), f"{entry.name}{mark}"]
        if not metrics:
            cells.append(_score_cell(entry.dev, sign))
        for name in metrics:
            cells.append(number_cell(entry.dev.metrics.get(name), ".3f"))
        rows.append(cells)
    cases = max(entry.dev.cases for entry in rounds)
    title = f"{artifact.ref}: the best prompt of each round on {plural(cases, 'dev case')}"
    if any(entry.is_chosen for entry in rounds):
        title += _STAR_WORDS
    return table(title, columns, rows)


def no_rounds_words(artifact: Artifact) -> str:
    """Return why no prompt of a version was scored on dev, and the next command."""
    card = artifact.about
    start = f"{artifact.ref} has no rounds"
    if card.cascade is not None:
        return f"{start}: it is a cascade, which no optimizer searched for; next: jurist artifacts show {artifact.ref}"
    if card.optimizer.chosen_from:
        source = card.optimizer.chosen_from
        return f"{start}: it was made of {source} without a search; next: jurist artifacts show {source} --rounds"
    if card.optimizer.name == BY_HAND:
        return (
            f"{start}: a person wrote its instruction, and no optimizer ran; "
            f"next: jurist compile {artifact.judge} --gold FILE --start {artifact.ref}"
        )
    return f"{start}: no prompt was scored on dev; next: jurist artifacts show {artifact.ref} --history"


def candidate_names_of(artifact: Artifact) -> dict[str, str]:
    """Return id -> name of the candidates in an artifact's history."""
    return candidate_names((candidate.candidate, candidate.source) for candidate in artifact.candidates)


def _text_cell(value: object) -> str:
    """Return a value as text; a dash for ``None``."""
    return "-" if value is None else str(value)


def _score_cell(score: PartScore, sign: float) -> str:
    """Return a candidate's score on train or dev, and on how many cases; a dash without any."""
    return "-" if score.value is None else f"{sign * score.value:.3f} on {score.cases}"
