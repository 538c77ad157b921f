"""Whether a judge is the one that was compiled, and ``artifacts diff``: what differs between two."""

import json
from dataclasses import replace

import dspy
import pytest
from judges import changed
from small import cli

from jurist.errors import ArtifactError
from jurist.keeping.artifacts import Store
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge


def mine(kind: str) -> Judge:
    signature = dspy.Signature(f"when: {kind}, reply: str -> ok: Literal['yes', 'no']")
    return Judge(name="mine", signature=signature, positive=frozenset({"no"}))


def test_a_field_of_another_type_is_refused() -> None:
    judge = mine("int")
    kept = Store("compiled").save(judge, changed(judge), {}, [], make_latest=True)
    kept.check(judge)
    with pytest.raises(
        ArtifactError, match=r"when of type {'type': 'integer'}, the judge has {'type': 'string'}"
    ):
        kept.check(mine("str"))
    older = {key: value for key, value in kept.card.items() if key != "types"}
    replace(kept, card=older).check(judge)  # an older version did not keep types


def test_settings_and_scores_of_two_versions_stand_beside_each_other() -> None:
    cell = {"low": 0.25, "high": 0.9, "best": 0.5, "worst": 0.5}
    scores = {"basic": {"f1": {"value": 0.5, **cell}}, "compiled": {"f1": {"value": 0.75, **cell}}}
    store = Store("compiled")
    for seed in (0, 7):
        card = {"optimizer": {"name": "opro", "seed": seed}, "scores": scores}
        store.save(FECT, changed(FECT, "Decide it."), card, [], make_latest=True)
    versions = cli("artifacts", "diff", "fect@1", "fect@2", "--json").json
    assert versions["settings"] == {"seed": ["0", "7"]}
    assert versions["scores"] == {"fect@1": scores["compiled"], "fect@2": scores["compiled"]}
    basic = cli("artifacts", "diff", "fect:basic", "fect@1", "--json").json
    assert (basic["scores"]["fect:basic"], basic["settings"]) == (scores["basic"], {})


def test_words_and_demonstrations_that_went_and_came_are_marked() -> None:
    store = Store("compiled")
    first, second = changed(FECT, "Decide it now."), changed(FECT, "Decide it later.")
    bare = second.with_demos("self", ())
    for state in (first, second, bare):
        store.save(FECT, state, {}, [], make_latest=True)
    lines = cli("artifacts", "diff", "fect@1", "fect@2").results
    assert lines[:4] == ["--- fect@1", "+++ fect@2", "## self: instruction", "Decide it [-now-]{+later+}."]
    gone = json.loads(cli("artifacts", "diff", "fect@2", "fect@3", "--json").out)["diff"].split("\n")
    assert gone[2] == "## self: demonstrations"
    assert gone[3].startswith("- ")
