"""What Punkt is told about English: our own lists of abbreviations, titles and words that start sentences.

Punkt (Kiss and Strunk 2006) learns these from a corpus; here they are written down, so that no model has to be
downloaded. All words are in lower case and without their last full stop. The lists are of our own writing.
"""

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TITLES: Final = _words(
    """
    adm amb brig capt cdr cmdr col cpl dr esq fr gen gov hon lt maj messrs mlle mme mmes mr mrs ms mx
    pfc pres prof pvt rep rev sen sgt supt
    """
)
"""Abbreviations that never end a sentence: a name follows."""

ABBREVIATIONS: Final = TITLES | _words(
    """
    abbr acad anon approx apr assn assoc asst attn aug ave bldg blvd bros ca cf cc cie co corp cps
    dec dept det div ed eds e.g e.g. esp est etc feb ft ga govt hwy hrs i.e ib ibid illus inc
    incl inst intl introd jan jr jul jun lb lbs ltd mfg mgr mi misc mph mt mts natl nov obs oct orig
    oz pl plc pp pkg ph.d pharm pseud pt pts publ qt rd recd resp rpm sep sept sq sr ss st ste
    supp syn tel tr treas univ viz vs wt yd yds yrs al
    ariz calif colo conn fla kan ky md mich minn mont neb nev okla tenn tex vt wis wyo
    """
)
"""Abbreviations after which a sentence may go on; one of :data:`STARTERS` after them begins a new one."""

BEFORE_NUMBERS: Final = _words(
    """
    app art arts bd bk ch chap chs cl eq eqs ex exp fig figs item no nos nr op para pg p sec sect tab thm v ver
    vol vols
    """
)
"""Abbreviations before a number only; elsewhere they are words, or may end a sentence as they do in "She said no."."""

STARTERS: Final = _words(
    """
    about above according additionally after afterwards again albeit all along also although altogether among an and
    another any anyone as aside at based because before being besides beyond both but by can consequently could
    currently despite did do does due during each earlier either even eventually every everyone everything
    finally first firstly for from furthermore generally given had has have he hence her here his how however
    if in indeed initially instead into is it its itself just last lastly later let like likewise many
    maybe meanwhile moreover most much my namely nearly neither never nevertheless next nobody none nonetheless nor not
    nothing notably now of often on once one only or originally other others otherwise our over overall
    people perhaps please previously rather recently regarding second secondly several she should similarly
    since so some someone something sometimes soon still subsequently such than that the their them then there
    therefore these they third this those though through throughout thus to today together too two under
    unfortunately unless unlike until upon using was we were what when where whereas whether which while who
    whose why with within without would yes yet you your
    """
)
"""Words that, with a capital letter, start a sentence even after an abbreviation, an initial or an ellipsis.

"A" and "I" are not among them: they are initials as well ("A. A. Milne").
"""
