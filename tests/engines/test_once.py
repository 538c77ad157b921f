"""Answers that cases share: one call for each key, also after a call that failed."""

import asyncio

import pytest

from jurist.engines.ledger import Spend
from jurist.engines.once import SharedAnswer, SharedAnswers


def test_cases_of_one_key_share_one_call() -> None:
    calls: list[str] = []

    async def ask() -> SharedAnswer:
        calls.append("asked")
        await asyncio.sleep(0)
        return SharedAnswer(text="four", spend=Spend(calls=1))

    async def all_cases() -> list[SharedAnswer]:
        answers = SharedAnswers()
        return await asyncio.gather(*(answers.get("2 + 2", ask) for _ in range(5)))

    found = asyncio.run(all_cases())
    assert len(calls) == 1
    assert {answer.text for answer in found} == {"four"}
    assert [answer.is_new for answer in found].count(True) == 1


def test_after_an_error_those_who_wait_and_newcomers_share_the_next_call() -> None:
    calls: list[str] = []

    async def ask() -> SharedAnswer:
        calls.append("asked")
        number = len(calls)
        await asyncio.sleep(0.01)
        if number == 1:
            raise OSError("the endpoint broke")
        return SharedAnswer(text="four", spend=Spend(calls=1))

    async def all_cases() -> list[SharedAnswer | BaseException]:
        answers = SharedAnswers()

        async def newcomer() -> SharedAnswer:
            await asyncio.sleep(0.015)  # after the error, while those who waited ask again
            return await answers.get("2 + 2", ask)

        early = [answers.get("2 + 2", ask) for _ in range(3)]
        return await asyncio.gather(*early, newcomer(), return_exceptions=True)

    first, *others = asyncio.run(all_cases())
    assert isinstance(first, OSError)
    assert [answer.text for answer in others if isinstance(answer, SharedAnswer)] == ["four"] * 3
    assert len(calls) == 2, "one call that failed, and one for everybody else"


def test_an_error_reaches_the_case_that_asked() -> None:
    async def ask() -> SharedAnswer:
        raise OSError("the endpoint broke")

    with pytest.raises(OSError, match="broke"):
        asyncio.run(SharedAnswers().get("2 + 2", ask))
