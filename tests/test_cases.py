"""Ids of cases are part of artifacts: however they are computed, they stay as they are."""

import hashlib
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from jurist.cases import case_id

VALUES = (
    st.text() | st.text(st.characters(max_codepoint=127)) | st.integers() | st.floats() | st.lists(st.text())
)


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_an_id_is_the_hash_of_canonical_json(inputs: dict[str, Any]) -> None:
    text = json.dumps(inputs, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert case_id(inputs) == hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
