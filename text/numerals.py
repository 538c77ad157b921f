"""Numerals and widths: texts that say the same in Chinese and in Arabic numerals, in full and in half width, are equal.

``一百二十``, ``120`` and ``１２０`` are one number. A run of Chinese numerals becomes digits where it is a whole
number: with units (``三千零五``, ``12万``), digit by digit (``一九八四``), or a numeral alone (``三``). ``点`` between
numerals is a decimal point, ``百分之`` a percent sign. A run that is no number (``三四`` for three or four) stays.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

_REPEATED: Final = 256
"""Texts whose comparable form is remembered."""
_DIGITS: Final[Mapping[str, int]] = {
    numeral: value
    for value, numerals in enumerate(
        ("零〇", "一壹", "二贰貳两兩", "三叁參", "四肆", "五伍", "六陆陸", "七柒", "八捌", "九玖")
    )
    for numeral in numerals
}
_SMALL_UNITS: Final[Mapping[str, int]] = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_LARGE_UNITS: Final[Mapping[str, int]] = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_ZEROS: Final = "零〇"
_NUMERALS: Final = "".join(_DIGITS) + "".join(_SMALL_UNITS) + "".join(_LARGE_UNITS)
_UNITS: Final = "".join(_SMALL_UNITS) + "".join(_LARGE_UNITS)
_MIXED: Final = rf"\d+(?:\.\d+)?[{_UNITS}]"  # such as 12万
_RUN: Final = rf"(?<![\d.,])(?:{_MIXED})+[{_NUMERALS}]*|[{_NUMERALS}]+"
_THOUSANDS: Final = r"(?<=\d),(?=\d{3}(?!\d))"
_PERCENT_MARK: Final = "\0"
_PERCENT: Final = r"\0(?P<amount>\d+(?:\.\d+)?)"
# After a decimal point no unit follows; 三点五分 is a time.
_POINT: Final = r"(?<=\d)点(?P<decimals>\d+)(?![\d分刻时])"
# Signs between digits belong to the number: 3.5 is not 35, and 1990-95 is not 199095.
_BETWEEN_WORDS: Final = r"(?<!\d)[^\w%‰]+|[^\w%‰]+(?!\d)|_+|(?<=\d)\s+(?=\d)"


def with_digits(text: str) -> str:
    """Return a text in NFKC whose Chinese numerals are digits, without separators of thousands."""
    plain = unicodedata.normalize("NFKC", text).replace(_PERCENT_MARK, "")
    plain = re.sub(_THOUSANDS, "", plain)
    plain = plain.replace("百分之百", "100%").replace("百分之", _PERCENT_MARK)  # 百 is no numeral there
    plain = re.sub(_RUN, _digits_of_run, plain)
    plain = re.sub(_POINT, lambda match: "." + match["decimals"], plain)
    plain = re.sub(_PERCENT, lambda match: match["amount"] + "%", plain)
    return plain.replace(_PERCENT_MARK, "百分之")


@lru_cache(maxsize=_REPEATED)
def comparable_letters(text: str) -> str:
    """Return the letters and digits of a text, numerals as digits, without case, width, white space, stops and quotes.

    Signs between two digits stay, as do percent signs: ``3.5`` and ``35`` are two numbers.
    """
    return re.sub(_BETWEEN_WORDS, "", with_digits(text).casefold())


def _digits_of_run(run: re.Match[str]) -> str:
    """Return a run of numerals in digits; the run itself where it is no number."""
    text = run[0]
    number = _number_in_run(text)
    if number is None:
        return text
    return str(number)


def _number_in_run(text: str) -> int | None:
    """Return the number that a run of numerals is; ``None`` if it is none."""
    if all(numeral in _DIGITS for numeral in text):
        return _read_digit_by_digit(text)
    return _read_with_units(text)


def _read_digit_by_digit(text: str) -> int | None:
    """Return the number whose digits are said one by one."""
    # 三四 is three or four; two digits without a zero are rarely a number.
    if len(text) == 2 and not set(text) & set(_ZEROS):
        return None
    if len(text) > 1 and text[0] in _ZEROS:
        return None
    return int("".join(str(_DIGITS[numeral]) for numeral in text))


def _read_with_units(text: str) -> int | None:
    """Return the number that is said with units, such as 一百二十 or 12万5千; ``None`` where units do not descend."""
    total = 0
    section = 0
    digit: float | None = None
    last_small = 10**4
    last_large = 10**12
    after_zero = False
    last_unit = 1
    for token in re.findall(r"\d+(?:\.\d+)?|.", text):
        if token in _LARGE_UNITS:
            unit = _LARGE_UNITS[token]
            amount = section + (digit or 0)
            if not amount or unit >= last_large:
                return None
            total += round(amount * unit)
            section = 0
            digit = None
            last_small = 10**4
            last_large = last_unit = unit
            after_zero = False
        elif token in _SMALL_UNITS:
            unit = _SMALL_UNITS[token]
            if digit is None and (unit > 10 or section or total) and not (unit == 10 and after_zero):
                return None
            if unit >= last_small:
                return None
            section += round((1 if digit is None else digit) * unit)
            digit = None
            last_small = last_unit = unit
            after_zero = False
        elif token in _ZEROS:
            if digit is not None or after_zero:
                return None
            after_zero = True
        else:
            if digit is not None:
                return None
            digit = _DIGITS[token] if token in _DIGITS else float(token)
            if digit == 0:
                return None
    if after_zero and digit is None:
        return None
    if digit is None:
        return total + section
    # 一百二 is 120 and 三万五 is 35,000: the last digit counts the next lower unit.
    if not after_zero and last_unit >= 100:
        return total + section + round(digit * last_unit / 10)
    return total + section + round(digit)
