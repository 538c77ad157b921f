"""``jurist export``."""

from collections.abc import Mapping
from dataclasses import replace

from ..arguments.judges import ExportOptions
from ..engines.models import Model
from ..errors import UsageError
from ..exports import Exporter, Subject, Target, exporter, rendered, subject_of
from ..exports.parity import Parity, nasty_cases, parity, rows_of
from ..gold.new_rows import read_rows
from ..keeping.loading import load_judge
from .common import mapping_of, store_of, write_text
from .printing import Part, Result, Verbatim, remark


def run(options: ExportOptions) -> Result:
    """Write a judge's prompt for another system, or say how far that system sends what the judge sends."""
    target = exporter(options.target)
    subject, name = _subject(options)
    about = {"judge": name, "target": options.target, "output": options.output}
    if options.check:
        return _checked(options, target, subject, about)
    text, notes = rendered(target, subject), [*getattr(target, "limits", ()), *subject.limits]
    if options.output in (None, "-"):
        body: list[Part] = [Verbatim(text)]
        return Result(data={**about, "limits": notes, "text": text}, body=body, notes=notes)
    write_text(text, options.output)
    return Result(data={**about, "limits": notes}, body=[f"{name} written to {options.output}"], notes=notes)


def _subject(options: ExportOptions) -> tuple[Subject, str]:
    model = Model(name=options.model) if options.model else None
    loaded = load_judge(options.judge, store=store_of(options), model=model)
    for said in (loaded.standing, loaded.other_model if model else ""):
        if said:
            remark(said)
    subject = subject_of(loaded.artifact or loaded.state, loaded.judge)
    if model is None:
        name = (subject.card.get("model") or {}).get("name")
        model = replace(loaded.model, name=name) if name else None
    else:
        model = loaded.model
    cases = read_rows(options.input, loaded.judge, mapping_of(options))[0] if options.input else []
    if options.check and not cases:
        cases = nasty_cases(loaded.judge)
    return replace(subject, model=model, rows=rows_of(subject, cases) if cases else ()), loaded.name


def _checked(
    options: ExportOptions, target: Exporter, subject: Subject, about: Mapping[str, object]
) -> Result:
    if not isinstance(target, Target):
        raise UsageError(
            f"nothing that runs here loads and fills an export to {options.target}, so there is nothing to check",
            hint="leave out --check",
        )
    found = parity(target, subject)
    if options.output not in (None, "-"):
        write_text(rendered(target, subject), options.output)
    return Result(
        data={**about, **found.to_json(), "limits": [*target.limits, *subject.limits]},
        body=_words(options, found),
        notes=[*target.limits, *subject.limits],
        code=1 if found.different else 0,
    )


def _words(options: ExportOptions, found: Parity) -> list[Part]:
    what = (
        "of your rows"
        if options.input
        else "rows of traps (braces, markup, roles, field markers, CJK, CRLF, 100 KB)"
    )
    share = f"{found.equal / found.rows:.1%}: {found.equal} of {found.rows}"
    lines = [f"parity {share} {what} are sent by {options.target} as the judge sends them"]
    if found.raw < found.equal:
        lines.append(
            f"{found.equal - found.raw} rows need their values as jurist.exports.variables gives them; "
            f"{found.raw} are the same as they stand"
        )
    if found.different:
        shown = ", ".join(found.different[:5])
        lines.append(f"{len(found.different)} rows differ, such as {shown}")
    return list(lines)
