"""Which label a reply in plain words states, and which replies state none."""

from typing import Any

import pytest

from jurist.text.plain_replies import label_stated

SEND: tuple[Any, ...] = ("send", "hold", "ask")
YES: tuple[Any, ...] = ("yes", "no")
STATED: list[tuple[tuple[Any, ...], str, Any]] = [
    (SEND, "send", "send"),
    (SEND, "**Send.**", "send"),
    (SEND, "<think>hold, I guess</think>\nSend", "send"),
    (SEND, "Verdict: hold", "hold"),
    (SEND, "**Verdict:** Hold.", "hold"),
    (SEND, "### Final answer: `ask`", "ask"),
    (SEND, "The answer is send.", "send"),
    (SEND, "One could send it. One could hold it.\n\nDecision: hold", "hold"),
    (SEND, "One could send it, but it promises a refund.\n\nhold", "hold"),
    (SEND, "<verdict>send</verdict>", "send"),
    (SEND, "<reason>It should not be held.</reason>\n<verdict>\nSend\n</verdict>", "send"),
    (SEND, '{"reason": "Nothing to hold back.", "verdict": "send"}', "send"),
    (SEND, '```json\n{"verdict": "Hold"}\n```', "hold"),
    (SEND, "Hold. The reply promises a refund.", "hold"),
    (SEND, "Hold\n\nThe reply promises a refund.", "hold"),
    (SEND, "hold - a refund is promised", "hold"),
    (SEND, "结论：send", "send"),
    (SEND, "答案是「hold」。", "hold"),
    (("发送", "保留"), "最终答案：发送。", "发送"),
    (("发送", "保留"), "保留。回复承诺退款。", "保留"),
    (("正しい", "誤り"), "判定：正しい", "正しい"),
    (("gültig", "ungültig"), "Urteil: ungültig.", "ungültig"),
    (("vrai", "faux"), "Ma réponse est : faux.", "faux"),
    (("cierto", "falso"), "Respuesta: **falso**", "falso"),
    (("правда", "ложь"), "Ответ: ложь.", "ложь"),
    (("صحيح", "خطأ"), "الإجابة: صحيح", "صحيح"),
    (("사실", "거짓"), "판정: 거짓", "거짓"),
    (YES, "Yes, the claim is in the text.", "yes"),
    (YES, "Yes. There is no promise in it.", "yes"),
    (YES, "No.", "no"),
    (YES, "结论：是。理由：原文写明了年份。", "yes"),
    (YES, "结论：不是。", "no"),
    (YES, "是否正确：否", "no"),
    (YES, "答案是：是", "yes"),
    (YES, "The verdict is: no (the year differs)", "no"),
    (YES, "结论：是（原文第二句）", "yes"),
    (YES, "Verdict == yes", "yes"),
    (YES, "**Verdict:** : yes", "yes"),
    (YES, "the answer is : = no", "no"),
    (("yes", "no", "uncertain"), "uncertain (the passage is cut)", "uncertain"),
    ((True, False), "True", True),
    ((True, False), '{"factual": false}', False),
    ((1, 2, 3, 4, 5), "Score: 4", 4),
    ((1, 2, 3, 4, 5), "**4**", 4),
]
NOT_STATED: list[tuple[tuple[Any, ...], str]] = [
    (SEND, ""),
    (YES, "yes (probably not)"),
    (YES, "yes (if the date is left out)"),
    (YES, "Verdict: yes (partly)"),
    (YES, "是（如果不看日期）"),
    (YES, "答案是否定的。"),
    (YES, "判断：是非难辨"),
    (YES, "Verdict: yes, but no."),
    (SEND, "<think>send</think>"),
    (SEND, "<think>send"),
    (SEND, "not send"),
    (SEND, "Verdict: not send"),
    (SEND, "Verdict: send or hold"),
    (SEND, "Verdict: send?"),
    (SEND, "Verdict: ѕend"),
    (SEND, "Verdict: send\nVerdict: hold"),
    (SEND, "I would not send this."),
    (SEND, "You could send it."),
    (SEND, "~~send~~"),
    (SEND, "send\nhold"),
    (SEND, "Send. On reflection, hold."),
    (SEND, "Send it only after a check, but hold it now."),
    (SEND, "The faithful thing to do: send"),
    (SEND, '{"first": "send", "second": "hold"}'),
    (SEND, 'not {"verdict": "send"}'),
    (SEND, "结论不是 send"),
    (("发送", "保留"), "答案：不发送。"),
    (("发送", "保留"), "发送还是保留？"),
    (("正しい", "誤り"), "判定：正しくない"),
    (("gültig", "ungültig"), "Urteil: nicht gültig"),
    (("vrai", "faux"), "Réponse : ni vrai ni faux"),
    (("cierto", "falso"), "Respuesta: no es falso"),
    (("правда", "ложь"), "Ответ: неправда"),
    (("사실", "거짓"), "판정: 사실이 아니다"),
    (YES, "Yes, but no."),
    (YES, "Yes and no."),
    (YES, "Yes. Or is it? No."),
    (YES, "No doubt it is so"),
    ((True, False), "Not true"),
    ((True, False), "1"),
    ((1, 2, 3, 4, 5), "4/5"),
    ((1, 2, 3, 4, 5), "Score: 3-4"),
    ((1, 2, 3, 4, 5), "Score: 6"),
]


@pytest.mark.parametrize(("allowed", "reply", "value"), STATED)
def test_a_label_is_stated(allowed: tuple[Any, ...], reply: str, value: Any) -> None:
    stated = label_stated(reply, allowed)
    assert (stated, type(stated)) == (value, type(value))


@pytest.mark.parametrize(("allowed", "reply"), NOT_STATED)
def test_no_label_is_stated(allowed: tuple[Any, ...], reply: str) -> None:
    with pytest.raises(ValueError, match="it states "):
        label_stated(reply, allowed)


@pytest.mark.parametrize("part", ["verdict: ", "<verdict>", "(", "**", "`", "no, ", " ", "[", "- "])
def test_a_long_reply_is_read_to_its_end(part: str) -> None:
    with pytest.raises(ValueError, match="it states "):
        label_stated(part * (200_000 // len(part)) + "x", SEND)
