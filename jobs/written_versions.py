"""Versions whose instructions a person wrote: kept, asked and exported like compiled ones, and not proven."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ..errors import UsageError, plural, suggest_name
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.card import CardContent
from ..keeping.card_parts import BY_HAND, OptimizerCard
from ..keeping.naming import locate_judge
from ..programs.judge import Judge
from ..programs.state import PromptState
from ..text.templates import CHAT

NOT_PROVEN: Final = "not proven: no language model was asked"


def add_version(reference: str, instructions: Mapping[str, str], store: Store, *, note: str = "") -> Artifact:
    """Keep a judge or generator with instructions that a person wrote, as its next version.

    It is not made the latest, and its card says that nothing of it is proven.

    Args:
        reference: the judge or generator, by name or as ``FILE.py:judge``.
        instructions: name of a predictor -> its instruction; ``""`` names the only one. The other predictors keep
            their basic instructions.
        store: where it is kept.
        note: a line about where the instructions come from, for the card.

    Raises:
        UsageError: no such predictor may be changed, the judge sends its prompt as it stands, or no instruction
            differs from the basic one.
    """
    store.check_writable()
    judge, judge_ref = locate_judge(reference, store)
    basic = PromptState.of(judge.basic())
    state = _with_instructions(judge, basic, instructions)
    if state == basic:
        raise UsageError(
            f"these are the basic instructions of {judge.name}", hint=f"name {judge.name}:basic in its place"
        )
    content = CardContent(
        judge_ref=judge_ref,
        optimizer=OptimizerCard(name=BY_HAND, candidate=state.id),
        adapter=CHAT,
        warnings=[line for line in (NOT_PROVEN, note) if line],
    )
    line = {"candidate": state.id, "source": BY_HAND, "prompt": state.to_json()}
    return store.save(judge, state, content, [line], make_latest=False)


def _with_instructions(judge: Judge, basic: PromptState, instructions: Mapping[str, str]) -> PromptState:
    """Return the basic prompt with other instructions in some of its predictors."""
    if judge.template is not None:
        hint = "write the prompt into the file of the judge"
        raise UsageError(f"{judge.name} sends its prompt as it stands, without an instruction", hint=hint)
    prompts = dict(basic.predictors)
    for given_name, instruction in instructions.items():
        name = _predictor_called(given_name, judge, basic)
        if not instruction.strip():
            raise UsageError(f"the instruction of {name} is empty", hint="write one into its file")
        prompts[name] = replace(prompts[name], instructions=instruction.strip())
    return PromptState(prompts)


def _predictor_called(name: str, judge: Judge, basic: PromptState) -> str:
    """Return the name of a predictor that is not frozen; ``""`` is the only one."""
    names = list(basic.predictors)
    if not name and len(names) == 1:
        return names[0]
    if not name:
        listed = ", ".join(names)
        what = f"{judge.name} has {plural(len(names), 'instruction')}: {listed}"
        raise UsageError(what, hint=f"say which one, as --instruction {names[0]}=FILE")
    if name not in names:
        raise UsageError(f"{judge.name} has no instruction called {name!r}", hint=suggest_name(name, names))
    return name
