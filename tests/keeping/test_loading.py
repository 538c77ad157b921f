"""From a reference to a judge: every way to name one, and how it is found again."""

from pathlib import Path

import pytest
from judges import POLITE, TWO, changed
from small import OWN, claims, ok, write_jsonl

import jurist
from jurist.engines.models import Model
from jurist.errors import ArtifactError, JudgeError, JuristError, UnknownJudgeError, UsageError
from jurist.evaluation.votes import Sampling
from jurist.keeping.artifacts import Store
from jurist.keeping.loaders import load_judge
from jurist.keeping.loading import default_temperature, resolve_sampling
from jurist.keeping.naming import find_judge, locate_judge
from jurist.programs.catalogue import find
from jurist.programs.fect import FECT


@pytest.fixture
def store() -> Store:
    """A store with fect@1, fect@2 (latest, with three samples) and may-go@1 (not latest), from a file."""
    Path("own.py").write_text(OWN)
    store = Store("compiled")
    store.save(FECT, changed(FECT, "First."), {}, [], make_latest=True)
    card = {"thresholds": {"samples": 3, "threshold": 1}, "adapter": "json"}
    store.save(FECT, changed(FECT, "Second."), card, [], make_latest=True)
    store.tag("fect@1", "old")
    own = find("own.py:judge")
    store.save(own, changed(own, "Third."), {"judge_ref": "own.py:judge"}, [], make_latest=False)
    return store


@pytest.mark.parametrize(
    ("reference", "name", "instruction"),
    [
        ("fect", "fect@2", "Second."),
        ("fect@latest", "fect@2", "Second."),
        ("fect@2", "fect@2", "Second."),
        ("fect@1", "fect@1", "First."),
        ("fect@old", "fect@1", "First."),
        ("fect:basic", "fect:basic", "Decide whether a claim"),
        ("own.py:basic", "may-go:basic", "Say whether a reply"),
        ("own.py:judge:basic", "may-go:basic", "Say whether a reply"),
        ("own.py:other:basic", "other-go:basic", "Say whether a reply"),
        ("own.py@1", "may-go@1", "Third."),
        ("own.py:judge@1", "may-go@1", "Third."),
        ("may-go@1", "may-go@1", "Third."),
        ("may-go:basic", "may-go:basic", "Say whether a reply"),
    ],
)
def test_every_way_to_name_a_judge(store: Store, reference: str, name: str, instruction: str) -> None:
    loaded = load_judge(reference, store=store)
    assert loaded.name == name
    assert loaded.state.predictors["self"].instructions.startswith(instruction)
    assert loaded.stamp()["artifact"] == (loaded.artifact.sha256 if loaded.artifact else None)
    assert loaded.asker().program.signature.instructions.startswith(instruction)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("reference", "error", "words"),
    [
        ("fect@9", ArtifactError, "versions 1, 2 exist, tags old"),
        ("fect@", UsageError, "fect@"),
        ("fect@2:basic", UnknownJudgeError, "fect@2"),
        ("may-go@latest", ArtifactError, "no version of may-go is the latest"),
        ("own.py:nothing", JudgeError, "'nothing' is not in it"),
        ("gone.py:judge@1", JudgeError, "gone.py: no such file"),
        ("", UnknownJudgeError, "''"),
        (
            "fect-mini",
            JudgeError,
            "'fect-mini': it is a gold set; name a judge there, and fect-mini as its rows",
        ),
        (
            "rows.csv",
            JudgeError,
            "it is a file that holds none; name a judge there, and rows.csv as its rows;",
        ),
    ],
)
def test_what_is_not_there(store: Store, reference: str, error: type[JuristError], words: str) -> None:
    Path("rows.csv").write_text("conversation,claim,label\n")
    with pytest.raises(error) as caught:
        load_judge(reference, store=store)
    assert words in str(caught.value)
    assert type(caught.value) is error


def test_an_at_sign_in_a_folder_is_no_version(store: Store, tmp_path: Path) -> None:
    place = tmp_path / "me@work"
    place.mkdir()
    (place / "own.py").write_text(OWN)
    assert load_judge(f"{place}/own.py:basic", store=store).name == "may-go:basic"
    assert load_judge(f"{place}/own.py:judge@1", store=store).name == "may-go@1"
    assert load_judge(f"{place}/own.py", store=store).name == "may-go:basic"


def test_a_name_without_a_better_version_is_the_basic_prompt_and_says_so(store: Store) -> None:
    loaded = load_judge("may-go", store=store, samples=3)
    assert loaded.name == "may-go:basic"
    assert "no version of may-go has passed a sealed test: its basic prompt is used" in loaded.note
    assert "may-go@1 names a version" in loaded.note
    assert "may-go@1 names a version" in loaded.with_model(Model(name="openai/x", temperature=0.0)).note
    assert load_judge("fect", store=store).standing == ""


def test_a_judge_in_no_file_is_loaded_by_itself_and_its_name_says_what_it_needs(store: Store) -> None:
    store.save(POLITE, changed(POLITE), {}, [], make_latest=True)
    assert load_judge(POLITE, store=store).name == "polite@1"
    assert load_judge(POLITE, store=store, version="basic").name == "polite:basic"
    assert load_judge("polite", store=store).name == "polite@1"  # its versions keep it
    store.save(TWO, changed(TWO), {}, [], make_latest=True)
    with pytest.raises(
        JudgeError, match="two-steps@1 was compiled from a judge that stands in no file"
    ) as caught:
        load_judge("two-steps", store=store)
    assert "FILE.py:judge" in str(caught.value)


def test_a_judge_compiled_by_its_name_still_knows_its_file(store: Store) -> None:
    judge, reference = locate_judge("may-go", store)
    assert (judge.name, reference) == ("may-go", "own.py:judge")
    assert find_judge("may-go", store).answer.labels == judge.answer.labels
    assert locate_judge("fect", store) == (FECT, "fect")


@pytest.mark.parametrize(
    ("given", "samples", "threshold"),
    [
        ({}, 3, 1),
        ({"threshold": 3}, 3, 3),
        ({"samples": 5}, 5, 3),
        ({"samples": 5, "threshold": 2}, 5, 2),
        ({"samples": 1}, 1, 1),
    ],
)
def test_samples_and_threshold_as_proven_or_as_given(
    store: Store, given: dict[str, int], samples: int, threshold: int
) -> None:
    loaded = load_judge("fect", store=store, **given)  # type: ignore[arg-type]
    assert (loaded.sampling.samples, loaded.sampling.needed) == (samples, threshold)
    assert loaded.adapter == "json"


def test_a_basic_prompt_takes_a_format_and_a_version_keeps_its_own(store: Store) -> None:
    assert load_judge("fect:basic", store=store).with_adapter("json").adapter == "json"
    kept = load_judge("fect@2", store=store)
    assert kept.with_adapter(None) is kept
    named = kept.with_adapter("json")
    assert (named.name, named.adapter, named.state) == (kept.name, kept.adapter, kept.state)
    assert (named.names_adapter, kept.names_adapter) == (True, False)
    with pytest.raises(UsageError, match="fect@2 was proven with json prompts"):
        kept.with_adapter("chat")
    with pytest.raises(UsageError, match="no adapter is called 'yaml'"):
        kept.with_adapter("yaml")


@pytest.mark.parametrize(
    ("name", "fixed"),
    [
        *(("openai/o3-mini", True), ("openai/gpt-5.2", True), ("openai/gpt-5", True), ("offline", False)),
        *(("openai/gpt-5-chat", False), ("openai/gpt-4.1-mini", False), ("ollama_chat/olmo", False)),
    ],
)
def test_a_model_that_refuses_temperatures_keeps_its_own(name: str, fixed: bool) -> None:
    assert default_temperature(Model(name=name), 1).temperature == (None if fixed else 0.0)
    assert default_temperature(Model(name=name), 3).temperature == (None if fixed else 0.7)


def test_at_temperature_0_one_sample_is_asked_whatever_was_proven(store: Store) -> None:
    assert load_judge("fect", store=store).model.temperature == 0.7
    cold = load_judge("fect", store=store, model=Model(temperature=0.0))
    assert (cold.sampling, cold.sampling.needed) == (Sampling(), 1)
    assert "all 3 samples would be the same: 1 is asked" in cold.note
    assert cold.stamp()["sampling"] == {"samples": 1, "threshold": 1, "temperature": 0.0}
    warm = load_judge("fect", store=store)
    assert (warm.sampling.samples, warm.note) == (3, "")
    assert warm.with_model(Model(temperature=0.0)).sampling.samples == 1
    with pytest.warns(UserWarning, match="1 is asked and 1 vote counted"):
        jurist.load("fect", store="compiled", model=Model(temperature=0.0))


@pytest.mark.parametrize(
    ("given", "samples", "becomes"), [(None, None, 0.3), (None, 3, 0.3), (0.0, 1, 0.0), (1.0, None, 1.0)]
)
def test_a_judge_that_draws_by_itself_has_a_temperature_of_its_own(
    store: Store, given: float | None, samples: int | None, becomes: float
) -> None:
    loaded = load_judge("fact-check:basic", store=store, samples=samples, model=Model(temperature=given))
    assert loaded.model.temperature == becomes
    assert loaded.with_model(Model(temperature=given)).model.temperature == becomes
    plain = load_judge("intent-baseline:basic", store=store, model=Model(temperature=given))
    assert plain.model.temperature == (given or 0)


@pytest.mark.parametrize(
    ("samples", "temperature", "asked", "warm"),
    [(5, 0.0, 1, 0.0), (5, None, 5, 0.7), (5, 0.1, 5, 0.1), (1, None, 1, 0.0), (1, 0.4, 1, 0.4)],
)
def test_model_and_sampling_fit(samples: int, temperature: float | None, asked: int, warm: float) -> None:
    for threshold in (None, *range(1, samples + 1)):
        wanted = Sampling(samples=samples, threshold=threshold)
        model, sampling, note = resolve_sampling(Model(temperature=temperature), wanted)
        assert (sampling.samples, model.temperature) == (asked, warm)
        assert bool(note) == (asked < samples)
        assert sampling.threshold == (threshold if asked == samples else None)


@pytest.mark.parametrize("deep", ["", "a/b/c/d"])
def test_a_judge_is_found_from_another_folder_by_the_place_of_its_store(
    store: Store, deep: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = store.root.resolve()
    elsewhere = tmp_path_factory.mktemp("elsewhere") / deep
    elsewhere.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(elsewhere)
    far = Store(root)
    for reference in ("may-go@1", "own.py:judge@1", "own.py@1"):
        assert load_judge(reference, store=far).name == "may-go@1"
    assert locate_judge("may-go", far)[1] == "own.py:judge", (
        "what a card holds names no folder of this machine"
    )
    Path("own.py").write_text(OWN.replace('name="may-go"', 'name="mine"'))
    assert find_judge("own.py", far).name == "mine", "the file of this folder comes first"


def test_versions_are_compared_by_the_metric_that_one_was_compiled_for() -> None:
    kept = Store("kept")
    kept.save(FECT, changed(FECT, "Mine."), {"decision": {"metric": "kappa"}}, [], make_latest=True)
    write_jsonl(Path("gold.jsonl"), claims())
    found = ok("compare", "fect:basic", "fect@1", "--gold", "gold.jsonl", "--store", "kept", "--json").json
    assert found["metric"] == "kappa"
    starred = ok("evaluate", "fect@1", "--gold", "gold.jsonl", "--store", "kept", "--json").json
    assert starred["metric"] == "kappa"
