"""The versions that come with jurist: whole, listed on their page, and never taken for more than was proven of them."""

from pathlib import Path

import pytest
from small import ok

import jurist
from jurist.console.store_index import index_page
from jurist.keeping.artifacts import SHIPPED, Store

_PAGE = Path(jurist.__file__).parent / "compiled" / "README.md"
_VERSIONS = Store(SHIPPED).list()


def test_every_version_is_as_it_was_sealed():
    assert _VERSIONS
    assert Store(SHIPPED).verify() == []


def test_the_page_lists_them_as_the_command_does():
    assert index_page(_VERSIONS, _PAGE.parent) == _PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("artifact", _VERSIONS, ids=lambda artifact: artifact.ref)
def test_each_can_be_loaded_and_says_what_was_shown(artifact):
    loaded = jurist.load(artifact.ref, store=SHIPPED, model=artifact.model or "offline")
    assert loaded.state == artifact.state
    assert artifact.history
    assert artifact.about.decision.verdict == "better" or "not proven" in " ".join(
        artifact.about.all_warnings
    )


@pytest.mark.parametrize("artifact", _VERSIONS, ids=lambda artifact: artifact.ref)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_name_alone_stands_for_what_was_proven_with_the_model(artifact):
    other = jurist.load(artifact.judge, store=SHIPPED, model="openai/some-other-model")
    assert other.artifact is None
    if artifact.latest:
        proven = jurist.load(artifact.judge, store=SHIPPED, model=artifact.model)
        assert proven.name == artifact.ref


def test_the_list_of_shipped_versions():
    listed = ok("artifacts", "list", "--shipped", "--json").json["artifacts"]
    assert [entry["artifact"] for entry in listed] == [artifact.ref for artifact in _VERSIONS]
