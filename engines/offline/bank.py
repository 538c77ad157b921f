"""The criteria bank's data: cues, shifts and wordings; see ``criteria`` for how they are used.

A block per criterion. ``cue`` lines are alternatives of one pattern over a lower-case clause;
``shift`` entries are axis.feature and a delta; ``en`` and ``zh`` are the proposer's sentences.
``fixes`` says which error it answers: ``over`` (something unsupported was let pass) or ``under``;
``feature`` which mark of a claim calls for it. ``evergreen``: a negating word in front does not flip
it. ``instead_of``: a criterion in like words that the same clause then does not state. ``read``: it
is recognised, and never proposed.
"""

from __future__ import annotations

from typing import Final

__all__ = ["BANK_TEXT"]

BANK_TEXT: Final = r"""
[numbers] fixes=over feature=number_missing
cue: \b(?:numbers?|figures?|dates?|quantit\w+|amounts?|years?|numeric\w*)\b|数字|数值|日期|金额|数量
shift: support.number_missing-1 support.near_miss-0.25
en: Check every number, date and amount against the evidence; one that differs or is missing makes the
en: claim unsupported.
zh: 逐一核对数字、日期和金额，与证据不符或证据中没有的即为不支持。

[names] fixes=over feature=name_missing
cue: \b(?:names?|entit\w+|people|places?|organi[sz]ations?|proper nouns?)\b|人名|地名|名称|实体|机构
shift: support.name_missing-1
en: Check every name of a person, place or organisation; a name that the evidence does not contain
en: makes the claim unsupported.
zh: 逐一核对人名、地名和机构名称，证据中没有的即为不支持。

[paraphrase] fixes=under feature=cov_pairs
cue: paraphras|same meaning|reword|different words|synonym|wording may differ|exact wording|改写
cue: 换一种说法|同义|措辞不同
shift: support.cov_pairs-0.5 support.cov_best-0.25 support.bias+0.75
en: Accept a paraphrase: different words with the same meaning are supported.
zh: 接受改写：用词不同但意思相同即为支持。

[implicit] fixes=under
cue: implicit|implied|impl(?:y|ies)|can be inferred|reasonabl[ey] infer|read between|follows from
cue: 隐含|可以推断|合理推断
shift: support.bias+0.5 support.inference+0.25
en: Accept what the evidence implies, even if it does not say it in so many words.
zh: 证据隐含的内容即使没有明说也算支持。

[explicit] fixes=over
cue: explicit|direct(?:ly)? (?:stated|supported|support)|verbatim|word for word|literal(?:ly)?|明确
cue: 直接(?:支持|说明|陈述)|原文
shift: support.cov_best+0.5 support.cov_pairs+0.5 support.bias-0.75
en: Count a claim as supported only if the evidence states it explicitly.
zh: 只有证据明确陈述的内容才算支持。

[strict] fixes=over
cue: \bstrict(?:ly)?\b|rigorous|\bif in doubt\b.{0,40}(?:un|not|reject|invent|false)|conservative
cue: be careful|严格|从严|谨慎|保守
shift: support.bias-0.75
en: Be strict: if in doubt, decide that the claim is not supported.
zh: 从严判断：有疑问时判为不支持。

[lenient] fixes=under
cue: lenient|generous|benefit of the doubt|charitab|tolerant|minor (?:differences|omissions|details)
cue: 宽松|宽容|从宽|细微差别
shift: support.bias+0.75
en: Be lenient: ignore minor differences and give the benefit of the doubt.
zh: 从宽判断：忽略细微差别，存疑时判为支持。

[every-part] fixes=over feature=cov_low
cue: every (?:part|detail|element|word|aspect|unit)|all (?:parts|details|elements|aspects)
cue: each (?:part|detail)|any part|everything it says|all of it\b|entire (?:claim|sentence|statement)
cue: whole (?:claim|sentence|statement)|partly|partial|每个部分|所有细节|全部内容|每一处|整句
shift: support.cov_all+1 support.cov_worst+0.5 support.bias-1.25
en: Every part of the claim must be supported; one unsupported part decides.
zh: 声明的每个部分都必须有依据，有一处无依据即为不支持。

[main-point] fixes=under
cue: main (?:point|idea|claim|statement)|gist|overall meaning|in essence|core (?:claim|statement)
cue: 主要内容|大意|主旨|核心
shift: support.cov_worst-0.5 support.cov_best+0.5 support.bias+0.5
en: Judge the main point of the claim, not its side remarks.
zh: 判断声明的主要内容，而不是次要细节。

[additions] fixes=over feature=cov_low evergreen
cue: plausible|outside knowledge|world knowledge|general knowledge|external knowledge
cue: common knowledge|prior knowledge|own knowledge|not in the (?:text|reference|evidence|document)
cue: beyond the (?:text|reference|evidence)|added? (?:details?|information)|常识|外部知识|自身知识
cue: 看似合理|超出(?:原文|证据|参考)
shift: support.cov_all+0.5 support.cov_low-0.5 support.bias-0.5
en: A plausible addition that the evidence does not contain is not supported, even if it is true in
en: the world.
zh: 证据中没有的补充即使看似合理或符合常识，也不算支持。

[subjective] fixes=over feature=evaluative
cue: subjectiv|evaluative|opinion|judg(?:e)?ment words|praise|adjective|exaggerat|superlative|主观
cue: 评价性|观点|夸张|赞美|形容词
shift: support.evaluative-0.5 support.subjective-0.5 support.new_evaluative-0.5 support.absolute-0.25
shift: cognitive.evaluative+0.25
en: Evaluative or subjective wording that the evidence does not share counts as unsupported.
zh: 证据中没有的主观或评价性措辞算不支持。

[praise-ok] fixes=under feature=evaluative evergreen instead_of=subjective
cue: (?:style|tone|stylistic|filler words?).{0,40}(?:ignore|acceptable|fine|do(?:es)? not matter)
cue: ignore.{0,30}(?:style|tone|wording)|忽略.{0,8}(?:语气|措辞|修辞)
shift: support.evaluative+0.5 support.subjective+0.25 support.new_evaluative+0.5
en: Ignore style and tone: mild praise around a supported fact is acceptable.
zh: 忽略语气和修辞：围绕有依据事实的轻微赞美可以接受。

[hedging] fixes=over feature=hedge
cue: hedg|\bmay\b.{0,20}\bmight\b|uncertain(?:ty)? word|speculative wording|possibilit|模糊
cue: 不确定的措辞|可能性|“可能”
shift: support.hedge-0.5 cognitive.hedge+0.5 strength.hedge-0.5
en: Hedged wording (may, might, likely) marks a speculation.
zh: 带有“可能”“也许”等措辞的是推测。

[cause] fixes=over feature=causal
cue: \bcaus(?:e|es|al|ality)\b|\breasons?\b(?! given)|\bmotiv|because|why the|原因|因果|动机|理由
shift: support.cause_missing-1 support.causal-0.5
en: A cause or reason must be stated in the evidence; two facts that merely occur together do not
en: support it.
zh: 原因必须在证据中明确说明，仅仅同时出现不构成因果。

[feelings] fixes=over feature=emotion evergreen
cue: emotion|feeling|sentiment|mood|attitude|satisf|frustrat|情绪|感受|情感|态度|满意
shift: support.mood_missing-1 support.emotion-0.25
en: A feeling or attitude must be expressed by the person it is ascribed to; do not infer it from a
en: problem.
zh: 情绪或态度必须由当事人表达出来，不能由问题推断。

[speaker] fixes=over feature=other_side
cue: speaker|who (?:said|did|asked|mentioned)|attribut|right (?:person|party)|which party|说话人|谁说
cue: 归属|说话者|主体
shift: support.other_side-1.5 support.any_cov-0.5
en: Attribute every statement and action to the right speaker; what only the other party said does not
en: count.
zh: 每句话和每个行为都要归于正确的说话人，只有对方说过的不算。

[negation] fixes=over feature=negation_gap
cue: negat|opposite|contradict|conflict|revers|相反|矛盾|否定|冲突
shift: support.negation_gap-0.5 support.antonym-0.5 clash.negation_gap+0.5 clash.antonym+0.5
en: Look for negation and opposites: a claim that reverses the evidence contradicts it.
zh: 注意否定和反义：与证据相反的声明即为矛盾。

[absence] fixes=under feature=negated evergreen
cue: did not|does not mention|absence|never (?:said|mentioned)|没有提到|没有发生|未曾|不存在
shift: support.negated+0.5
en: A claim that something did not happen is supported if the evidence nowhere shows it.
zh: 声明某事没有发生，若证据中确实没有，即为支持。

[greetings] feature=filler
cue: greeting|pleasantr|small talk|polite|filler|closing remark|transition|问候|客套|寒暄|过渡
shift: offtopic.filler+1.5 offtopic.bias+0.25
en: Greetings, polite phrases and transitions are irrelevant.
zh: 问候、客套和过渡语属于无关内容。

[advice] feature=advice
cue: \badvice\b|recommendation|suggestions?\b|call to action|建议|推荐语|提议
shift: offtopic.advice+1 cognitive.advice+0.5
en: Advice and suggestions to the reader are not statements about the evidence.
zh: 给读者的建议不是关于证据的陈述。

[questions] feature=question evergreen
cue: \bquestions?\b.{0,40}(?:irrelevant|not (?:a )?(?:claim|statement))|rhetorical|疑问句|反问
shift: offtopic.question+1.5
en: A question is not a statement and is irrelevant.
zh: 疑问句不是陈述，属于无关内容。

[summary] fixes=over feature=summary
cue: conclusion|summar(?:y|ies|ising|izing)|generali[sz]ation|overgeneral|总结|概括|结论|泛化
shift: support.summary-0.5 support.impact-0.25 cognitive.summary+0.5
en: A concluding generalisation goes beyond the evidence unless the evidence draws the same
en: conclusion.
zh: 总结性的概括超出证据，除非证据得出同样的结论。

[impact] fixes=over feature=impact
cue: \bimpact|influence|significance|importance|legacy|contribution|影响|意义|重要性|贡献
shift: support.impact-0.5 cognitive.impact+0.5
en: A statement about impact, importance or legacy is an inference and needs its own evidence.
zh: 关于影响、意义或贡献的说法是推断，需要单独的依据。

[common-sense] fixes=under feature=inference
cue: common sense|logical(?:ly)?|rational|reasonable (?:conclusion|inference)|well.?founded|常理|逻辑
cue: 合理的(?:结论|推论)
shift: support.impact+0.25 support.inference+0.25 support.bias+0.25
en: A logical conclusion from stated facts is reliable.
zh: 由已陈述的事实合乎逻辑得出的结论是可靠的。

[one-sentence] fixes=over feature=cov_best
cue: (?:single|one|specific|exact) (?:sentence|line|passage|quote|span|turn)|point to|cite|quote
cue: 某一句|引用|指出原句|出处|那一处
shift: support.cov_best+1 support.cov_all-0.25 support.bias-0.5
en: Find the one passage that supports the claim; support scattered over the text is weaker.
zh: 找出支持声明的那一处原文，分散的支持较弱。

[whole-text] fixes=under feature=cov_two
cue: (?:whole|entire|full|complete) (?:text|document|reference|evidence|conversation|dialogue|transcript)
cue: combin(?:e|ing)|several (?:sentences|passages)|全文|整个(?:对话|文档|文本)|综合|多处
shift: support.cov_all+0.5 support.cov_best-0.5 support.bias+0.25
en: Read the whole evidence and combine its passages before deciding.
zh: 通读全部证据并综合各处后再判断。

[concrete-words] fixes=over instead_of=explicit read
cue: concrete (?:word|noun|term|thing|meaning)|具体(?:词|名词|事物|内容)
shift: support.cov_all+0.5 support.cov_low-0.5 support.bias-0.25
en: Concrete words need an explicit mention.
zh: 具体词需要明确提及。

[either-evidence] fixes=under instead_of=explicit read
cue: explicit(?:ly)?(?: mention| evidence)? or (?:clearly )?impli|明确或隐含|明示或暗示
shift: support.cov_pairs-0.25
en: Evidence may be explicit or implicit.
zh: 证据可以是明确或隐含的。

[interpretive-words] fixes=under instead_of=subjective read
cue: (?:subjectiv|interpret)[^.;]{0,160}impli|(?:主观|解读)[^。；]{0,60}(?:隐含|暗示)
shift: support.subjective+0.25
en: Words of subjective interpretation need implicit evidence at least.
zh: 主观解读的词至少需要隐含的证据。

[relation] fixes=over feature=causal read
cue: \brelations?\b|who did what|(?<!人际)关系|谁对谁
shift: support.cause_missing-0.5 support.cov_best+0.25 support.bias-0.25
en: Verify the relation on its own: who did what to whom, why and how.
zh: 单独核实关系：谁对谁做了什么，为什么，怎样做。
"""
