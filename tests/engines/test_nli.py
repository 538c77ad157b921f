"""The NLI baseline: what is entailed, how it is counted, and, marked slow, a real model that is tiny and random."""

import importlib.util
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes import Scripted, context_with, lm_of
from small import cli
from tiny_models import tiny

from jurist.engines import local, models
from jurist.engines.detectors import named
from jurist.engines.local import Chunk, NliEngine, Relation, relations
from jurist.engines.models import Model
from jurist.errors import ModelError, UsageError
from jurist.keeping.artifacts import Store
from jurist.keeping.loaders import load_judge
from jurist.programs.asking import Asker
from jurist.programs.named import named_judge

H, F = "hallucinated", "faithful"
E: Chunk = {"entailment": 0.8, "neutral": 0.1, "contradiction": 0.1}
N: Chunk = {"entailment": 0.2, "neutral": 0.7, "contradiction": 0.1}
C: Chunk = {"entailment": 0.1, "neutral": 0.1, "contradiction": 0.8}
ROW = {"reference": "Ref.", "question": "Why?", "sentences": ["e", "n", "c", "n then e"]}
SAYS = {"e": [E], "n": [N], "c": [N, C], "n then e": [N, C, E]}


@pytest.fixture(autouse=True)
def _nothing_loaded() -> None:
    models._loaded.cache_clear()


class Fake:
    def __init__(self) -> None:
        self.seen: list[tuple[str, tuple[str, ...]]] = []

    def classify(self, premise: str, hypotheses: Sequence[str]) -> list[list[Chunk]]:
        self.seen.append((premise, tuple(hypotheses)))
        return [SAYS[text] for text in hypotheses]


def asker(reference: str, fake: Fake, **options: Any) -> Asker:
    found = named(reference)
    assert found
    judge, context = named_judge(found), options.pop("context", context_with())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "find_spec", lambda name: object())
        patch.setattr(local, "load_classifier", lambda model, decides: fake)
        engine = NliEngine("m")
    return Asker(judge=judge, program=judge.basic(), lm=lm_of(engine, context), **options)


@pytest.mark.parametrize(
    ("reference", "labels"),
    [("nli:m", (F, H, H, F)), ("nli-contradiction:m", (F, F, H, F))],
)
def test_each_sentence_is_told_by_its_relation(reference: str, labels: tuple[str, ...]) -> None:
    fake = Fake()
    one = asker(reference, fake)
    verdict = one.ask(one.judge.case(ROW))
    assert (verdict.status, verdict.values) == ("verdict", labels)
    assert fake.seen == [("Ref.\nuser: Why?", ("e", "n", "c", "n then e"))]
    assert verdict.reasoning.startswith("1. entailment 0.800; 2. neutral 0.200")


@pytest.mark.parametrize("kind", ["nli", "lettuce"])
@pytest.mark.parametrize(
    "said",
    ["3", '{"a": 1}', "[1]", "[[1]]", '[[0, "x"]]', "[null]", '[{"relation": "x"}]', "null", "no JSON"],
)
def test_what_are_no_relations_and_no_spans_is_an_abstention(kind: str, said: str) -> None:
    found = named(f"{kind}:m")
    assert found
    judge = named_judge(found)
    one = Asker(judge=judge, program=judge.basic(), lm=lm_of(Scripted([said]), context_with()))
    assert one.ask(judge.case(ROW)).status == "abstained"


@pytest.mark.parametrize(("said", "values"), [("[[2, 3]]", (F, H, F, F)), ("[]", (F, F, F, F))])
def test_spans_are_labels_of_the_sentences_that_they_touch(said: str, values: tuple[str, ...]) -> None:
    found = named("lettuce:m")
    assert found
    judge = named_judge(found)
    one = Asker(judge=judge, program=judge.basic(), lm=lm_of(Scripted([said]), context_with()))
    verdict = one.ask(judge.case(ROW))
    assert (verdict.status, verdict.values) == ("verdict", values)


BAD = ("--model", "openai/m", "--gold", "cognibench-mini", "--yes")


@pytest.mark.parametrize(
    "asked",
    [
        ("evaluate", "selfcheck:openai/m+nli:org/bad", *BAD),
        ("run", "selfcheck:openai/m+nli:org/bad", "--input", "cognibench-mini", "--output", "o.jsonl"),
        ("compare", "detector:basic", "nli:org/bad", *BAD),
        ("table", "cognibench-3", "--detector", "detector:basic", "--detector", "lettuce:org/bad", *BAD),
    ],
    ids=lambda asked: " ".join(asked[:2]),
)
def test_what_cannot_be_loaded_is_said_before_anything_is_paid(
    asked: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, serve: Callable[..., Any]
) -> None:
    decided = []

    def load(model: str, decides: str = "") -> Any:
        decided.append(decides)
        raise ModelError(f"{model} cannot be loaded", hint="name another")

    monkeypatch.setattr(local, "find_spec", lambda name: object())
    monkeypatch.setattr(local, "load_classifier", load)
    monkeypatch.setattr(local, "load_detector", load)
    server = serve()
    done = cli(*asked, "--api-base", server.url)
    assert (done.code, server.count) == (1, 0)
    assert done.lines[-1] == "error: org/bad cannot be loaded; name another"
    assert ("contradiction" in decided) == ("selfcheck" in asked[1])


@pytest.mark.parametrize(
    ("names", "decides", "found"),
    [
        ("ENTAILMENT neutral Contradiction", "entailment", ("entailment", "neutral", "contradiction")),
        ("entailment not_entailment", "entailment", ("entailment", "not_entailment")),
        ("contradiction entailment", "entailment", ("contradiction", "entailment")),
        ("entailment not_entailment", "contradiction", "no class contradiction"),
        ("LABEL_0 LABEL_1", "entailment", "which one is entailment"),
        ("not_entailment neutral", "entailment", "which one is entailment"),
        ("", "entailment", "which one is entailment"),
    ],
)
def test_classes_are_known_by_their_names(
    names: str, decides: Relation, found: tuple[str, ...] | str
) -> None:
    classes = dict(enumerate(names.split()))
    if isinstance(found, tuple):
        assert relations("m", classes, decides) == found
    else:
        with pytest.raises(ModelError, match=found):
            relations("m", classes, decides)


@pytest.mark.parametrize("reference", ["nli", "nli:", "lettuce:", "fava:", "selfcheck:openai/x+nli:"])
def test_no_model_named(reference: str) -> None:
    with pytest.raises(UsageError, match="names no model"):
        load_judge(reference, store=Store(None))


def test_a_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    done = cli("run", "nli:org/m", "--input", "cognibench-mini", "--output", "o.jsonl")
    assert (done.code, done.err.strip()) == (
        1,
        "error: nli:org/m needs torch and transformers; install it with: pip install 'jurist[nli]'",
    )


def test_a_model_is_loaded_once_until_it_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(local, "find_spec", lambda name: object())
    monkeypatch.setattr(local, "load_classifier", lambda model, decides: Fake())
    model, weights = Model(f"nli:{tmp_path}"), tmp_path / "model.safetensors"
    weights.write_text("1")
    first = models.reached(model)
    assert models.reached(model) is first
    os.utime(weights, ns=(0, 0))
    assert models.reached(model) is not first


needs_transformers = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("torch", "transformers")),
    reason="needs the extra nli: pip install 'jurist[nli]'",
)


@pytest.mark.slow
@needs_transformers
def test_a_real_model_reads_long_premises_in_pieces(tmp_path: Path) -> None:
    classifier = local.load_classifier(str(tiny(tmp_path)))
    premise = "the bridge was built by carters " * 40
    short, long, both = classifier.classify(premise, ["it fell"])[0], ["it fell " * 90], ["it fell", "a b c"]
    assert len(short) > 5
    assert all(abs(sum(chunk.values()) - 1) < 1e-4 for chunk in short)
    assert len(classifier.classify("the bridge", ["it fell"])[0]) == 1
    assert classifier.classify(premise, long)[0]
    together = classifier.classify(premise, both)
    assert together[0][0]["entailment"] == pytest.approx(short[0]["entailment"], abs=1e-4)
    pieces = classifier._cut(premise.strip(), 20)  # type: ignore[attr-defined]
    assert pieces[0].startswith("the bridge")
    assert pieces[-1].endswith("carters")
    assert all(piece in premise for piece in pieces)
