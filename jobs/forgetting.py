"""Withdrawing labelled rows from a version: a new one without their demonstrations, remembered rows and rules."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..cases import case_id
from ..errors import ArtifactError, plural
from ..gold.copies import texts_of
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.naming import judge_of
from ..keeping.sealing import SEEN
from ..optimizers.guidelines import with_rules
from ..programs.state import Demo, PredictorPrompt, PromptState
from ..text.wording import normalised

_KEPT = (
    *("judge_ref", "judge_sha256", "judge_code", "prompt_model", "model", "adapter", "structure", "setting"),
    *("thresholds", "verifier", "versions"),
)


def forget(ref: str, rows: Sequence[str], store: Store) -> Artifact:
    """Keep a version without rows, named by their ids, as the next one. Nothing is proven of it yet."""
    artifact, ids = store.load(ref), set(rows)
    gold, card = artifact.card.get("gold") or {}, artifact.card
    if unknown := sorted(ids - set(gold.get("seen") or ())):
        raise ArtifactError(
            f"{artifact.ref} was not compiled on {', '.join(unknown)}",
            hint="name rows of train or dev by their ids, as the gold of its card has them",
        )
    rules = [one for one in artifact.about.guidelines if not ids & set(one["cases"])]
    own = next(
        (row for row in artifact.history if row["candidate"] == artifact.about.optimizer.candidate), {}
    )
    gone, prompts = list[Demo](), dict[str, PredictorPrompt]()
    for name, prompt in artifact.state.predictors.items():
        fixed = [demo for demo in prompt.demos if _id_of(demo, artifact) in ids]
        kept, text = prompt.remembered, prompt.instructions
        if any(one["rule"] in text for one in artifact.about.guidelines):
            text = with_rules(text, [one["rule"] for one in rules])
        gone += [*fixed, *(demo for id_, demo in (kept.rows if kept else {}).items() if id_ in ids)]
        demos = tuple(demo for demo in prompt.demos if demo not in fixed)
        prompts[name] = replace(
            prompt, instructions=text, demos=demos, remembered=kept.without(ids) if kept else None
        )
    shown = ids & set(own.get("demo_ids") or ())
    found = {_id_of(demo, artifact) for demo in gone}
    held = normalised("\n".join(prompt.instructions for prompt in prompts.values()))
    if shown - found or any(text in held for demo in gone for text in texts_of(demo)):
        raise ArtifactError(
            f"the prompt of {artifact.ref} holds a row in a form in which it cannot be taken out",
            hint="compile the judge again without the row",
        )
    state, seen = PromptState(prompts), [one for one in artifact.seen() if one["case"] not in ids]
    new: dict[str, Any] = {
        **{key: card[key] for key in _KEPT if key in card},
        "parent": artifact.version,
        "gold": {**gold, "seen": [id_ for id_ in gold["seen"] if id_ not in ids]},
        "guidelines": rules,
        "optimizer": {
            **{key: card["optimizer"].get(key) for key in ("name", "seed", "settings")},
            "candidate": state.id,
            "chosen_from": artifact.ref,
            "reason": f"{plural(len(ids), 'row')} forgotten",
        },
    }
    history = {
        "candidate": state.id,
        "source": "forget",
        "demo_ids": [],
        "setting": {},
        "prompt": state.brief(),
    }
    if any(id_ in json.dumps([new, history]) for id_ in ids):
        raise ArtifactError(
            f"the card of {artifact.ref} names a row where it cannot be left out", hint="compile again"
        )
    return store.save(
        judge_of(artifact, store), state, new, [history], make_latest=False, records={SEEN: seen}
    )


def _id_of(demo: Demo, artifact: Artifact) -> str:
    return case_id({name: demo[name] for name in artifact.about.inputs if name in demo})
