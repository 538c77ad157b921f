"""A judge that asks the loopback server, for the tests of what is sent and of every fault."""

from typing import Any

import dspy
import pytest
from clocks import SkippingClock
from fakes import Scripted, lm_of
from loopback import Loopback, truth_of

from jurist.engines.adapters import adapter
from jurist.engines.channel import CallContext
from jurist.engines.models import Model, connect
from jurist.engines.offline import OfflineEngine
from jurist.programs.asking import Asker
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge
from jurist.programs.settings import AskSettings
from jurist.programs.verdicts import Verdict

CASES = [FECT.case({"conversation": f"Agent: hello {n}", "claim": f"claim {n}"}) for n in range(200)]
TRUTH = {True: "factual", False: "non_factual"}


def wait_briefly(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Wait a hundredth of what a retry would wait; return what it would have been, as it comes."""
    return SkippingClock().shorten(monkeypatch, 0.01)


def asker(
    server: Loopback | str,
    context: CallContext | None = None,
    timeout: float = 20.0,
    *,
    judge: Judge = FECT,
    **settings: Any,
) -> Asker:
    url = server if isinstance(server, str) else server.url
    model = Model(name="openai/gpt-4.1-mini", api_base=url, timeout=timeout)
    lm = connect(model, context or CallContext.fresh())
    return Asker(judge=judge, program=judge.basic(), lm=lm, settings=AskSettings(**settings))


def scripted(judge: Judge, engine: Any, **settings: Any) -> Asker:
    """Return an asker of a scripted engine, or of one with these replies; ``program`` and ``context`` may be given."""
    engine = Scripted(engine) if callable(engine) or isinstance(engine, list) else engine
    lm = lm_of(engine, settings.pop("context", None) or CallContext.fresh())
    program = settings.pop("program", None) or judge.basic()
    return Asker(judge=judge, program=program, lm=lm, settings=AskSettings(**settings))


def spend(judge: Asker) -> Any:
    return judge.lm._engine_spec.context.ledger.spend()


def right(verdict: Verdict, number: int) -> bool:
    return verdict.label == TRUTH[truth_of(f"claim {number}")]


_OFFLINE = dspy.LM("jurist/offline", engine=OfflineEngine(), cache=False)


def offline(
    signature: Any, form: str = "chat", demos: Any = (), *, heat: float = 0.0, seed: int = 0, **values: Any
) -> Any:
    """Return what the offline engine says in the fields of a signature."""
    program = dspy.Predict(signature)
    program.demos = list(demos)
    with dspy.context(lm=_OFFLINE.copy(temperature=heat), adapter=adapter(form)):
        return program(**values, config={"seed": seed})
