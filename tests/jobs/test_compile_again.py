"""Compiling a judge whose replies leave units out: a limit holds, the proof has room, samples are not drawn in vain."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopback import field_of
from small import FAST, THINGS, cli, ok, write_jsonl

from jurist.gold.goldset import Gold
from jurist.programs.asking import room_for
from jurist.programs.cognibench import COGNIBENCH as COGNI


@pytest.fixture(autouse=True)
def _folder() -> None:
    rows = [
        {
            "group": f"g{n}",
            "reference": f"The {THINGS[n % 8]} number {n} is red.",
            "sentences": [
                f"The {THINGS[n % 8]} {n} is red.",
                f"It was made on Mars in {1900 + n}.",
                "Hello.",
            ],
            "labels": ["faithful", "invented", "irrelevant"],
        }
        for n in range(20)
    ]
    write_jsonl(Path("gold.jsonl"), rows)


def careless(every: int) -> Callable[[list[dict[str, Any]]], str]:
    """Leave out the first sentence of every n-th response."""

    def answers(messages: list[dict[str, Any]]) -> str:
        shown = re.findall(r"^(\d+)\. (.*)$", field_of(str(messages[-1]["content"]), "sentences"), re.M)
        number = int(field_of(str(messages[-1]["content"]), "reference").split()[3])
        drop = len(shown) == 3 and (number + 1) % every == 0
        items = [
            {"n": int(n), "label": "invented" if "Mars" in text else "faithful"} for n, text in shown[drop:]
        ]
        return f"[[ ## labels ## ]]\n{json.dumps(items)}\n\n[[ ## completed ## ]]"

    return answers


def argv(server: Any, *more: object) -> tuple[object, ...]:
    named = ("--model", "openai/x", "--api-base", server.url, "--split", "40/30/30", "--yes", "--anyway")
    return ("compile", "cognibench", "--gold", "gold.jsonl", *FAST, *named, *more)


@pytest.mark.parametrize("every", [1, 4])
def test_never_one_call_more_and_room_for_the_proof(every: int, serve: Callable[..., Any]) -> None:
    free = serve(careless(every))
    whole = ok(*argv(free, "--json"))
    assert whole.json["spend"]["calls"] == free.count
    test = len(Gold.load("gold.jsonl", COGNI).split(0, (0.4, 0.3, 0.3)).test)
    held = 2 * room_for(COGNI, test, 1)
    assert held == 2 * (test + test // 4)
    server = serve(careless(every))
    refused = cli(*argv(server, "--max-calls", held))
    assert (refused.code, server.count) == (1, 0)
    assert f"the proof alone takes {held} calls" in refused.err
    for limit in (held + 20, held + 27):
        server = serve(careless(every))
        done = cli(*argv(server, "--max-calls", limit, "--json"))
        assert server.count <= limit
        if done.code:
            assert every == 1  # every single reply needs another call: more than a quarter
            assert "Traceback" not in done.err
        else:
            assert done.json["scores"] is not None
