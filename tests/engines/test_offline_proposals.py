"""Instructions the offline engine proposes: new, safe, in the right language."""

import dspy
from asking import offline

from jurist.engines.offline.proposals import wording_of

BASIC = """Label every sentence.
faithful: the reference supports it. invented: any part is missing from it."""
SECRET = "The quagga of Zanzibar sleeps at noon"


class Propose(dspy.Signature):
    """Write a better instruction."""

    task: str = dspy.InputField()
    scored_instructions: str = dspy.InputField()
    errors: str = dspy.InputField()
    instruction: str = dspy.OutputField()


def ask(tried: list[tuple[str, float]], errors: str = "none", seed: int = 0, temperature: float = 1.0) -> str:
    shown = "\n\n".join(f"text:\n{text}\nscore: {score}" for text, score in tried)
    given = {"task": "judge", "scored_instructions": shown, "errors": errors}
    return str(offline(Propose, heat=temperature, seed=seed, **given).instruction)


def test_proposals_never_repeat_and_keep_the_definitions() -> None:
    tried: list[tuple[str, float]] = [(BASIC, 50)]
    for seed in range(40):
        text = ask(tried, seed=seed % 5)
        assert wording_of(text) not in {wording_of(old) for old, _ in tried}
        assert BASIC in text
        tried = sorted([*tried, (text, 40 + (seed * 7) % 30)], key=lambda pair: pair[1])


def test_temperature_zero_is_one_proposal_and_seeds_vary_above_it() -> None:
    assert len({ask([(BASIC, 50)], seed=s, temperature=0.0) for s in range(5)}) == 1
    assert len({ask([(BASIC, 50)], seed=s) for s in range(12)}) > 3


def test_examples_are_never_copied() -> None:
    errors = f'reference: {SECRET}.\n"{SECRET}." is invented according to people; judged faithful'
    assert all("quagga" not in ask([(BASIC, 50)], errors, seed=s) for s in range(20))


def test_language_follows_the_instruction() -> None:
    text = ask([("判断每句话是否有依据。", 50)], seed=3)
    added = text.replace("判断每句话是否有依据。", "")
    assert added
    assert not any(ch.isascii() and ch.isalpha() for ch in added)
