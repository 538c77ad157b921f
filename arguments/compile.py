"""The options of ``compile``, ``prove`` and ``move``."""

from .groups import (
    Adapter,
    AllLimits,
    Common,
    CompiledVerifiers,
    Concurrency,
    Details,
    DocumentOptions,
    Endpoint,
    JudgeOptions,
    Limits,
    ModelOptions,
    PaidOptions,
    PanelOptions,
    Printed,
    RaterOptions,
    Resume,
    RowOptions,
    SamplingOptions,
    SeedOptions,
    SplitOptions,
    Transport,
    VerifierOptions,
    gold_option,
    nonempty_name,
    positive_integer,
)
from .names import EXAMPLE_MODEL, list_module_names
from .options import flag, option, positional, repeated


class SearchOptions(
    Adapter,
    Concurrency,
    SeedOptions,
    group=True,
    helps={
        "adapter": "form of the prompt (default: plain, if the judge has your prompt as it stands, and chat if that is "
        "better; else chat, or json where a model's replies to it cannot be read)"
    },
):
    """The way in which a compilation asks its prompts, and the seed of its split and its search."""

    embedder: str | None = option(
        "M",
        "model that embeds texts, as openai/text-embedding-3-small: rows shown with a call are chosen by its vectors "
        "too (default: by words alone)",
        type=nonempty_name,
        rare=True,
    )


class CompileOptions(
    RaterOptions,
    RowOptions,
    ModelOptions,
    PanelOptions,
    SearchOptions,
    VerifierOptions,
    CompiledVerifiers,
    Limits,
    AllLimits,
    Resume,
    SamplingOptions,
    SplitOptions,
    JudgeOptions,
    DocumentOptions,
    Common,
    Details,
    command="compile",
    does="compile.compile_command",
    helps={
        "calls": "hard limit on calls, the proof included (default: 4000)",
        "model": f'"offline" (a text-overlap scorer, not an LLM), or a DSPy model string as {EXAMPLE_MODEL} (default: '
        "with --start that of the version, else offline)",
        "resume": "continue an unfinished run, or return the version that this command made; nothing is paid twice",
    },
):
    """Improve a judge's prompt with labelled rows, and prove it: jurist splits the rows by conversation or document,
    an optimizer rewrites the prompt on train and chooses on dev, the sealed test compares it with the basic prompt, and
    the result is kept as a version.

    examples:
      jurist compile cognibench --gold cognibench-mini
      jurist compile judge.py:judge --gold support-desk
      jurist compile fect --gold labels.csv --model {MODEL} --max-calls 2000 --max-cost 3 --yes
      jurist compile fect --gold labels.csv --panel {MODEL} --panel {OTHER_MODEL}
      jurist compile fect --gold labels.csv --model openai/my-model --api-base http://localhost:8000/v1

    A limit holds for the whole job, the proof included. Put the address, key and prices of each model of a panel into
    jurist.toml, below [panel."provider/model"].
    """

    judge: str = positional("JUDGE", "a built-in judge, or path/to/file.py:judge")
    gold: str | None = gold_option(
        "labelled rows: a bundled name, a file, a folder, hf:org/name; default: the judge's bundled set"
    )
    optimizer: str = option(
        "NAME",
        f"{', '.join(list_module_names('optimizers.named'))}, dspy:CLASS, or path/to/file.py:name",
        "race",
    )
    holdout: str | None = option(
        "PATH|NAME",
        "labelled rows that are the sealed test; train and dev are then all of --gold",
        type=nonempty_name,
    )
    beside: tuple[str, ...] = repeated(
        "--beside recorded:FILE",
        "verdicts of the judge that you use today, scored on the same sealed test",
        rare=True,
    )
    settings: tuple[str, ...] = repeated("--set NAME=VALUE", "a setting of the optimizer", rare=True)
    prompt_model: str | None = option("M", "model that writes prompts (default: the judge's)")
    prompt_api_base: str | None = option(
        "URL", "address of that model (default: --api-base, where it is of the same provider)", rare=True
    )
    prompt_key_env: str | None = option(
        "--prompt-api-key-env NAME", "environment variable that holds the key of that model", rare=True
    )
    prompt_price_in: float | None = option(
        "USD", "price of a million input tokens of that model (default: that of the price table)", rare=True
    )
    prompt_price_out: float | None = option(
        "USD", "price of a million output tokens of that model, with --prompt-price-in", rare=True
    )
    prompt_max_tokens: int | None = option(
        "N", "the most tokens of a proposal (default: --max-tokens)", type=positive_integer, rare=True
    )
    start: str | None = option(
        "JUDGE@V", "begin the search with the prompt of this version; the proof is against basic", rare=True
    )
    tokens_per_row: int | None = option(
        "N",
        "the most tokens that a row of the compiled judge may take (default: twice those of the basic prompt, and more "
        "where that brings enough)",
        type=positive_integer,
        rare=True,
    )
    metric: str | None = option("NAME", "compile for another metric than the judge's own")
    no_words: bool = flag("never let a regression on words decide, alone or with the model's replies")
    questions: str | None = option(
        "FILE",
        "small questions of your own, one a line with [yes or no] or [1 to 5] at its end: they are asked with the "
        "judge's, and a regression on the answers decides where that is better",
        rare=True,
    )
    no_questions: bool = flag("do not split the judge's task into smaller questions")
    own_answer: str | None = option(
        "INPUTS",
        "the inputs that are the task, as question,context: the model answers them itself before it judges, where "
        "that is better (default: those whose names say so, if there are any)",
        rare=True,
    )
    no_own_answer: bool = flag("never let the model answer the task itself before it judges", rare=True)
    anyway: bool = flag("go on even if the test is too small to show anything", rare=True)
    force: bool = flag("make it the latest version even if it is not shown to be better", rare=True)


class ProveOptions(
    RowOptions,
    Endpoint,
    Transport,
    VerifierOptions,
    PaidOptions,
    command="prove",
    does="compile.prove_command",
):
    """Show with few labels whether a version is better than basic: jurist asks both prompts about rows that nobody
    labelled. People label some of the rows on which the two differ, one a group, at random, without seeing the answers.
    A test that weighs each label by the judge's metric decides. It takes a fraction of the labels of a sealed test, and
    opens none.

    examples:
      jurist prove fect@2 --rows new.jsonl                      # asks both; prints what 40 labels can show
      jurist prove fect@2 --sheet labels.csv --rater ann        # for a spreadsheet
      jurist prove fect@2 --answers labels.csv                  # the sheet that came back: tests
      jurist prove fect@3 --against fect@2 --rows new.jsonl     # a version that was moved, against the one before

    jurist fixes the plan before it sees a label. It tests when half, three quarters and all of the labels are in, from
    the top of the sheet on, and stops when a difference is shown. Each further plan for the same version (other --rows,
    or --fresh) has a stricter level: 0.025, 0.0125, 0.00625. If nobody can tell, leave the label empty and write a
    reason under "ambiguity". A version that is shown to be better becomes the latest, if its sealed test also shows it
    to be better than a constant answer.
    """

    artifact: str = positional("JUDGE@VERSION")
    rows: str | None = option(
        "PATH|NAME", "rows that nobody labelled; labels in them are not read", type=nonempty_name
    )
    number: int | None = option(
        "--labels N",
        "labels to plan, one a group (default: 40; with --against as many as move has named)",
        type=positive_integer,
    )
    against: str | None = option(
        "JUDGE@V|recorded:FILE",
        "compare it with the version that it was moved from, in place of basic: jurist asks that version, or FILE has "
        "its answers",
    )
    model: str | None = option("M", "the model that answers (default: the model of its proof)")
    sheet: str | None = option("F.csv", "write the planned units as a sheet for a person", exclusive="how")
    answers: str | None = option("F.csv", "the sheet that came back: tests the labels", exclusive="how")
    rater: str = option("NAME", "the person who will label", "annotator")


class MoveOptions(
    ModelOptions,
    Limits,
    Resume,
    Printed,
    Details,
    command="move",
    does="compile.move_command",
):
    """Move a version to another model: show on its sealed test whether it is as good there, as when its own model is
    shut down. The new model answers train and dev with the same prompt, jurist fits thresholds, weights and words anew,
    and the sealed test compares it with the answers that the version keeps. The old model is not asked.

    examples:
      jurist move fect@2 --model {MODEL}
      jurist move fect@prod --model {MODEL} --reasoning-effort low --max-cost 2 --yes

    The result is the next version. If it is better, or as good within --margin, it becomes the latest, and takes over
    the tags of the old one. Each move is one opening of the sealed test, and makes the next test stricter. If the new
    model scores less on dev than the old one did, jurist also asks it in another form, with three samples, or with more
    reasoning, and chooses on train and dev. Exit code 0 if it is as good or better, 3 if it is worse, 1 if that is not
    known: then jurist prints how many labels on rows where the two differ could tell.
    """

    artifact: str = positional("JUDGE@VERSION")
    model: str | None = option("M", "the new model (must be given)")
    gold: str | None = gold_option("the gold set it was compiled on (default: as named on the card)")
    margin: float | None = option(
        "M", "how much worse it may be and count as good (default: 0.03, of errors 0.03 of their range)"
    )
    ask_old: bool = flag(
        "ask the old model about the sealed test too, where the version keeps no answers to it"
    )
    force: bool = flag("make it the latest version, and give it the tags, whatever is shown")
