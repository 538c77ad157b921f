"""Small hand-written word lists, English and Chinese: what kind of wording a sentence uses.

English entries are whole words or phrases in lower case; a word that ends in ``*`` also matches
longer words. Chinese entries match anywhere. The lists are
written from general knowledge of the wording in question and are short on purpose: they are a
prior, and demonstrations correct it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from .memory import by_length, characters

__all__ = [
    "AGENT_WORDS",
    "ANTONYMS",
    "CUSTOMER_WORDS",
    "LEXICONS",
    "NUMBER_WORDS",
    "REPORTING",
    "STOP_WORDS",
    "hits",
    "lexicons_of",
    "profile",
]

_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP_WORDS: Final = _words("""
    a about above after again all also am an and any are as at be because been before being below
    between both but by can could did do does doing down during each either etc even ever few for from
    further had has have having he her here hers herself him himself his how i if in into is it its
    itself just let like may me might more most much must my myself nor not now of off on once one only
    or other our ours out over own per same shall she should since so some such than that the their
    theirs them themselves then there these they this those through to too under until up upon us very
    via was we were what when where which while who whom whose why will with within without would yet
    you your yours yourself don didn isn wasn weren aren doesn won couldn wouldn shouldn hasn haven ll
    ve re
""")

_ENGLISH_DIGITS: Final = "zero one two three four five six seven eight nine ten eleven twelve"
NUMBER_WORDS: Final = {
    **{word: str(i) for i, word in enumerate(_ENGLISH_DIGITS.split())},
    **{digit: str(i) for i, digit in enumerate("零一二三四五六七八九十")},
    "两": "2",
}

CUSTOMER_WORDS: Final = _words("""
    customer client user caller member patient guest buyer shopper passenger visitor human 客户 顾客
    用户 来电者 会员 患者 乘客 买家 消费者 客人
""")
AGENT_WORDS: Final = _words("""
    agent assistant representative rep bot advisor adviser operator support staff clerk seller system ai
    客服 坐席 助手 顾问 代表 机器人 专员 经理 卖家 商家
""")

LEXICONS: Final[dict[str, str]] = {
    "evaluative": """
        amazing|beautiful*|best|brilliant*|captivat*|celebrated|charming|compelling|crucial*|delightful*|
        essential*|exceptional*|exciting|extraordinar*|famous|fascinat*|great|groundbreaking|iconic|
        important*|impressive*|incredibl*|inspir*|interesting|invaluable|key|legendary|memorable|notable|
        outstanding|perfect*|powerful|prestigious|pivotal|profound*|remarkable|remarkably|rich|significan*|
        special|striking|stunning|successful*|talented|tremendous*|truly|unforgettable|unique*|valuable|
        versatil*|vibrant|vital|wonderful*|
        重要|精彩|优秀|出色|杰出|著名|独特|非凡|令人|美丽|伟大|宝贵|成功|深刻|迷人|关键|显著|卓越
    """,
    "subjective": """
        believe*|feel*|felt|feeling|opinion|seem*|appear|appears|appeared|think|thinks|view|views|enjoy*|
        love*|hate*|impress*|sense of|unfortunately|fortunately|hopefully|surprising*|
        认为|觉得|感到|似乎|看来|喜欢|热爱|享受|遗憾|希望
    """,
    "hedge": """
        about|almost|approximately|can be|could|generally|likely|may|maybe|might|often|perhaps|possibl*|
        potential*|presum*|probabl*|reportedly|seemingly|sometimes|suggest*|tend|tends|typically|usually|
        possibility|assum*|
        可能|也许|大概|或许|似乎|大约|往往|通常|一般|应该是|估计|据说
    """,
    "causal": """
        because|because of|due to|as a result|therefore|thus|hence|consequently|leading to|led to|lead to|
        leads to|caus*|resulted in|resulting in|results in|owing to|thanks to|so that|in order to|
        which allowed|stems from|stemming from|for its|for their|for the reason|
        因为|由于|因此|所以|导致|从而|使得|以便|为了|原因|出于
    """,
    "advice": """
        should|recommend*|advis*|consider|ensure|make sure|be sure|you can|you may|you could|you might|
        try to|feel free|it is important to|remember to|consult|contact|please|
        建议|应该|请|可以考虑|务必|需要注意|推荐|不妨|记得
    """,
    "absolute": """
        all|always|any|completely|definitely|entirely|every|everyone|everything|exactly|fully|guarantee*|
        highest|largest|never|none|nothing|only|first|totally|undoubtedly|unparalleled|most|
        总是|所有|全部|一定|绝对|完全|从不|唯一|最|任何|永远|肯定
    """,
    "impact": """
        allow*|attest*|cement*|contribut*|demonstrat*|emphasi*|enabl*|enhanc*|enrich*|evolv*|exemplif*|
        foster*|help*|highlight*|illustrat*|impact*|influenc*|legacy|paved|promot*|play a|plays a|played a|
        recogni*|reflect*|reinforc*|role|shap*|showcas*|solidif*|symboli*|testament|transform*|underscor*|
        体现|影响|展示|彰显|促进|推动|贡献|反映|象征|意义|作用|奠定|丰富|表明|说明
    """,
    "summary": """
        overall|in conclusion|in summary|to summarize|to sum up|in short|all in all|ultimately|in essence|
        as such|clearly|evidently|it is clear|in other words|these examples|these are|
        总之|综上|总的来说|总体而言|可见|由此可见|显然|简而言之
    """,
    "emotion": """
        angry|anger|annoy*|anxious|appreciat*|concern*|confus*|disappoint*|dissatisf*|excited|frustrat*|
        grateful|happy|hesitant|overwhelm*|pleased|relieved|sad|satisf*|skeptical|surpris*|thankful|
        uncertain*|unclear|unhappy|upset|worried|worr*|urgent|urgency|cumbersome|convenien*|inconvenien*|
        difficult|complain*|object*|prefer*|interested|not interested|
        生气|愤怒|不满|担心|担忧|困惑|失望|沮丧|满意|感谢|高兴|着急|焦虑|犹豫|惊讶|疑惑|抱怨|麻烦|方便|
        感兴趣
    """,
    "stance": """
        choose*|chose|chosen|opt|opts|opted|decid*|decision|want*|wish*|intend*|intent*|plan to|plans to|
        agree*|disagree*|accept*|reject*|refus*|declin*|insist*|reluctan*|willing*|unwilling*|eager*|keen|
        trust*|doubt*|expect*|hope|hopes|hoped|curious|cautious|patient|impatient|polite*|rude*|
        选择|决定|想要|打算|愿意|不愿|同意|接受|拒绝|坚持|信任|怀疑|期望|倾向
    """,
    "filler": """
        of course|certainly|sure|sure thing|absolutely|great question|good question|hello|hi|hey|welcome|
        you're welcome|thank you|thanks|happy to help|glad to help|let me know|hope this helps|i hope|
        feel free to ask|here are some|here is|here's|let's|any other questions|i apologize|sorry|
        i'm sorry|my apologies|as an ai|good luck|have a great|
        你好|您好|当然|好的|谢谢|不客气|希望对|很高兴|如有|欢迎|抱歉|祝您|祝你|没问题|以下是|作为一个
    """,
    "negation": """
        not|no|never|none|cannot|can't|don't|doesn't|didn't|isn't|wasn't|aren't|weren't|won't|wouldn't|
        couldn't|shouldn't|hasn't|haven't|hadn't|without|neither|nor|unable|refus*|declin*|fail*|lack*|
        不|没|没有|无|未|非|否|别|拒绝|无法
    """,
    "inference": """
        indicat*|impl*|suggest*|show*|prov*|mean*|mark*|inspired|making|made it|ensuring|creating|allowing|
        reflecting|highlighting|adding|bringing|giving|attract*|popular*|appeal*|unique*|known for|
        意味着|暗示|说明|表明|证明|使其|吸引
    """,
    "quantity": """
        one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|hundred*|
        thousand*|million*|half|third|quarter|double*|twice|percent*|day|days|hour|hours|week|weeks|month|
        months|year|years|minute|minutes|dollars|euros|pounds|first|second|%|
        一|两|二|三|四|五|六|七|八|九|十|百|千|万|半|元|天|周|月|年|小时|分钟|折|倍
    """,
    "elaboration": """
        such as|including|for example|for instance|as well as|like|among others|various|several|numerous|
        many|range of|variety|diverse|different|other|others|
        例如|比如|包括|等等|各种|多种|许多|诸如|不同
    """,
}

REPORTING: Final = """
    said says say asked ask asks mentioned mention inquired inquire called call calls stated state told
    tell reported report expressed express explained explain indicated indicate requested request
    requests sought contacted contact claimed claim noted note 表示 询问 提到 说明 要求 请求 来电 咨询
    称 告知
"""

_OPPOSITES: Final = """
    accept/reject approve/deny approve/decline increase/decrease increase/reduce rise/fall before/after
    first/last open/close start/end begin/end win/lose buy/sell allow/forbid allow/prohibit higher/lower
    high/low more/less best/worst happy/unhappy satisfied/dissatisfied agree/disagree success/failure
    succeed/fail male/female north/south east/west early/late cheap/expensive include/exclude
    major/minor permit/prohibit alive/dead able/unable possible/impossible necessary/unnecessary
    public/private old/new max/min maximum/minimum upgrade/downgrade enable/disable connect/disconnect
    同意/拒绝 增加/减少 上升/下降 之前/之后 开始/结束 买/卖 允许/禁止 成功/失败 提高/降低 满意/不满
    最高/最低 早/晚 南/北 东/西 男/女 支持/反对 有效/无效 必须/无需 可以/不可
"""
ANTONYMS: Final = tuple((pair.split("/")[0], pair.split("/")[1]) for pair in _OPPOSITES.split())


@dataclass(frozen=True, kw_only=True)
class _Table:
    exact: dict[str, frozenset[str]]
    prefixes: dict[str, frozenset[str]]
    phrases: tuple[tuple[str, str], ...]
    wide: tuple[tuple[str, str], ...]


@lru_cache(maxsize=1)
def _table() -> _Table:
    exact: dict[str, set[str]] = defaultdict(set)
    prefixes: dict[str, set[str]] = defaultdict(set)
    phrases, wide = [], []
    for name, entries in LEXICONS.items():
        for entry in (" ".join(raw.split()) for raw in entries.split("|")):
            if not entry:
                continue
            if not entry.isascii() or not entry[0].isalpha():
                wide.append((entry, name))
            elif " " in entry:
                phrases.append((f" {entry} ", name))
            elif entry.endswith("*"):
                prefixes[entry[:-1]].add(name)
            else:
                exact[entry].add(name)
    return _Table(
        exact={word: frozenset(names) for word, names in exact.items()},
        prefixes={word: frozenset(names) for word, names in prefixes.items()},
        phrases=tuple(phrases),
        wide=tuple(wide),
    )


@lru_cache(maxsize=65536)
def lexicons_of(word: str) -> frozenset[str]:
    """Return the names of the lexicons that hold one Latin word (lower case)."""
    table = _table()
    found = set(table.exact.get(word, ()))
    for end in range(2, len(word) + 1):
        found |= table.prefixes.get(word[:end], frozenset())
    return frozenset(found)


@by_length(characters, limit=4000, keep=8192)
def profile(lowered: str) -> Mapping[str, int]:
    """Count the matches of every lexicon in a text already in lower case (cached)."""
    table = _table()
    counts: Counter[str] = Counter()
    words = _WORD.findall(lowered.replace("’", "'"))
    for word in words:
        counts.update(lexicons_of(word))
    line = f" {' '.join(words)} "
    counts.update(name for phrase, name in table.phrases if phrase in line)
    if not lowered.isascii() or "%" in lowered:
        for entry, name in table.wide:
            if entry in lowered:
                counts[name] += lowered.count(entry)
    return counts


def hits(name: str, lowered: str) -> int:
    """Count the matches of one lexicon in a text already in lower case."""
    return profile(lowered).get(name, 0)
