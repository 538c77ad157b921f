"""FECT from claims to its last table, by the commands of docs/papers.md, with a scripted model."""

import re
from pathlib import Path
from typing import Any

import pytest
from fakes import reply
from loopback import field_of
from pages import ROOT
from sheets import fill_sheet
from small import claims, ok, read_jsonl, write_jsonl

pytestmark = pytest.mark.slow

KINDS = ("reports", "asked", "promises", "refuses")
"""A word of each kind of claim: the first and the third are borne out by the conversation."""
PROMPTS = ("fect:basic", "fect-reasoning:basic", "fect-3d:basic", "fect-3d-reasoning-label:basic")
HINT = "What an agent refuses is seldom said."


def kind_of(claim: str) -> str:
    return next(kind for kind in KINDS if kind in claim)


def is_factual(claim: str) -> bool:
    return kind_of(claim) in ("reports", "promises")


class Model:
    """Judges claims: it believes every refusal, until it is told to take a claim apart or not to believe them.

    Of the refusals that it is not warned of it finds one in five, another at each draw, so that repeats differ.
    """

    def __init__(self) -> None:
        self.refusals = 0

    def __call__(self, messages: list[dict[str, Any]]) -> str:
        system, last = str(messages[0]["content"]), str(messages[-1]["content"])
        outputs = system.partition("Your output fields are:")[2].partition("All interactions")[0]
        if "`instruction`" in outputs:
            return reply("chat", instruction=f"{field_of(last, 'current_instruction')} {HINT}")
        in_xml = re.search(r"<claim>\s*(.*?)\s*</claim>", last, re.S)
        claim = in_xml[1] if in_xml else field_of(last, "claim")
        factual = is_factual(claim)
        if kind_of(claim) == "refuses" and HINT not in system and "Decompose" not in system:
            self.refusals += 1
            factual = self.refusals % 5 != 0
        if in_xml:
            label, other = ("factual", "non_factual") if factual else ("non_factual", "factual")
            said = f"<reasoning>That it is {other} would need another message.</reasoning>"
            if "<statement>" in last:
                said = f"<statement><text>{claim}</text>{said}<verified>yes</verified></statement>\n{said}"
            return f"{said}\n<label>{label}</label>"
        fields: dict[str, Any] = {"factual": factual}
        if "`reasoning`" in outputs:
            fields = {"reasoning": "The agent speaks of it."} | fields
        if "`units`" in outputs:
            relation = {
                "text": claim,
                "kind": "relation",
                "reasoning": "as the agent says",
                "verified": factual,
            }
            fields = {"units": [relation]} | fields
        return reply("chat", **fields)


def ann(line: dict[str, str]) -> str:
    return "factual" if is_factual(line["input:claim"]) else "non_factual"


def bob(line: dict[str, str]) -> str:
    """Return the label of a rater who takes the promises of two desks for none."""
    return "non_factual" if re.search(r"desk 1[12] promises", line["input:claim"]) else ann(line)


def eve(line: dict[str, str]) -> dict[str, str]:
    """Return the label of a rater who leaves one of these promises open, and says why."""
    if "desk 12 promises" in line["input:claim"]:
        return {"rater:eve": "", "ambiguity": "relation"}
    return {"rater:eve": ann(line)}


def test_from_claims_to_the_last_table(serve: Any, fake_key: str) -> None:
    rows = claims(groups=24, per_group=4)
    unlabelled = [{name: row[name] for name in ("group", "conversation", "claim")} for row in rows]
    write_jsonl(Path("claims.jsonl"), unlabelled)

    # 2.2: three people label each claim by the guideline; what they do not agree on is left out of the benchmark
    for rater, label in (("ann", ann), ("bob", bob), ("eve", eve)):
        ok("review", "fect", "claims.jsonl", "--output", f"{rater}.csv", "--rater", rater)
        assert fill_sheet(f"{rater}.csv", label) == len(rows)
    ok(
        "gold",
        "import",
        "fect",
        "ann.csv",
        "bob.csv",
        "eve.csv",
        "--merge",
        "majority",
        "--output",
        "gold.jsonl",
    )
    gold = read_jsonl(Path("gold.jsonl"))
    assert len(gold) == len(rows)
    (ambiguous,) = [row for row in gold if row.get("factual") is None]
    assert "desk 12 promises" in ambiguous["claim"]
    assert ambiguous["ambiguity"] == "relation"
    for row in gold:
        assert row is ambiguous or (row["factual"] == "factual") == is_factual(row["claim"])

    # Table 1, and kappa with and without the ambiguous claims
    counts = ok("gold", "check", "fect", "gold.jsonl", "--json").json
    assert counts["cases"] == len(rows) - 1
    found = ok("gold", "agreement", "fect", "gold.jsonl", "--json").json
    assert 0.8 < kappa(found, "ann", "bob") < kappa(found["certain"], "ann", "bob") < 1.0

    # 3.1, Figures 5, 7, 8, Tables 2, 4, 5: four prompts, several runs at temperature 0
    server = serve(Model())
    at = ("--model", "openai/m", "--api-base", server.url, "--yes", "--concurrency", 4)
    four = ok(
        "compare", *PROMPTS, "--gold", "gold.jsonl", *at, "--temperature", 0, "--repeats", 3, "--json"
    ).json
    assert {hit.body["temperature"] for hit in server.hits} == {0.0}
    assert server.count == len(PROMPTS) * 3 * (len(rows) - 1)
    runs = {judge["name"]: judge["repeats"]["f1"] for judge in four["judges"]}
    assert all(len(run["values"]) == 3 and run["low"] <= run["mean"] <= run["high"] for run in runs.values())
    assert runs["fect:basic"]["mean"] < 0.9
    assert (runs["fect-3d:basic"]["mean"], runs["fect-3d:basic"]["sd"]) == (1.0, 0.0)

    # B.6 and HallOumi: the prompts in XML, and verdicts of a detector that was run elsewhere
    for prompt in ("fect_xml", "fect_3d_xml"):
        file = ROOT / "docs" / f"{prompt}.txt"
        ok("new", prompt.replace("_", "-"), "--from", file, "--labels", "factual,non_factual")
    sides = ("factual", "non_factual")
    write_jsonl(Path("halloumi.jsonl"), [{**row, "label": sides[n % 2]} for n, row in enumerate(unlabelled)])
    others = (
        "fect-3d:basic",
        "fect_xml.py:judge:basic",
        "fect_3d_xml.py:judge:basic",
        "recorded:halloumi.jsonl",
    )
    compared = ok("compare", *others, "--gold", "gold.jsonl", *at, "--json").json
    scores = {judge["name"]: judge["scores"]["f1"]["value"] for judge in compared["judges"]}
    assert scores["recorded:halloumi.jsonl"] == 1.0 > scores["fect-xml:basic"] > 0.6
    assert scores["fect-3d-xml:basic"] == 1.0
    in_xml = [hit for hit in server.hits if "<claim>" in str(hit.body["messages"])]
    assert len(in_xml) == 2 * (len(rows) - 1)

    # the prompts compiled, which the paper does not do
    search = ("--optimizer", "opro", "--set", "steps=2", "--split", "30/20/50", "--no-words", "--json")
    made = ok("compile", "fect", "--gold", "gold.jsonl", *search, *at).json
    assert made["decision"]["verdict"] == "better"
    assert HINT in ok("artifacts", "show", "fect").out


def kappa(found: Any, first: str, second: str) -> float:
    """Return Cohen's kappa of two raters."""
    (pair,) = [pair for pair in found["pairs"] if (pair["first"], pair["second"]) == (first, second)]
    return float(pair["kappa"]["value"])
