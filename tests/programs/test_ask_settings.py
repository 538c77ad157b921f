"""How a judge is asked, as one value: what it refuses, and what who holds it makes of it."""

from dataclasses import replace

import pytest
from asking import scripted
from fakes import Scripted

import jurist
from jurist.engines.models import Model
from jurist.errors import UsageError
from jurist.keeping.artifacts import Store
from jurist.keeping.loaders import load_judge
from jurist.programs.dialogue import DIALOGUE
from jurist.programs.fect import FECT
from jurist.programs.settings import FOR_NEW_ROWS, FOR_SEARCHES, AskSettings


@pytest.mark.parametrize("concurrency", [0, -1])
def test_a_concurrency_that_asks_nothing_is_refused_where_it_is_given(concurrency: int) -> None:
    with pytest.raises(UsageError, match=f"a concurrency of {concurrency} asks nothing; give 1 or more"):
        AskSettings(concurrency=concurrency)
    with pytest.raises(jurist.JuristError, match="asks nothing"):
        jurist.load("fect:basic", concurrency=concurrency)


def test_a_loaded_judge_hands_its_settings_on_whole() -> None:
    loaded = load_judge(
        "fect:basic", store=Store(None), model=Model(temperature=0.0), samples=3, concurrency=2
    )
    assert loaded.settings == replace(FOR_NEW_ROWS, concurrency=2, sampling=jurist.Sampling(samples=3))
    asked = loaded.asker().settings
    # At temperature 0 all samples would be the same.
    assert asked == replace(loaded.settings, sampling=jurist.Sampling())


@pytest.mark.parametrize(("judge", "redraws"), [(FECT, 1), (DIALOGUE, 0)])
def test_what_a_generator_writes_is_never_drawn_again(judge: jurist.Judge, redraws: int) -> None:
    asker = scripted(judge, Scripted([]), redraws=FOR_SEARCHES.redraws)
    assert asker.redraws == redraws


def test_the_adapter_is_the_judges_own_where_nobody_names_one() -> None:
    assert AskSettings().adapter_of(FECT) == "chat"
    assert AskSettings(adapter="json").adapter_of(FECT) == "json"
