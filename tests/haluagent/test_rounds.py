"""``jurist compile haluagent``: the prompts that change, and how many documents it takes."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import reply
from loopback import field_of
from small import cli, ok

from jurist.gold.goldset import Gold
from jurist.programs.haluagent.writing import HALUAGENT
from jurist.signatures.haluagent_labels import TYPES

RULES = {
    "question": "Copy the passage.",
    "hallucinations": "No two answers are equal.",
    "label": "An answer that is a name is an entity.",
}
"""What the simulated writer needs to be told in each step, lest it goes wrong."""


def simulated(messages):
    """Write with a fault in each step that its rule cures; propose the rule; verify by the fault."""
    system, text = str(messages[0]["content"]), str(messages[-1]["content"])
    outputs = system.partition("Your output fields are:")[2].partition("All interactions")[0]

    def told(step):
        return RULES[step] in system

    if "`fits`" in outputs:
        return reply("chat", reason="by type", fits="yes" if field_of(text, "type") == "entity" else "no")
    if "`hallucinated`" in outputs:
        return reply("chat", reason="another", hallucinated="yes")
    if "`correct`" in outputs:
        return reply("chat", reason="it stands there", correct="yes")
    if "`types`" in outputs:
        return reply("chat", types=["entity"] * 3 if told("label") else ["relation"] * 3)
    if "`hallucinated_answers`" in outputs:
        third = "Clara Schumann" if told("hallucinations") else "Paul Klee"
        return reply("chat", hallucinated_answers=["Ada Lovelace", "Paul Klee", third])
    if "`question`" in outputs:
        passage = field_of(text, "knowledge").partition(". ")[0] + "."
        passage = passage if told("question") else f"It says: {passage}"
        return reply("chat", question="Who was it?", correct_answer="Adolphe Sax", passage=passage)
    base = field_of(text, "current_instruction")
    step = next(one for one, cue in STEPS.items() if cue in base)
    return reply("chat", instruction=base if RULES[step] in base else f"{base} {RULES[step]}")


STEPS = {
    "label": "Name the type of each",
    "hallucinations": "three hallucinated answers",
    "question": "a question of the wanted type",
}


def test_all_three_prompts_are_rewritten(serve, fake_key):
    text = "Adolphe Sax came to the town of {} Mills. It is old."
    rows = [{"id": f"d{n}", "text": text.format(n)} for n in range(20)]
    Path("docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    server = serve(simulated)
    few = ("--set", "rewrites=2", "--set", "steps=2", "--max-calls", "3000", "--force", "--json")
    asked = ("compile", "haluagent", "--gold", "docs.jsonl", "--optimizer", "cfaith")
    made = ok(*asked, "--model", "openai/x", "--api-base", server.url, "--yes", *few)
    assert made.json["decision"]["verdict"] == "better"
    parts, spent = made.json["forecast"]["parts"], server.count
    least, most = (sum(parts[name]["calls"][place] for name in ("optimizing", "proving")) for place in (0, 1))
    assert least <= spent <= most < 3000  # not all that --max-calls allows
    (history,) = Path("compiled").glob("haluagent/1/history.jsonl")
    rows = {row["candidate"]: row for row in map(json.loads, history.read_text().splitlines())}
    tried = [row["dev"]["value"] for row in rows.values() if row["dev"]["cases"]]
    assert (min(tried), max(tried)) == (0.0, 1.0)
    changed = [row["params"]["predictors"] for row in rows.values() if row["step"] == 1]
    assert ["hallucinations", "label", "question"] in changed
    shown = ok("artifacts", "show", "haluagent@1", "--rounds", "--json").json["rounds"]
    dev_cases = {entry["cases"] for entry in shown}
    assert [entry["round"] for entry in shown] == list(range(len(shown)))
    assert len(dev_cases) == 1
    checks = ("answer", "hallucination", "label", "form")
    for entry in shown:  # Table 3: Corr., Halu., Label and Overall of each round
        assert entry["value"] == entry["metrics"]["validation_rate"]
        assert min(entry["metrics"][f"{name}_rate"] for name in checks) >= entry["value"]
    first, best = shown[0], max(shown, key=lambda entry: entry["value"])
    assert (first["metrics"]["answer_rate"], first["metrics"]["label_rate"]) == (1.0, 0.0)
    assert first["metrics"]["form_rate"] == 0.0  # the passage is not copied
    assert best["chosen"]
    assert set(best["metrics"].values()) == {1.0}
    printed = ok("artifacts", "show", "haluagent@1", "--rounds").out
    assert "label rate" in printed
    assert "1.000" in printed
    diff = ok("artifacts", "diff", "haluagent:basic", "haluagent@1").out
    assert all(f"## {name}: instruction" in diff for name in ("label", "question"))


def faulty(messages):
    """Write Chinese items that fail every check, each for a reason of its own; propose a rule."""
    system, text = str(messages[0]["content"]), str(messages[-1]["content"])
    if "`fits`" in system:
        return reply("chat", reason="类型不符", fits="no")
    if "`hallucinated`" in system:
        return reply("chat", reason="说得太荒唐", hallucinated="no")
    if "`correct`" in system:
        return reply("chat", reason="答案不完整", correct="uncertain")
    if "`types`" in system:
        return reply("chat", types=["relation"] * 3)
    if "`hallucinated_answers`" in system:
        place = field_of(text, "question")[:4]
        return reply("chat", hallucinated_answers=[f"{place}的保罗", f"{place}的保罗", f"{place}的克拉拉"])
    if "`question`" in system:
        place = field_of(text, "knowledge").partition("的")[0]
        return reply("chat", question=f"{place}有谁来过？", correct_answer="萨克斯", passage="无此原文。")
    return reply("chat", instruction="按要求写。" + field_of(text, "current_instruction"))


@pytest.mark.slow
def test_each_agent_is_shown_what_its_own_check_found_in_the_language_of_the_documents(serve, fake_key):
    places = [f"{chr(0x5000 + 7 * n)}{chr(0x5F00 + 11 * n)}{chr(0x6B00 + 13 * n)}镇" for n in range(30)]
    rows = [
        {"id": place, "text": f"{place}的磨坊很老。萨克斯来过{place}，看过{place}的钟。"} for place in places
    ]
    Path("docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    server = serve(faulty)
    few = ("--set", "rewrites=1", "--set", "steps=1", "--max-calls", "3000", "--force", "--json")
    asked = ("compile", "haluagent-zh", "--gold", "docs.jsonl", "--optimizer", "cfaith", *few)
    cli(*asked, "--model", "openai/x", "--api-base", server.url, "--yes", "--anyway")
    proposals = {}
    for hit in server.hits:
        system, text = (str(hit.body["messages"][place]["content"]) for place in (0, -1))
        if "`instruction`" in system:
            assert "改写一个写作步骤的指令" in system
            assert not any(word in system + text for word in ("judge", "label's definition", "positive"))
            step = re.search(r"这里是步骤 (\w+)", text)[1]
            proposals[step] = field_of(text, "errors")
    found = {
        "question": {"答案不完整", "依据的原文不是从文档中原样抄录的"},
        "hallucinations": {"说得太荒唐", "幻觉答案与另一个幻觉答案相同"},
        "label": {"类型不符"},
    }
    assert proposals.keys() == found.keys()
    reasons = set.union(*found.values())
    for step, errors in proposals.items():
        shown = {reason for reason in reasons if reason in errors}
        assert shown
        assert shown <= found[step]
        entries = errors.split("未通过：")[:-1]
        documents = {re.search(r"(...)镇", entry)[0] for entry in entries}
        assert len(documents) == len(entries) == 8
    assert "磨坊" not in proposals["label"]  # which does not see the document


def test_at_most_sixty_documents_are_learned_from_and_twenty_selected_on():
    rows = [{"id": f"d{n}", "text": f"Ada {n} was born in Dinant in 18{n:02}."} for n in range(200)]
    Path("docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    judge = HALUAGENT
    split = Gold.load("docs.jsonl", judge).split(3, (0.6, 0.2, 0.2))
    parts = [{case.group for case in part} for part in (split.train, split.dev, split.test)]
    assert [len(part) for part in parts[:2]] == [60, 20]
    assert not parts[0] & parts[1] | parts[2] & (parts[0] | parts[1])
    assert (len(split.train), len(split.dev), len(split.test)) == (120, 40, 80)  # 120 items on dev
    drawn = Counter(case.inputs["type"] for case in split.dev)
    assert set(drawn) == set(TYPES)
    assert max(drawn.values()) - min(drawn.values()) <= 1
    assert max(Counter(case.group for case in split.train).values()) == 2
    whole = Gold.load("docs.jsonl", replace(judge, most_groups=None)).split(3, (0.6, 0.2, 0.2))
    assert whole.test == split.test
    assert parts[0] < {case.group for case in whole.train}
