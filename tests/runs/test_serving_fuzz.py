"""``jurist serve`` under schemathesis: whatever its own description allows or forbids."""

from typing import Any

import pytest

from jurist.keeping.artifacts import Store
from jurist.keeping.loaders import load_judge
from jurist.runs.serving import Serving, application

pytestmark = pytest.mark.serve
schemathesis = pytest.importorskip("schemathesis", reason="the extra fuzz is not installed")
BEARING = {"Authorization": "Bearer secret"}


def _schema(name: str) -> Any:
    serving = Serving(loaded=load_judge(name, store=Store("compiled")), token="secret")
    return schemathesis.openapi.from_asgi("/openapi.json", application(serving))


CLAIMS, SENTENCES = _schema("fect:basic"), _schema("cognibench:basic")


@CLAIMS.parametrize()
def test_a_judge_of_claims(case: Any) -> None:
    case.call_and_validate(headers=BEARING)


@SENTENCES.parametrize()
def test_a_judge_of_sentences(case: Any) -> None:
    case.call_and_validate(headers=BEARING)
