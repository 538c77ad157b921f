"""Readers of free replies to closed questions of C-FAITH: correct or not, or the letter of an option (Tables 5, 6).

A reply is read where it commits itself: the whole of it, its first sentence or its last line is a verdict or a choice
alone, or begins with one and goes on with a reason. What is hedged, denied, asked or quoted is never taken for an
answer, and neither is a reply that says two things. Such a reply is unanswered.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from ...text.ranking import letters

Letter: TypeAlias = Literal["A", "B", "C", "D"]

LETTERS: Final[Sequence[Letter]] = ("A", "B", "C", "D")

_COMMANDS: Final = re.compile(r"\\(?:boxed|text|textbf|mathrm|mathbf)(?=\s*\{)|\$")
_MARKS: Final = re.compile(r"[*_\"“”'‘’()\[\]{}【】「」《》`]")
_LINE_MARK: Final = re.compile(r"^[>#\-•\s]+", re.MULTILINE)
_INITIALS: Final = {"t": True, "f": False}
_SIGNS: Final = {
    re.compile(r"[√✓✔✅☑](?!\s*\d)(?:\ufe0f)?(?:\s*(?:true|正确))?"): "正确",
    re.compile(r"(?<!\d)(?<!\d )[×✗✘❌✖](?!\s*\d)(?:\ufe0f)?(?:\s*(?:false|错误))?"): "错误",
}
"""Marks of right and wrong, alone or before the word -> the word; not signs of arithmetic, as in 3 × 4 and √9."""
_END: Final = re.compile(r"(?<=[.!?。！？\n])\s*")
_ACCORDING: Final = (
    r"(?:(?:based on|according to|as far as|to the best of|to my|from what|in my)\b[^,.;]{0,60}, ?"
    r"|(?:根据|依据|按照|据)[^，,。]{0,20}[，,] ?)?"
)
_SUBJECT: Final = (
    r"(?:i (?:think|believe|choose|pick|would say)(?: that)? |so,? |therefore,? |thus,? |我(?:认为|觉得|判断)[，,]?)?"
    r"(?:(?:the |my |this )?(?:final |correct |right |given |above )?"
    r"(?:answer|option|choice|verdict|judge?ment|statement|claim)(?: given)?(?: is|:)? ?"
    r"|(?:it|this|that) ?i?s |option |选择?"
    r"|(?:这个|这一|这种|这|该|此|上述|以上|我的|给出的|题目的|最终|正确)*"
    r"(?:答案|判断|结论|选项|回答|说法|陈述|表述|观点|句话)(?:应该|应|并)?(?:是|为)?[：:]? ?|这是?|应该?选|应为)?"
)
_LEAD: Final = _ACCORDING + _SUBJECT
_TRUE: Final = r"true|correct|right|accurate|yes|正确的?|对的?|是的?|属实|准确|没有?错|真的"
_FALSE: Final = (
    r"false|incorrect|wrong|untrue|inaccurate|no|not (?:true|correct|right|accurate)"
    r"|错误的?|错的?|并?不正确的?|不准确的?|不对的?|不是|否|不属实|有误|假的"
)
_WHOLE: Final = {
    True: re.compile(rf"{_LEAD}(?:{_TRUE}|yes, it is)"),
    False: re.compile(rf"{_LEAD}(?:{_FALSE}|no, it is not)"),
}
_REASON: Final = r"(?:\s*[,，;；:：—]|\s+(?:because|since|as|given that|that)\b|\s*(?:因为|由于))(?P<rest>.*)"
_WITH_REASON: Final = {
    # "Right, let me see" is no verdict.
    True: re.compile(rf"{_LEAD}(?:(?!right\s*,){_TRUE.replace('|是的?', '|是的')}){_REASON}", re.DOTALL),
    False: re.compile(rf"{_LEAD}(?:{_FALSE}){_REASON}", re.DOTALL),
}
_HEDGE: Final = re.compile(
    r"\b(?:but|however|partly|partially|mostly|somewhat|in part|maybe|perhaps|possibly|probably|might|may|could|unless"
    r"|if|depends|unsure|unclear|not (?:sure|certain|entirely|quite|exactly|fully|clear|wholly|completely)|cannot|can't"
    r"|i can|i will|i'll|let me|let us|lets|happy to|or)\b"
    r"|但|不过|然而|虽然|尽管|部分|不完全|不一定|不确定|可能|也许|大概|或许|或者|还是|无法|不能|如果|我可以|我来|让我|抱歉"
)
_CORRECTION: Final = re.compile(
    r"\b(?:actually|wait|correction|on second thought|let me correct)\b|更正|等等，|等一下"
)
"""What takes an earlier answer back."""
_CONTRAST: Final = re.compile(r"(?:but|however|yet|still|although|though|但是?|不过|然而|可是)\b[,，]? ?")
"""What a sentence begins with that goes against the one before it."""
_OFFER: Final = re.compile(r"^(?:true or false|true/false|对还是错|是否正确)\s*[?？:：]\s*")
"""A question that a reply repeats before it answers."""
_OTHER_SENSE: Final = re.compile(
    r"\b(?:correct|right|true|accurate) "
    r"(?:answer|year|date|number|name|place|value|one|option|choice)s?\b"
    r"|正确的?(?:答案|年份|时间|日期|地点|名字|说法|选项|表述|回答)|正确的?(?:是|应)|对于|对应|对此"
    r"|应该?是|不是|而是|还是|总是|是否"
)
"""Words of a verdict that are none: "the correct answer is 1902"."""
_SAYS_TRUE: Final = re.compile(r"\b(?:true|correct|right|accurate|yes)\b|正确|属实|没错|(?<!不)对的")
_SAYS_FALSE: Final = re.compile(
    r"\b(?:false|incorrect|wrong|untrue|inaccurate|no|(?:not|isn't|never) (?:true|correct|right|accurate))\b"
    r"|错误|不正确|不对|不属实|有误"
)

_STOP: Final = r"(?:[.):、,，。;；]|\s*$)"
_CHOICE: Final = re.compile(rf"{_LEAD}(?:option |choice )?([a-d])(?:[.):、,，] ?| |$)(.*)", re.DOTALL)
_ENDS_OF_CLAUSES: Final = re.compile(r"[.。!！\n]")
_LISTED: Final = re.compile(r"(?<![a-z])([a-d])[.):、](?!\s*$)")
"""An option with its letter, as it stands in the question."""
_MOST_LISTED = 2  # options that a reply names with letter and stop, and does not merely repeat
_CLAUSES: Final = re.compile(r"[,，;；。!！\n]|\.(?=\s|$)|(?<=[?？吗])")
_AFFIRMED: Final = re.compile(
    r"(?:(?:答案|选项)(?:其实|实际上|应该|应当|应)?(?:是|为)|(?:应该|应当|应)(?:是|选|为)|只有|因此|所以|选择?)"
    r"\s*(?:选项\s*)?(?P<chosen>[A-D])(?![A-Za-z])\s*(?:项|选项)?\s*(?:才?是?正确的?|符合)?$"
    r"|^(?P<subject>[A-D])\s*(?:选项|项)?\s*(?:才?是)?正确的?$"
    r"|\b(?:(?:right|correct|best) (?:one|answer|option|choice)|answer|but)\s+(?:is\s+)?(?:option )?(?P<named>[A-D])$"
    r"|^(?:so )?(?:option )?(?P<right>[A-D]) is (?:right|correct|the (?:right|correct) (?:one|answer))$"
)
"""A clause that names the one option it is for."""
_INSTEAD: Final = re.compile(r"\bnot (?:option )?[A-D] but ")
_BUT: Final = re.compile(r"^但是?|\bbut\b")
_CONDITION: Final = re.compile(r"\b(?:if|unless|assuming)\b|如果|假如|除非")
_SET_ASIDE: Final = re.compile(
    r"\b(?:not|wrong|incorrect|false|neither|rule out|ruled out|seems?|looks?|tempting|at first)\b"
    r"|不|错|排除|缺乏|没有|无|看起来|似乎|吗|[?？]"
)
"""A clause that is against the options which it names, or in doubt of them."""
_BECAUSE: Final = r"(?:because|since|as|given that)\b"
_NAMED: Final = (
    re.compile(
        r"\b(?:answer|option|choice)(?:\s+(?:is|would be|should be))?\s*[:—–]?\s*(?:option |choice |letter )?"
        rf"(?P<letter>[A-D])(?={_STOP}|\s+{_BECAUSE})",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:choose|pick|select|go with|going with)\s+(?:option |choice )?"
        rf"(?P<letter>[A-D])(?={_STOP}|\s)",
        re.IGNORECASE,
    ),
    re.compile(r"(?<![A-Za-z])(?P<letter>[A-D])\s+is\s+(?:the\s+)?(?:correct|right|best)\b"),
    re.compile(
        r"(?:答案|选项|应选|应该选|选择|我选|选|正确的)(?:应该|应|是|为|选|选项|[:：\s])*"
        r"(?P<letter>[A-D])(?![A-Za-z])"
    ),
    re.compile(rf"^(?P<letter>[A-D])\s*[,，]?\s*(?:{_BECAUSE}|因为|由于)"),
)
_LETTER: Final = re.compile(
    r"(?<![A-Za-z])(?:[B-D](?![A-Za-z'])"
    r"|A(?![A-Za-z'])(?!\s+(?!because\b|since\b|as\b|is\b)[a-z]))"
)
"""A letter of an option, and no article."""
_DENIED_BEFORE: Final = re.compile(
    r"\b(?:not|never|neither|nor|except|wrong|incorrect|rather than|rule out)\b|n't|不|非|错|排除|除了|都",
    re.IGNORECASE,
)
_DENIED_AFTER: Final = re.compile(
    r"\b(?:wrong|incorrect|false|unsure|not (?:correct|right|true|sure|certain|the answer))\b"
    r"|n't (?:correct|right|true)|错|不对|不正确|不是|不确定",
    re.IGNORECASE,
)


def read_truth(reply: str) -> bool | None:
    """Return whether a reply calls the answer correct, or ``None``."""
    plain = _OFFER.sub("", _plain(reply).lower())
    if plain.rstrip(".") in _INITIALS:
        return _INITIALS[plain.rstrip(".")]
    for sign, word in _SIGNS.items():
        plain = sign.sub(word, plain)
    question, _, answer = plain.partition("?")
    # "Is it true? No."
    if answer.strip() and _SAYS_TRUE.search(question) and not _SAYS_FALSE.search(question):
        plain = answer.strip()
    texts = list(_whole_and_ends(plain))
    if not texts or texts[0].endswith("?") or _CORRECTION.search(texts[0]):
        return None
    verdicts_of_ends = {_truth_of(text) for text in texts[1:]}
    verdicts = verdicts_of_ends | {_truth_of(sentence) for sentence in _sentences(texts[0])}
    if verdicts_of_ends <= {None} or {True, False} <= verdicts:
        return None
    value = True in verdicts
    for sentence in _sentences(texts[0]):
        contrast = _CONTRAST.match(sentence)
        if contrast and _takes_back(value, sentence[contrast.end() :]):
            return None
    return value


def _truth_of(text: str) -> bool | None:
    """Return whether a sentence says true or false, alone or with its reason, or ``None``."""
    text = text.rstrip(" .!。！")
    if text.endswith("?"):
        return None
    for value, pattern in _WHOLE.items():
        if pattern.fullmatch(text):
            return value
    for value, pattern in _WITH_REASON.items():
        match = pattern.fullmatch(text)
        if match and not _takes_back(value, match["rest"]):
            return value
    return None


def _takes_back(value: bool, rest: str) -> bool:
    """Say whether what follows a verdict hedges it, or says the opposite."""
    if _HEDGE.search(rest):
        return True
    rest = _OTHER_SENSE.sub(" ", rest)
    if value:
        return _SAYS_FALSE.search(rest) is not None
    return _SAYS_TRUE.search(_SAYS_FALSE.sub(" ", rest)) is not None


def read_choice(reply: str, options: Sequence[str]) -> Letter | None:
    """Return the letter of the one option that a reply chooses, by its letter or by its words, or ``None``."""
    option_letters = list(map(letters, options))
    plain = _plain(reply)
    texts = list(_whole_and_ends(plain.lower()))
    if not texts or texts[0].endswith("?") or _CORRECTION.search(texts[0]):
        return None
    last_line = texts[-1]
    if len(set(_LISTED.findall(texts[0]))) > _MOST_LISTED:  # it repeats the options
        has_several_lines = "\n" in texts[0]
        texts = texts[:1]
        if has_several_lines:
            texts.append(last_line)
    choice = _CHOICE.fullmatch(texts[0])
    if choice and letters(choice[2]) in option_letters and not _letter_alone(choice[0], option_letters):
        return None  # the letter of one option stands before the words of another
    answers = [_letter_alone(text.rstrip(" .!。！"), option_letters) for text in texts]
    if answers[0] is not None:
        return answers[0]
    answers_of_ends = {answer for answer in answers[1:] if answer is not None}
    if len(answers_of_ends) == 1:
        return answers_of_ends.pop()
    if answers_of_ends:
        return None
    return _named_letter(plain) or _letter_left(plain)


def _letter_alone(text: str, option_letters: Sequence[str]) -> Letter | None:
    """Return the letter of the option that a text, as a whole, chooses, or ``None``; options have letters alone."""
    choice = _CHOICE.fullmatch(text)
    if choice:
        place = "abcd".index(choice[1])
        if letters(choice[2]) in ("", option_letters[place]):
            return LETTERS[place]
    chosen = []
    for letter, option in zip(LETTERS, option_letters, strict=True):
        if option == letters(text):
            chosen.append(letter)
    if len(chosen) == 1:
        return chosen[0]
    return None


def _named_letter(text: str) -> Letter | None:
    """Return the one letter that a reply names as its answer; ``None`` if it names another letter, or denies it."""
    if len({match[0] for match in _LETTER.finditer(text)}) != 1:
        return None
    for pattern in _NAMED:
        match = pattern.search(text)
        if match is None:
            continue
        clause_start = _ENDS_OF_CLAUSES.split(text[: match.end()])[-1]
        clause_end = _ENDS_OF_CLAUSES.split(text[match.end() :])[0]
        if (
            _DENIED_BEFORE.search(clause_start)
            or _HEDGE.search(clause_start.lower())
            or _DENIED_AFTER.search(clause_end)
        ):
            return None
        for letter in LETTERS:
            if letter == match["letter"].upper():
                return letter
    return None


def _letter_left(text: str) -> Letter | None:
    """Return the letter that the last clause with a letter is for, if others are set aside before it, or ``None``."""
    clauses: list[str] = []
    for clause in _CLAUSES.split(text):
        if clause and _LETTER.search(clause):
            clauses.append(clause.strip())
    if not clauses:
        return None
    *earlier, last = clauses
    if any(_CONDITION.search(clause.lower()) for clause in earlier):
        return None
    if not all(_SET_ASIDE.search(clause.lower()) for clause in earlier):
        return None
    last = _INSTEAD.sub("but ", last)
    affirmed = _AFFIRMED.search(last)
    without_contrast = _BUT.sub("", last.lower())
    if affirmed is None or _HEDGE.search(without_contrast) or _SET_ASIDE.search(without_contrast):
        return None
    letter = next(filter(None, affirmed.groups()))
    if any(match[0] != letter for match in _LETTER.finditer(last)):
        return None
    return LETTERS["ABCD".index(letter)]


def _plain(reply: str) -> str:
    """Return a reply in one form of each character, without emphasis, quotes, brackets and commands of LaTeX."""
    text = _COMMANDS.sub("", unicodedata.normalize("NFKC", reply))
    return _LINE_MARK.sub("", _MARKS.sub("", text)).strip()


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [sentence.strip() for sentence in _END.split(text) if sentence.strip()]


def _whole_and_ends(text: str) -> Iterator[str]:
    """Yield a text, its first sentence and its last line."""
    if text:
        yield text
        yield _END.split(text, maxsplit=1)[0].strip()
        yield text.splitlines()[-1].strip()
