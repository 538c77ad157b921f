"""Proposals of instructions: the inputs of a proposer, its usable replies, and how much it copied from train.

An instruction that quotes training cases is a demonstration in disguise: it fits those cases and leaks them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import dspy
from dspy import AdapterParseError, LMError

from ..cases import Case
from ..engines.failures import ROW_REFUSED, fatal, jurist_error_in, kind_of, model_error
from ..programs.judge import Judge
from ..programs.languages import in_language, label_words
from ..programs.together import asking_of, run_to_end, together
from ..text.escaping import defuse
from ..text.wording import Language, normalised, strings
from .base import Job
from .board import Candidate
from .objective import Objective, Outcome
from .phrases import PHRASES, language_of_judge, task_in_words, truth_in_words
from .settings import CountFromOne, Share, Temperature
from .writers import describe_step, failures_of_step

_USELESS = 10
"""Unusable proposals of one kind in a row after which no more of this kind are asked for."""
_QUOTED = 600
"""Characters of an input that an exemplar quotes at most."""


@dataclass(frozen=True, kw_only=True)
class Writing:
    """Settings of optimizers for which a proposer writes instructions."""

    longest: CountFromOne = 4000  # characters an instruction may have
    copied: Share = 0.2  # the share of an instruction's text that may be copied from train
    temperature: Temperature = 1.0  # of the proposer (OPRO's paper: 1.0)
    name: str = ""  # of the optimizer in the history


def propose(
    job: Job, signature: type[dspy.Signature], requests: Sequence[Mapping[str, str]], temperature: float
) -> list[dict[str, str]]:
    """Ask the proposer once for each request, and return the output fields of each usable reply.

    Raises:
        ModelError: the proposer cannot be used at all, or failed on every request.
    """
    kind = signature.__name__
    if has_given_up(job, kind):
        return []
    if job.proposer_note:
        signature = signature.with_instructions(f"{signature.instructions}\n\n{job.proposer_note}")
    predict = dspy.Predict(signature)
    failed: list[LMError] = []

    async def ask(numbered_request: tuple[int, Mapping[str, str]]) -> dict[str, str] | None:
        """Return the output fields of one reply; ``None`` if it is unusable or the request failed."""
        seed, inputs = numbered_request
        config = {"seed": seed, "temperature": temperature}
        try:
            answer = await predict.acall(**defuse(dict(inputs)), config=config)
        except AdapterParseError:
            return None  # the reply cannot be read
        except LMError as error:
            jurist_error = jurist_error_in(error)
            if jurist_error is not None:
                raise jurist_error from error
            if fatal(error):
                raise model_error(error) from error
            # A content filter, or the context window, may refuse the cases of this request and take those of others.
            if kind_of(error) not in ROW_REFUSED:
                failed.append(error)
            return None
        # A proposer may echo field markers; in an instruction they would be read as structure.
        texts = {name: str(answer[name] or "") for name in signature.output_fields}
        return dict(defuse(texts))

    adapter = "chat"
    if job.basic_adapter == "json":
        adapter = "json"
    with asking_of(job.proposer_lm, adapter):
        answers = run_to_end(together(list(enumerate(requests)), ask, concurrency=job.settings.concurrency))
    if failed and len(failed) == len(requests):
        # Searching on without a proposer would only waste the judge's calls.
        raise model_error(failed[0]) from failed[0]
    usable = [answer for answer in answers if answer and any(answer.values())]
    count_proposals(job, kind, len(answers), len(usable))
    return usable


def has_given_up(job: Job, kind: str) -> bool:
    """Return whether no more proposals of a kind are asked for, because the last ten or more were all unusable."""
    return job.context.unusable_proposals[_key_of_row(kind)] >= _USELESS


def count_proposals(job: Job, kind: str, count: int, usable: int) -> None:
    """Count the unusable ones of some proposals of a kind, and note on the job that no more of these are asked for."""
    counts = job.context.unusable_proposals
    key = _key_of_row(kind)
    counts[kind] += count - usable
    if usable:
        counts[key] = 0
    else:
        counts[key] += count
    if count and has_given_up(job, kind):
        problem = (
            f"{counts[key]} proposals in a row ({kind}) cannot be read, and no more of these are asked for"
        )
        job.note(f"{problem}: name a larger model with --prompt-model, or raise --prompt-max-tokens")


def _key_of_row(kind: str) -> str:
    """Return the key under which the unusable proposals of a kind since the last usable one are counted."""
    return f"{kind} in a row"


def signature_for(
    job: Job, for_judges: type[dspy.Signature], for_generators: type[dspy.Signature]
) -> type[dspy.Signature]:
    """Return the one of two signatures that suits a job, in the language in which its proposer is asked."""
    if job.generator is None:
        return in_language(for_judges, language_of_judge(job.judge))
    return in_language(for_generators, job.language)


def language_of_job(job: Job) -> Language:
    """Return the language in which a proposer is asked: that of the prompt, or of a generator's documents."""
    if job.generator is not None:
        return job.language
    return language_of_judge(job.judge)


def describe_task(job: Job, name: str) -> str:
    """Return a description for a proposer of the judge's inputs, its answer, and the outputs of the step ``name``.

    Of a generator it describes the step alone.
    """
    judge = job.judge
    if job.generator is not None:
        return describe_step(job.generator, name, job.language)
    phrases = PHRASES[language_of_judge(judge)]
    lines = [phrases["inputs"]]
    for input_name, info in judge.signature.input_fields.items():
        lines.append(f"- {input_name}: {info.json_schema_extra['desc']}")
    lines.append(task_in_words(judge))
    if judge.template is not None:
        variables = phrases["and"].join(f"{{{{{variable}}}}}" for variable in judge.template.variables)
        lines.append(phrases["template"].format(variables=variables))
    predictors = dict(judge.basic().named_predictors())
    step_lines: list[str] = []
    if len(predictors) > 1 and name in predictors:
        for field, info in predictors[name].signature.output_fields.items():
            description = info.json_schema_extra["desc"]
            step_lines.append(phrases["judge_step"].format(step=name, field=field, description=description))
    if step_lines:
        lines.append(phrases["judge_steps"].format(steps=phrases["comma"].join(predictors)))
        lines.extend(step_lines)
    return "\n".join(lines)


def describe_scored_instructions(job: Job, name: str, best_first: Sequence[tuple[Candidate, float]]) -> str:
    """Return the instructions of predictor ``name`` with scores from 0 to 100, ascending, as a text for a proposer.

    ``best_first`` are candidates with their values, in [0, 1].
    """
    tried = PHRASES[language_of_job(job)]["tried"]
    entries: list[str] = []
    for candidate, value in reversed(best_first):
        instruction = candidate.state.predictors[name].instructions
        score = min(100, max(0, round(100 * value)))
        entries.append(tried.format(text=instruction, score=score))
    return "\n\n".join(entries)


def lessons_of(
    job: Job, objective: Objective, step: str, outcomes: Iterable[tuple[Case, Outcome]]
) -> list[tuple[Case, str]]:
    """Return the cases with an error, each with what was wrong in words.

    Of a generator these are the items that failed a check which concerns what the predictor ``step`` writes.
    """
    if job.generator is not None:
        return failures_of_step(job.generator, step, outcomes, job.language)
    lessons: list[tuple[Case, str]] = []
    for case, outcome in outcomes:
        if outcome.has_error:
            lessons.append((case, objective.feedback(case, outcome)))
    return lessons


def exemplars(job: Job, step: str, lessons: Iterable[tuple[Case, str]]) -> list[str]:
    """Return the :func:`exemplar` of each case with a text about a step."""
    texts: list[str] = []
    for case, words in lessons:
        texts.append(exemplar(job, step, case, words))
    return texts


def exemplar(job: Job, step: str, case: Case, remark: str) -> str:
    """Return a text for a proposer: the inputs of a case, shortened, a remark about it, and the reason of its label.

    Of a generator's case it has the inputs that the step is given.
    """
    words = label_words(language_of_job(job))
    names = set(case.inputs)
    if job.generator is not None:
        names &= set(dict(job.generator.basic().named_predictors())[step].signature.input_fields)
    lines: list[str] = []
    for name, value in case.inputs.items():
        if name in names and isinstance(value, str):
            lines.append(f"{name}: {words.get(value, value)[:_QUOTED]}")
    lines.append(remark)
    if case.reason:
        lines.append(PHRASES[language_of_job(job)]["why"].format(reason=case.reason[:_QUOTED]))
    return "\n".join(lines)


def describe_gold(case: Case, judge: Judge) -> str:
    """Return the gold of a case in words, unit by unit; unlabelled units are left out."""
    units = zip(judge.answer.units(case.inputs), case.gold or (), strict=True)
    return "\n".join(truth_in_words(judge, text, gold) for text, gold in units if gold is not None)


def cut_portions(errors: Sequence[str], count: int, turn: int, proposals: int) -> list[str]:
    """Return a text of ``count`` errors for each proposal of a turn, each beginning where the one before ended.

    Turns count from 1; a turn goes on where the turn before ended, and the first error follows the last.
    """
    texts: list[str] = []
    for draw in range((turn - 1) * proposals, turn * proposals):
        offset = draw * count % max(1, len(errors))
        rotated = list(errors[offset:]) + list(errors[:offset])
        texts.append("\n\n".join(rotated[:count]))
    return texts


# -- copied text ---------------------------------------------------------------------------------------------

WORDS = 8
"""Words of a shingle."""
CHARACTERS = 16
"""Characters of a shingle in scripts without spaces."""
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_TOKEN = re.compile(r"\w+")
_COMMON = 0.5  # share of the cases; a shingle that stands in more of them belongs to the task


def shingles(text: str) -> frozenset[str]:
    """Return the runs of 8 words in a text, and of 16 characters in scripts without spaces.

    Case, punctuation and spacing are left out. A text that is too short has none.
    """
    plain = normalised(text)
    words = _TOKEN.findall(plain)
    pieces: set[str] = set()
    for start in range(len(words) - WORDS + 1):
        pieces.add(" ".join(words[start : start + WORDS]))
    if _CJK.search(plain):
        characters = "".join(words)
        for start in range(len(characters) - CHARACTERS + 1):
            run = characters[start : start + CHARACTERS]
            if len(_CJK.findall(run)) * 2 > CHARACTERS:
                pieces.add(run)
    return frozenset(pieces)


class CopyGuard:
    """Measures how much of an instruction is copied from training cases.

    Args:
        cases: the training cases.
        quotable: texts that an instruction may quote, such as the basic prompt.
    """

    def __init__(self, cases: Sequence[Case], quotable: Iterable[str] = ()) -> None:
        case_counts = Counter[str]()  # shingle -> cases that hold it
        for case in cases:
            case_shingles: set[str] = set()
            for text in strings(case.inputs):
                case_shingles.update(shingles(text))
            case_counts.update(case_shingles)
        allowed: set[str] = set()
        for text in quotable:
            allowed.update(shingles(text))
        if len(cases) > 2:
            for shingle, count in case_counts.items():
                if count > _COMMON * len(cases):
                    allowed.add(shingle)
        self._copyable = frozenset(case_counts) - allowed

    def share(self, text: str) -> float:
        """Return the share of the text's shingles that stand in training cases, in [0, 1]."""
        text_shingles = shingles(text)
        if not text_shingles:
            return 0.0
        return len(text_shingles & self._copyable) / len(text_shingles)
