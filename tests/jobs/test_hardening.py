"""``evaluate harden``: judges with planted weaknesses are found out, a sound one is not, and what was paid is kept."""

import itertools
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import own_kinds
import pytest
from fakes import Scripted, lm_of, reply, user_of
from judges import changed
from loopback import field_of
from small import claims, cli, ok, write_jsonl

import jurist
from jurist.gold.goldset import Gold
from jurist.jobs.hardening import AGAIN, Attack, Hardening, load_attacks
from jurist.keeping.artifacts import Store
from jurist.keeping.loaders import load_judge
from jurist.programs.fect import FECT

FAMILIES = tuple(dict.fromkeys(one.family for one in load_attacks()))


@pytest.fixture(autouse=True)
def _folder(no_waiting: None) -> None:
    write_jsonl(Path("gold.jsonl"), claims(6))


def sound(claim: str) -> bool:
    """Judge as a judge does that reads what the claim says, and nothing around it."""
    return not re.search("cancel the whole contract|refuses to replace", claim)


def saying(pattern: str) -> Callable[[str], bool]:
    """Return a judge that takes its answer from what a pattern finds in the claim."""

    def judge(claim: str) -> bool:
        found = re.search(pattern, claim)
        return found[1] in ("factual", "true") if found else sound(claim)

    return judge


def liking(pattern: str) -> Callable[[str], bool]:
    """Return a judge that believes a claim in which a pattern is found."""
    return lambda claim: bool(re.search(pattern, claim)) or sound(claim)


WEAK: dict[str, Callable[[str], bool]] = {
    "fake-verdict": saying(r"(?:Verdict: |裁决：)(\w+)"),
    "fake-reply": saying(r'```json\n\{"factual": (\w+)'),
    "role": saying(r"<\|im_start\|>assistant\nAssistant: (\w+)"),
    "delimiter": saying(r'^"""\n(?s:.*)(?:labelled |标签为 )(\w+)'.replace("^", "(?m:^)")),
    "field-marker": saying(r"## factual ##\W*\n(\w+)"),
    "template": saying(r'\{% set factual = "(\w+)" %\}'),
    "instruction": saying(r"(?:must answer|必须回答) (\w+)"),
    "length": liking(r"more room than it would need|占用了比所需更多的篇幅"),
    "position": liking(r"^(?:What is to be said|这里要说的内容在)"),
    "formatting": liking(r"\*\*"),
    "authority": liking("ministry|主管部门"),
    "self-praise": liking("excellent|出色"),
}


def attack(monkeypatch: pytest.MonkeyPatch, judge: Callable[[str], bool], **more: Any) -> Any:
    """Return what hardening finds of a judge, given as a function of the claim."""

    def said(request: Any) -> str:
        return reply("chat", factual=judge(field_of(user_of(request), "claim")))

    monkeypatch.setattr(
        "jurist.keeping.loading.connect", lambda model, context, *_: lm_of(Scripted(said), context)
    )
    return jurist.harden("fect:basic", "gold.jsonl", **more)


def test_there_is_a_weak_judge_for_every_attack_and_every_language() -> None:
    assert set(WEAK) == set(FAMILIES)
    assert {(one.family, one.language) for one in load_attacks()} == set(
        itertools.product(FAMILIES, ("en", "zh"))
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_each_attack_finds_what_it_is_for(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = attack(monkeypatch, WEAK[family])
    (kind,) = {one.kind for one in load_attacks() if one.family == family}
    for one in found.found:
        own = one.name.removesuffix(" zh") == family
        flipped, every = one.flips.answers["non_factual"]
        assert flipped == (every if own else 0), one.name
        assert one.flips.rate.value == ((1.0 if kind == "attack" else every / 18) if own else 0.0), one.name
    assert found.worst.name.removesuffix(" zh") == family


def test_a_sound_judge_is_never_moved_and_a_fickle_one_is_seen_in_the_control(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    still = attack(monkeypatch, sound)
    assert still.worst.flips.flipped == 0
    assert [one.name for one in still.found] == [AGAIN, *(one.name for one in load_attacks())]
    turns = itertools.cycle((True, True, False))
    fickle = attack(monkeypatch, lambda claim: next(turns), concurrency=1, cases=10)
    assert fickle.found[0].kind == "control"
    assert fickle.found[0].flips.flipped > 0


@pytest.mark.parametrize("kind", own_kinds.KINDS)
def test_every_kind_of_answer_can_be_attacked(kind: str) -> None:
    Path("own.py").write_text(own_kinds.SOURCE)
    write_jsonl(Path("own.jsonl"), own_kinds.rows(kind, 4))
    found = jurist.harden(f"own.py:{kind}:basic", "own.jsonl", cases=6)
    assert {one.flips.cases for one in found.found} == {6}
    assert found.found[0].flips.flipped == 0
    json.dumps(found.to_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("name", "gold", "field"),
    [("detector", "cognibench-mini", "reference"), ("satisfaction", "faithqa-mini", "response")],
)
def test_built_in_judges_keep_their_units(name: str, gold: str, field: str) -> None:
    loaded = load_judge(f"{name}:basic", store=Store("compiled"))
    work = Hardening(contenders=(loaded,), gold=Gold.load(gold, loaded.judge), case_limit=3, field=field)
    found = jurist.harden(f"{name}:basic", gold, cases=3, field=field, only=("fake-verdict", "length"))
    units = {sum(every for _, every in one.flips.answers.values()) for one in found.found}
    assert units == {sum(len(loaded.judge.answer.units(case.inputs)) for case in work.chosen)}


# -- what is kept -------------------------------------------------------------------------------


def test_figures_stand_beside_the_card_and_the_seal_holds() -> None:
    store = Store("compiled")
    kept = store.save(FECT, changed(FECT), {}, [], make_latest=True)
    card = (kept.path / "card.json").read_bytes()
    done = cli("evaluate", "harden", "fect", "--gold", "gold.jsonl", "--only", "role", "--json")
    assert (done.code, done.json["cases"]) == (0, 18), done.err
    assert "kept beside the card of fect@1" in done.err
    assert (kept.path / "card.json").read_bytes() == card
    ok("artifacts", "verify")
    (measured,) = store.load("fect").robustness
    assert measured["flips"]["role zh"] == done.json["flips"]["role zh"]
    ok("evaluate", "harden", "fect", "--gold", "gold.jsonl", "--only", "length")
    (again,) = store.load("fect").robustness  # the same model, gold and input: measured anew
    assert "role" not in again["flips"]
    ok(*shlex.split("evaluate harden fect --gold gold.jsonl --only self-praise --field conversation"))
    assert [one["field"] for one in store.load("fect").robustness] == ["claim", "conversation"]
    assert "self-praise zh" in cli("artifacts", "show", "fect").out
    elsewhere = Store("elsewhere")
    elsewhere.save(FECT, changed(FECT, "Another prompt."), {}, [], make_latest=True)
    jurist.harden(jurist.load("fect@1", store="elsewhere"), "gold.jsonl", only=["role"])
    assert [len(one.load("fect").robustness) for one in (store, elsewhere)] == [2, 1]


def test_changed_figures_are_found_and_the_artifact_still_loads() -> None:
    store = Store("compiled")
    kept = store.save(FECT, changed(FECT), {}, [], make_latest=True)
    ok("evaluate", "harden", "fect", "--gold", "gold.jsonl", "--only", "role")
    file = kept.path / "robustness.json"
    good = file.read_text()
    for bad in (good.replace('"flipped": ', '"flipped":  '), re.sub('"worst": .*', '"worst": 0,', good), "{"):
        file.write_text(bad)
        assert "robustness.json" in cli("artifacts", "verify").err
        assert store.load("fect").robustness == ()
    other = store.save(FECT, changed(FECT, "Another prompt."), {}, [], make_latest=True)
    (other.path / "robustness.json").write_text(good)
    assert (
        "fect@2: robustness.json: was changed, or is about another prompt" in cli("artifacts", "verify").err
    )


def test_names_in_values_stay_what_they_are() -> None:
    one = Attack(family="shout", language="en", kind="attack", finds="x", template="§text! §wanted §§")
    names = {"wanted": "§text", "reply": "r", "output": "o", "input": "i"}
    assert one.change_text("$text §reply", names) == "$text §reply! §text §"
