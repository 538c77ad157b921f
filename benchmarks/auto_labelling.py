"""CogniBench's Table 5 on any gold: auto-labelling in full, and with its parts taken away (appendix A.9).

In full, responses are labelled whole (formative prompting, section 3.1) by a prompt with corrected examples of the
judge's own recurrent errors (contrastive prompting), five times (multi-response sampling, section 3.2), and a
sentence is hallucinated when enough of the five say so. The lines, as in the paper:

- thresholds 2 and 3: the same votes, counted twice;
- *- Sampling*: one draw at the same temperature in place of five;
- *- CFP*: the basic prompt without examples, one sentence a call, five draws and a majority.

The examples are mined by the optimizer ``contrastive`` on the train part of the gold set and chosen on its dev
part; every line is scored on the same sealed test part.

Run: python benchmarks/auto_labelling.py --gold cognibench-mini --split 40/20/40
"""

import argparse
from collections.abc import Iterator, Sequence

from jurist.cases import Case
from jurist.engines.channel import CallContext
from jurist.engines.models import Model, connect
from jurist.evaluation.rows import JudgedRow
from jurist.evaluation.votes import Sampling, more_than_half
from jurist.gold.goldset import Gold
from jurist.gold.leaks import check_leaks
from jurist.gold.splits import Split
from jurist.jobs.sealed_rows import foresee_proof_opening, identify_prompt
from jurist.keeping.loading import default_temperature
from jurist.optimizers.base import Job, optimize
from jurist.optimizers.registry import make
from jurist.papers.cognibench.detection import Detection, DetectorScores
from jurist.programs.answers.infer import as_closed_labels
from jurist.programs.asking import Asker
from jurist.programs.cognibench import COGNIBENCH
from jurist.programs.settings import AskSettings
from jurist.programs.state import PromptState
from jurist.programs.verdicts import Verdict
from jurist.report.render import render_markdown


def one_by_one(case: Case) -> list[Case]:
    """Return a response as a case for each sentence; what was said before it is in the dialogue."""
    sentences, own = case.inputs["sentences"], list[Case]()
    for place, sentence in enumerate(sentences):
        before = [f"assistant: {' '.join(sentences[:place])}"] if place else []
        dialogue = "\n".join(filter(None, [str(case.inputs["dialogue"]), *before]))
        inputs = {**case.inputs, "dialogue": dialogue, "sentences": [sentence]}
        own.append(Case(inputs=inputs, group=case.group, source=case.source))
    return own


def answers(asker: Asker, cases: Sequence[Case], *, alone: bool) -> list[list[Verdict]]:
    """Ask about responses, whole or sentence by sentence, with every sample; the verdicts of each."""
    parts = [one_by_one(case) if alone else [case] for case in cases]
    verdicts = iter(asker.ask_all([part for own in parts for part in own]))
    return [[next(verdicts) for _ in own] for own in parts]


def rows_at(
    cases: Sequence[Case], verdicts: Sequence[Sequence[Verdict]], samples: int, votes: int
) -> list[JudgedRow]:
    """Return the responses under a vote threshold, from the votes that were cast: nothing is asked."""
    sampling, scale = Sampling(samples=samples, threshold=votes), COGNIBENCH.answer.scale
    rows = []
    for case, own in zip(cases, verdicts, strict=True):
        predicted = [
            value
            for verdict in own
            for value in (
                [scale.combine(vote, sampling) for vote in verdict.votes] if verdict.votes else verdict.values
            )
        ]
        failed = all(verdict.status == "failed" for verdict in own)
        rows.append(
            JudgedRow(
                id=case.id, group=case.group, gold=case.gold or (), predicted=tuple(predicted), failed=failed
            )
        )
    return rows


def examples(model: Model, split: Split, seed: int) -> PromptState:
    """Return the prompt with contrastive examples: train teaches, dev chooses, test is not touched."""
    context = CallContext.fresh()
    lm = connect(default_temperature(model, 1), context, "judge")
    job = Job(
        judge=COGNIBENCH,
        train=split.train,
        dev=split.dev,
        judge_lm=lm,
        proposer_lm=lm,
        context=context,
        seed=seed,
        sink=lambda event: None,
    )
    best = optimize(make("contrastive", {}), job).best
    check_leaks(split, [best.state])
    print(
        f"{len(best.demo_ids)} labelled train responses are shown as contrastive examples ({best.source})\n"
    )
    return best.state


def made(model: Model, gold: Gold, split: Split, samples: int, seed: int) -> Iterator[str]:
    """Yield the sheets of the table."""
    state = examples(model, split, seed)
    basic, shown = COGNIBENCH.basic(), state.apply(COGNIBENCH.basic())
    asked, spends, drawn = {}, {}, {"full": samples, "single": 1, "basic": samples}
    for part, program in (("full", shown), ("single", shown), ("basic", basic)):
        context = CallContext.fresh()
        # One draw has the temperature of several draws.
        lm = connect(default_temperature(model, samples), context)
        settings = AskSettings(sampling=Sampling(samples=drawn[part]))
        asker = Asker(judge=COGNIBENCH, program=program, lm=lm, settings=settings)
        asked[part] = answers(asker, split.test, alone=part == "basic")
        spends[part] = context.ledger.spend()
    rows = [(f"Auto-labelling (threshold = {votes})", "full", votes) for votes in range(1, samples + 1)]
    rows += [
        ("- Sampling (1 draw)", "single", 1),
        ("- CFP (one sentence a call)", "basic", more_than_half(samples)),
    ]
    comparison = as_closed_labels(COGNIBENCH.answer).scale
    texts = {case.id: case.inputs["sentences"] for case in split.test}
    lines = [
        DetectorScores.of(
            rows_at(split.test, asked[part], drawn[part], votes),
            texts,
            comparison,
            name=name,
            model=model.name,
            spend=spends[part],
        )
        for name, part, votes in rows
    ]
    opening = foresee_proof_opening(
        split, [identify_prompt(COGNIBENCH, state, model, "chat", Sampling(samples=samples))]
    )
    opening.record("table cognibench-5")
    first = min(1, samples - 1)  # threshold 2
    pairs = [
        (first, other) for other in range(first + 1, len(lines)) if rows[other][1] != "full" or other == 2
    ]
    about = {"table": "cognibench-5", "gold": gold.name}
    table = Detection.of(lines, pairs, seed=seed, alpha=2.0 * opening.level, **about)
    yield from map(render_markdown, table.sheets())
    yield from (*table.notes, *(test.words for test in table.tests), opening.words)


def main() -> None:
    """Print the table as Markdown."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--gold", default="cognibench-mini")
    options.add_argument("--model", default="offline")
    options.add_argument("--samples", type=int, default=5)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--split", default="50/20/30", help="groups in train, dev and test")
    given = options.parse_args()
    gold = Gold.load(given.gold, COGNIBENCH)
    train, dev, test = (float(part) / 100 for part in given.split.split("/"))
    split = gold.split(given.seed, (train, dev, test))
    check_leaks(split)
    for part in made(Model(name=given.model), gold, split, given.samples, given.seed):
        print(part, end="\n\n")


if __name__ == "__main__":
    main()
