"""What is asked about the intent of a query (FAITHQA: sections 3 to 5, appendices A.4 to A.6).

Mapping a query to its constraints, judging which of them a response satisfies, the baseline that gives one number,
checking facts, and writing and verifying benchmark queries. The wording is ours.
"""

from typing import Annotated, Literal

import dspy
import pydantic

from .faithqa_labels import Category, FactVerdict, Mark


class Constraint(pydantic.BaseModel):
    """One condition that a query sets."""

    # The line above stands in the prompt: pydantic puts it into the schema.

    model_config = pydantic.ConfigDict(frozen=True, extra="ignore")

    category: Category
    anchor: str
    text: str


class Judgement(pydantic.BaseModel):
    """The judgement of a response on one numbered constraint."""

    n: int
    evidence: str
    label: Mark


_MISSING = (
    "the names of the material that the query speaks of and that is absent or empty, such as query, response, article "
    "or article 2; [] if nothing is missing"
)
_CONSTRAINTS = (
    "all conditions in the order of the query. Of each: its category, one of: location (where something happens or "
    "comes from); time (when); subject (whom or what it is about); action (what the response, or somebody it speaks "
    "of, does; each command is one); qualifier (of what kind or in what manner, formats and words that must occur "
    "among them); quantity (how many or how long); other (what must not occur, and rules of a special field).\n"
    "Its anchor is the shortest run of words that sets the condition, copied from the query letter by letter; its "
    "text says in one short sentence what the response must do"
)


_QUERY = "Name two rivers of Italy in at most ten words and say which is longer."
_MAPPED = f""""{_QUERY}" sets six constraints: action [Name] the response
names things; quantity [two] exactly two are named; subject [rivers] they are rivers; location [of Italy] they are in
Italy; quantity [at most ten words] the response has ten words or fewer; action [say which is longer] it says which of
them is longer."""
_LACKING = """"Does the response answer the question from the article? Question: Who built it? Article: The bridge was
built by Ines Roth. Response:" lacks the response, which is announced and empty; question and article are there."""


class OfQuery(dspy.Signature):
    """Look at a query."""

    query: str = dspy.InputField(desc="the query with all that was sent with it")


class MissingInputs(OfQuery):  # noqa: D101 - its docstring ends with an example
    __doc__ = f"""Find out whether a query brings everything that is needed to answer it.

Look at the query alone. It may speak of material that should stand beside it: an article or several, a response that
is to be evaluated, a query that the response answers. Name each of these that is absent or empty. What is there is not
missing, however short it is; what the query does not speak of is not needed.

Example: {_LACKING}"""

    missing: list[str] = dspy.OutputField(desc=_MISSING)


class CoreElements(OfQuery):  # noqa: D101 - its docstring ends with an example
    __doc__ = f"""Name the core elements of a query: whom or what it is about, what is to be done, in which context.

Take what the user wants to have in the end, not the mere act of answering. Keep elements apart that are different
things, and add none that the query does not name.

Example: "{_QUERY}" is about rivers of Italy (subject); two
of them are to be named, and it is to be said which is longer (action); at most ten words may be used (context)."""

    subject: list[str] = dspy.OutputField(desc="whom or what it is about, one thing each")
    action: list[str] = dspy.OutputField(desc="what is to be done, one act each")
    context: list[str] = dspy.OutputField(desc="conditions under which this holds, one each")


class ExtractConstraints(OfQuery):  # noqa: D101 - its docstring ends with an example
    __doc__ = f"""List every explicit condition that a query sets, one constraint each.

List only what the query says, and split conditions that can be met apart. That an answer be true, polite or well
written is no condition.

Example: {_MAPPED}"""

    subject: list[str] = dspy.InputField(desc="whom or what it is about")
    action: list[str] = dspy.InputField(desc="what is to be done")
    context: list[str] = dspy.InputField(desc="conditions under which this holds")
    constraints: list[Constraint] = dspy.OutputField(desc=_CONSTRAINTS)


class MapConstraints(OfQuery):  # noqa: D101 - its docstring ends with examples
    __doc__ = f"""Map a query to the conditions that a response has to meet.

1. Is everything there? The query may speak of material that should stand beside it: an article or several, a response
that is to be evaluated, a query that the response answers. If one of these is absent or empty, name it as missing and
list no constraints.
2. Find whom or what the query is about, what is to be done, and in which context.
3. List every explicit condition, one constraint each: only what the query says, split where conditions can be met
apart. Articles, responses and queries that were sent along set none. That an answer be true, polite or well written is
no condition.

Examples:
{_MAPPED}
{_LACKING}"""

    missing: list[str] = dspy.OutputField(desc=_MISSING)
    constraints: list[Constraint] = dspy.OutputField(
        desc=_CONSTRAINTS + ". The list is empty if something is missing"
    )


class SatisfiedConstraints(OfQuery):  # noqa: D101 - its docstring ends with an example
    __doc__ = f"""Judge which constraints of a query a response satisfies, each by itself.

satisfied: the response does what the constraint asks. Numbers, letters and forms are met exactly or not at all; where
the query leaves something open, what is implied is enough.
omitted: the response passes the constraint over, or does less than it asks.
misinterpreted: something else stands in its place: another thing, place, time or form, more than was allowed, or
material that nobody gave and the response made up.
A constraint about the world is judged by what is true in the world. How good the response is in other respects does
not count, and neither do the other constraints. A response that is empty, refuses or deals with something else
omits all of them, even a ban, unless a constraint asks for just that.

Example: to "{_QUERY}" a response says "The Po and the
Rhône." It satisfies "exactly two are named" and "ten words or fewer"; it misinterprets "they are in Italy", as the
Rhône flows through Switzerland and France; it omits "it says which of them is longer"."""

    constraints: str = dspy.InputField(desc="what a response has to do, one condition to a line, numbered")
    response: str = dspy.InputField(desc="the response that is judged")
    marks: list[Judgement] = dspy.OutputField(
        desc="one for each constraint: its number n; as evidence the words of the response that show it, or what is "
        "absent; its label, one of: satisfied; omitted; misinterpreted"
    )


class ScoreResponse(OfQuery):
    """Score how far a response does what its query asks, from 0 to 10."""

    response: str = dspy.InputField(desc="the response that is scored")
    score: float = dspy.OutputField(desc="a number from 0 to 10")


class IntentRating(OfQuery):  # noqa: D101 - its docstring ends with an example
    # The order is that of the paper (appendix A.4, table 5): constraints, fulfilment, summary, then the number.
    __doc__ = f"""Rate how far a response does what its query asks, from 1 to 10.

A query sets conditions. A mandatory one says what is to be done, whom or what it is about, where or when. An important
one says how many or of what kind. An optional one is nice to have. A response fails a query by omission, where it
passes a condition over, or by misinterpretation, where it distorts what a condition means or does something that the
query does not ask.
List the conditions, look at each of them, sum up what was omitted and what was misinterpreted, and only then rate: 10
if every condition is met, 1 if none is, and between them the lower, the more conditions fail and the more they matter.

Example: to "{_QUERY}" a response says "The Po and the
Rhône." Six conditions; four are met. Omitted: which of them is longer. Misinterpreted: the Rhône is not in Italy. Two
mandatory conditions fail: 6."""

    response: str = dspy.InputField(desc="the response that is rated")
    constraints: list[str] = dspy.OutputField(
        desc="the conditions that the query sets, each with its priority: mandatory, important or optional"
    )
    fulfilment: list[str] = dspy.OutputField(
        desc="for each of these conditions, in the same order: whether the response addresses it, and where"
    )
    omission: str = dspy.OutputField(
        desc="which conditions the response passes over; none if it omits nothing"
    )
    misinterpretation: str = dspy.OutputField(
        desc="what the response distorts, or does without being asked; none if it misinterprets nothing"
    )
    score: Annotated[int, pydantic.Field(ge=1, le=10)] = dspy.OutputField(desc="a whole number from 1 to 10")


class CheckFacts(dspy.Signature):
    """Check the facts of a response to a query.

    Conditions that concern no facts (form, number of words, style) do not count.

    Examples, for the query "Name two rivers of Italy and the sea in which each of them ends.":
    accurate: "The Po ends in the Adriatic Sea, the Arno in the Ligurian Sea."
    incomplete: "The Po, which ends in the Adriatic Sea, and the Arno." It does not say where the Arno ends.
    inaccurate: "The Po ends in the Black Sea, the Arno in the Ligurian Sea." The Po ends in the Adriatic Sea.
    """

    query: str = dspy.InputField(desc="the query that was answered")
    response: str = dspy.InputField(desc="the response whose facts are checked")
    verdict: FactVerdict = dspy.OutputField(
        desc="inaccurate: it states something about the world that is false; incomplete: all it states is true, but "
        "it leaves out a fact that the query asks for; accurate: neither"
    )


class CheckByEvidence(CheckFacts):
    """Check a report about the facts of a response against passages of a reference work.

    The report may be wrong, so decide anew. Keep to the passages where they speak of the matter, and to what is
    generally known where they do not. Conditions that concern no facts (form, number of words, style) do not count.
    """

    report: str = dspy.InputField(desc="what an earlier check found: inaccurate or incomplete")
    passages: list[str] = dspy.InputField(desc="passages that may bear on it, the nearest first")


class AnswerQuery(OfQuery):
    """Answer the query."""

    response: str = dspy.OutputField(desc="the response, nothing else")


class BenchmarkQuery(dspy.Signature):
    """Write one query of a benchmark of intent hallucination."""

    texts: list[str] = dspy.InputField(
        desc="what it is written from: a passage, an article, three articles, or none"
    )
    task: str = dspy.InputField(desc="fact, story, poem, evaluation, relationship or summary")
    title: str = dspy.InputField(desc="what the first text is about")
    topic: str = dspy.InputField(desc="the field it belongs to")
    language: str = dspy.InputField(desc="en or zh")
    difficulty: str = dspy.InputField(desc="easy or hard; empty where there is none")
    conditions: int = dspy.InputField(desc="how many conditions it sets")
    requirements: list[str] = dspy.InputField(desc="what a creative query demands")
    removed: str = dspy.InputField(desc="the part of its material that is left out; empty if none")
    written: list[dict[str, object]] = dspy.OutputField(desc="the query")


class WriteFactQuery(dspy.Signature):
    """Write a query about facts that asks for things of one kind which meet several conditions at once.

    The conditions are about place, time, property, number or exclusion; each can be checked in an encyclopedia,
    and each excludes something that the others would let in. Something that is known must meet all of them. The
    query is one or two sentences, as a user would write it, and contains no answer.
    """

    concept: str = dspy.InputField(desc="what the query starts from")
    passage: str = dspy.InputField(desc="what is known of it; may be empty")
    topic: str = dspy.InputField(desc="the field it belongs to")
    conditions: int = dspy.InputField(desc="how many conditions, the command included")
    language: str = dspy.InputField(desc="the language of the query")
    query: str = dspy.OutputField(desc="the query, nothing else")


class WriteCreativeQuery(dspy.Signature):
    """Write a query that asks for a piece of creative writing and sets all the requirements that are given.

    Take over every requirement with its exact numbers, letters and words, and add none. The query is one to
    three sentences, as a user would write it.
    """

    form: str = dspy.InputField(desc="what is to be written: a story or a poem")
    requirements: list[str] = dspy.InputField(desc="what the query must demand")
    language: str = dspy.InputField(desc="the language of the query")
    query: str = dspy.OutputField(desc="the query, nothing else")


class WriteEvaluationQuery(dspy.Signature):
    """Write a question that an article answers, and a short response to it that leaves something out.

    The question is one sentence and can only be answered with the article. The response is one or two sentences,
    follows the article, and misses a detail that matters.
    """

    article: str = dspy.InputField(desc="the article")
    language: str = dspy.InputField(desc="the language of both")
    question: str = dspy.OutputField(desc="the question")
    response: str = dspy.OutputField(desc="the response to it")


class WriteAnalysisQuery(dspy.Signature):
    """Write an instruction that can only be carried out with all three articles.

    relationship: it asks how the articles bear on each other, such as which contradict or support which.
    summary: it asks to summarise and compare them.
    The instruction says that there are three articles, is one or two sentences long, and tells nothing of what they
    contain.
    """

    articles: list[str] = dspy.InputField(desc="the articles")
    kind: Literal["relationship", "summary"] = dspy.InputField(desc="what is asked about them")
    language: str = dspy.InputField(desc="the language of the instruction")
    instruction: str = dspy.OutputField(desc="the instruction, nothing else")


class Answerable(OfQuery):
    """Decide whether a query can be answered as it stands.

    It can if all that it speaks of is there (articles, a response, a question), it is clear what is wanted, its
    conditions do not contradict each other, and something can meet them all. That the answer is hard does not
    matter.

    "Name two rivers of Italy that are longer than 100 km." can be answered. "Name an even prime number above ten."
    cannot: nothing meets both conditions. "Summarise the article." without an article cannot either.
    """

    answerable: bool = dspy.OutputField(desc="True if it can be answered as it stands")
    reason: str = dspy.OutputField(desc="if it cannot: what is missing, unclear or impossible; else empty")
