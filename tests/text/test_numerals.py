"""Numerals, widths and signs: texts that say the same compare equal, and others do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jurist.text.numerals import comparable_letters, with_digits


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("一百二十", "120"),
        ("１２０", "120"),
        ("三位", "3位"),
        ("十二", "12"),
        ("二十一世纪", "21世纪"),
        ("一九八四年", "1984年"),
        ("二〇〇五", "2005"),
        ("三千零五", "3005"),
        ("一百二", "120"),
        ("三万五", "35000"),
        ("一万零五十", "10050"),
        ("一亿零三百万", "103000000"),
        ("1.2亿", "120000000"),
        ("12万5千", "125000"),
        ("壹佰贰拾", "120"),
        ("兩萬", "20000"),
        ("零点五", "0.5"),
        ("三点五米", "3.5米"),
        ("三点五分", "3点5分"),
        ("百分之三点五", "3.5%"),
        ("百分之百", "100%"),
        ("1,250.5", "1250.5"),
        # no numbers: about three, thirteen or fourteen, millions, just in case, a percent sign without an amount
        ("三四个人", "三四个人"),
        ("十三四", "十三四"),
        ("百万富翁", "百万富翁"),
        ("万一", "万一"),
        ("百分之多少", "百分之多少"),
    ],
)
def test_numerals_become_digits(text, digits):
    assert with_digits(text) == digits


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        ("塔高120米。", "塔高一百二十米.", True),
        ("“塔高１２０米｡”", "塔高120米", True),
        ("Ｐａｒｉｓ，　1889", "paris 1889", True),
        ("增长百分之五", "增长5%", True),
        ("增长5%", "增长5", False),
        ("高3.5米", "高35米", False),
        ("1990-95", "199095", False),
        ("1,250 people", "1250 people", True),
        ("三位", "四位", False),
    ],
)
def test_texts_are_compared_without_width_signs_and_script(first, second, equal):
    assert (comparable_letters(first) == comparable_letters(second)) is equal


def chinese(number: int) -> str:
    """Return a number as it is said in Chinese: an implementation from the other side."""
    if number < 10:
        return "零一二三四五六七八九"[number]
    units = {10**8: "亿", 10**4: "万", 1000: "千", 100: "百", 10: "十"}
    unit = max(unit for unit in units if unit <= number)
    count, rest = divmod(number, unit)
    text = chinese(count) + units[unit]
    if rest:
        text += "零" * (rest < unit // 10) + chinese(rest)
    return text


@given(st.integers(0, 10**12 - 1))
def test_every_number_is_read_as_it_is_said(number):
    assert with_digits(chinese(number)) == str(number)
    assert comparable_letters(f"共{chinese(number)}人。") == comparable_letters(f"共{number:,}人")


@given(st.text(st.characters(codec="ascii")) | st.text("零〇一二三十百千万亿点百分之05.,%年a ０"))
def test_widths_quotes_and_stops_make_no_difference(text):
    wide = "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in text)
    assert comparable_letters(wide) == comparable_letters(f"“{text}。”") == comparable_letters(text)
