"""A table with a row for each turn of a conversation: refused with the form that jurist reads."""

from pathlib import Path
from typing import Any

import pytest

from jurist.errors import GoldError
from jurist.gold.goldset import Gold

TURNS = "conversation_id,{who},{said}\nc1,user,Hello there\nc1,assistant,Good day\n"
LIST = [{"role": "user", "content": "Hello there"}, {"role": "assistant", "content": "Good day"}]
ROWS: dict[str, dict[str, Any]] = {
    "fect": {"conversation": LIST, "claim": "They greet.", "factual": True},
    "cognibench": {
        "dialogue": LIST,
        "reference": "They greet.",
        "sentences": ["Good day"],
        "labels": ["faithful"],
    },
}


@pytest.mark.parametrize("judge", ROWS)
@pytest.mark.parametrize(("who", "said"), [("speaker", "text"), ("role", "content")])
def test_a_row_for_each_turn_is_refused_with_the_form_that_is_read(
    judge: str, who: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "turns.csv"
    file.write_text(TURNS.format(who=who, said=said))
    with pytest.raises(GoldError, match="is one turn: write one row for each conversation, in JSONL"):
        Gold.load(file, judge)
    (case,) = Gold.of([ROWS[judge]], judge, labelled=False).cases
    assert any("Hello there" in str(text) for text in case.inputs.values())
