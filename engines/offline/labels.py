"""What a label's name says: a position on a few axes, from which its prior weights follow.

``support``   +1 the evidence supports it, -1 it does not;
``cognitive`` +1 an inference, opinion or suggestion, -1 a plain statement of fact;
``offtopic``  +1 not a statement to judge at all (greeting, filler, question);
``clash``     +1 the evidence says the opposite;
``bar``       +1 less support is enough;
``loose``     +1 evaluative, hedged or sweeping wording leaves other readings open.
An unknown name lies at the origin unless the instruction defines it; only demonstrations can
teach such a label.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["AXES", "Meaning", "field_truth", "meaning_of", "meanings"]

AXES: Final = ("support", "cognitive", "offtopic", "clash", "strength", "bar", "loose")


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """A label's place on the axes, each in [-2, 2]; ``known`` is false when nothing said so."""

    support: float = 0.0
    cognitive: float = 0.0
    offtopic: float = 0.0
    clash: float = 0.0
    strength: float = 0.0
    bar: float = 0.0
    loose: float = 0.0
    known: bool = True

    @property
    def group(self) -> str:
        """The verdict this label amounts to: labels of one group pool their probability."""
        if not self.known:
            return "unknown"
        if self.offtopic > 0:
            return "offtopic"
        return "supported" if self.support > 0 else "unsupported" if self.support < 0 else "other"


_UNKNOWN: Final = Meaning(known=False)
# Cues are tried in order; the first that matches the (lower-case) name decides.
_TABLE: Final[tuple[tuple[str, Meaning], ...]] = (
    (
        r"irrelevan|off.?topic|not.?applicable|^n/?a$|filler|greeting|chit|无关|不相关|闲聊|不适用",
        Meaning(offtopic=1.0),
    ),
    (r"misleading|误导|irrational|非理性", Meaning(support=-1.0, cognitive=1.0, clash=1.0, strength=-1.0)),
    (r"speculat|推测|臆测|overgeneral", Meaning(support=-1.0, cognitive=1.0)),
    (r"irrefutabl|unequivocal|conclusive|无可辩驳|确凿", Meaning(support=1.0, cognitive=1.0, strength=1.0)),
    (r"contradict|conflict|refut|inconsistent|矛盾|冲突|不一致|相反", Meaning(support=-1.0, clash=1.0)),
    (
        r"invent|fabricat|made.?up|hallucin|unsupported|not.?(support|enough|true|factual|faithful|ground|verif|entail)|"
        r"un(faithful|grounded|verif|true|factual|reliable|founded)|non.?factual|baseless|false|incorrect|wrong|"
        r"no.?evidence|neutral|invalid|(^|_)no$|error|fail|violat|unsatisf|not.?satisf|reject|unsafe|"
        r"^(?:bad|block|deny|denied|refuse)$|"
        r"编造|虚构|捏造|幻觉|不支持|不符|错误|不正确|不真实|不忠实|无法验证|无依据|未提及|假|^否$|不满足|^错$",
        Meaning(support=-1.0),
    ),
    (r"reliab|plausib|reasonab|grounded|可靠|合理|有依据", Meaning(support=1.0, cognitive=0.5)),
    (r"rational|理性", Meaning(support=1.0, cognitive=0.5, strength=-1.0)),
    (r"partial|partly|mixed|部分", Meaning(support=0.0, clash=0.0, strength=0.0)),
    (
        r"faithful|support|factual|true|correct|entail|consistent|verif|accurate|truthful|valid|(^|_)yes$|^pass|"
        r"^(?:ok|good|approved?|allow)$|satisf|accept|match|忠实|支持|事实|属实|真实|正确|一致|准确|^是$|满足|^对$|^真$",
        Meaning(support=1.0),
    ),
    (
        r"cognitive|inferen|opinion|subjective|evaluat|suggest|认知|推理|观点|主观|建议",
        Meaning(cognitive=1.0),
    ),
    (r"fact|objective|descript|客观|陈述", Meaning(cognitive=-1.0)),
)
_NEGATED_DEF: Final = re.compile(
    r"\bnot (?:\w+ ){0,2}(?:support|stat|in the|found|present|mention|back|ground|true|correct|borne)|"
    r"unsupported|contradict|made up|invent|no (?:evidence|ground|basis)|without (?:support|basis|evidence)|"
    r"false|incorrect|wrong|"
    r"cannot be|goes beyond|missing from|不支持|未提及|没有依据|编造|矛盾|错误|无法|不符"
)
_POSITIVE_DEF: Final = re.compile(
    r"support|stated|backed|ground|consistent with|confirm|entail|follows from|true|correct|borne out|"
    r"支持|有依据|一致|属实|正确|符合"
)
_OFFTOPIC_DEF: Final = re.compile(
    r"greeting|filler|irrelevant|not a (?:claim|statement)|chit-?chat|问候|客套|无关"
)


_GOES_BEYOND: Final = Meaning(support=-0.25, cognitive=1.0)
_STATES_FACTS: Final = Meaning(support=0.25, cognitive=-1.0)
# Beside labels of facts, what goes beyond the evidence shares its words least of all.
_BESIDE_FACTS: Final = Meaning(support=-1.0, cognitive=1.0)
# The tests of a cognitive statement: whether it is so, and whether it is not.
_TESTS: Final[tuple[tuple[str, str, Meaning, Meaning], ...]] = (
    (
        r"^(?:is_)?rational$|^合理$|^理性$",
        "",
        Meaning(support=0.25, bar=0.5),
        Meaning(support=-0.25, clash=1.0),
    ),
    (
        r"^(?:is_)?grounded$|^有依据$",
        r"follows|infer|推",  # "grounded" alone is asked of plain facts, too
        Meaning(support=0.5, bar=1.0),
        Meaning(support=-0.5),
    ),
    (
        r"^(?:is_)?irrefutable$|^无可辩驳$",
        "",
        Meaning(support=0.125),
        Meaning(support=-0.125, loose=1.0),
    ),
)


def meaning_of(name: str) -> Meaning:
    """Return the meaning of a label name (or of a boolean field's name being true)."""
    lowered = name.strip().lower()
    for cue, meaning in _TABLE:
        if re.search(cue, lowered):
            return meaning
    return _UNKNOWN


def _by_definition(label: str, labels: tuple[str, ...], instruction: str) -> Meaning:
    """Read ``label: definition`` (or =, means, if, when) up to the next label or the sentence's end."""
    where = re.search(
        rf"(?<!\w){re.escape(label)}(?!\w)[`'\"*]*\s*(?:[:：=(]|means|if|when|where|表示|指)\s*([^.;。；\n]*)",
        instruction,
        re.I,
    )
    text = where.group(1).lower() if where else ""
    for other in labels:
        if other != label:
            text = re.split(rf"(?<!\w){re.escape(other.lower())}(?!\w)", text)[0]
    if _OFFTOPIC_DEF.search(text):
        return Meaning(offtopic=1.0)
    if _NEGATED_DEF.search(text):
        return Meaning(support=-1.0)
    return Meaning(support=1.0) if _POSITIVE_DEF.search(text) else _UNKNOWN


def field_truth(field_name: str) -> Meaning:
    """Return what ``True`` (or ``yes``) means for a field; an unknown name means supported."""
    meaning = meaning_of(field_name)
    return meaning if meaning.known and meaning.group != "other" else Meaning(support=1.0)


def _truths(name: str, description: str) -> tuple[Meaning, Meaning]:
    """Return what a boolean field's being true means, and its being false."""
    lowered = name.strip().lower()
    for cue, about, yes, no in _TESTS:
        if re.search(cue, lowered) and re.search(about, description.lower()):
            return yes, no
    truth = field_truth(name)
    return truth, _opposite(truth)


def _tier(meaning: Meaning) -> Meaning:
    """Return the meaning of a tier among nothing but tiers: what goes beyond the evidence is measured by less of it."""
    holds = meaning.support > 0
    return Meaning(
        support=meaning.support / 2,
        clash=meaning.clash,
        bar=float(holds),
        loose=float(holds and meaning.strength <= 0),
    )


def _opposite(meaning: Meaning) -> Meaning:
    if meaning.offtopic > 0:
        return Meaning(support=0.5)
    return Meaning(support=-meaning.support or -1.0, cognitive=meaning.cognitive, strength=meaning.strength)


def meanings(
    labels: tuple[str, ...], field_name: str, instruction: str, description: str = ""
) -> tuple[Meaning, ...]:
    """Return the meaning of each label of a field, in order."""
    lowered = tuple(label.lower() for label in labels)
    if set(lowered) <= {"true", "false"} or set(lowered) <= {"yes", "no"} or set(lowered) <= {"是", "否"}:
        yes, no = _truths(field_name, description)
        return tuple(yes if label in ("true", "yes", "是") else no for label in lowered)
    named = tuple(meaning_of(label) for label in labels)
    if len(labels) > 2 and all(one.cognitive > 0 and one.support for one in named):
        return tuple(_tier(one) for one in named)
    found = []
    typing = any(meaning_of(label) == Meaning(cognitive=1.0) for label in labels)
    seven = any(meaning_of(label).cognitive > 0 for label in labels)
    beside = {meaning_of(label).group for label in labels} >= {"supported", "unsupported"}
    for label in labels:
        meaning = meaning_of(label)
        if typing and re.search("fact|事实|客观", label.lower()):
            meaning = _STATES_FACTS
        elif typing and meaning == Meaning(cognitive=1.0):
            meaning = _BESIDE_FACTS if beside else _GOES_BEYOND
        elif typing and beside and meaning.known and abs(meaning.support) == 1.0:
            meaning = Meaning(support=meaning.support / 2, cognitive=-1.0)
        elif seven and meaning.known and meaning.support and not meaning.cognitive and not meaning.clash:
            meaning = Meaning(support=meaning.support, cognitive=-1.0)
        found.append(meaning if meaning.known else _by_definition(label, labels, instruction))
    return tuple(found)
