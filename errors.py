"""The errors of jurist: one root, each saying what is wrong, where, and what to do next.

``JuristError`` subclasses end a command with exit code 1 and one line; they are never used for a model's unusable
reply, which is an abstention and is counted. Messages are written in the words of the command line; for a program in
Python an error puts arguments and functions in their place, but not in what stands between quotes, which is the user's.
``BudgetExhausted`` is a ``BaseException`` on purpose: optimizers catch ``Exception`` around every evaluation, and a
hard limit must not be swallowed. ``Interrupted`` is a ``KeyboardInterrupt`` for the same reason.
"""

import ast
import difflib
import inspect
import re
import shlex
import signal
import sys
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from numbers import Integral, Real
from pathlib import Path
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeAlias,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

P = ParamSpec("P")
R = TypeVar("R")


class Within(NamedTuple):
    """The values of an argument or a setting that is a number, and these in words."""

    lowest: float
    highest: float
    words: str


Count: TypeAlias = Annotated[int, Within(1, float("inf"), "a whole number, 1 or more")]
"""The type of an argument that counts something."""
Seed: TypeAlias = Annotated[int, Within(0, 2**32 - 1, f"a whole number from 0 to {2**32 - 1}")]
"""The type of a seed: numpy, and the optimizers that use it, take no higher ones."""


ARGUMENTS: Mapping[str, str] = {
    "--adapter": 'adapter="{}"',
    "--against": 'against="{}"',
    "--anyway": "anyway=True",
    "--api-base": 'model=jurist.Model(api_base="{}")',
    "--api-key-env": 'model=jurist.Model(key_env="{}")',
    "--ask-old": "ask_old=True",
    "--at-least": "at_least={}",
    "--benchmark": 'benchmark="{}"',
    "--by": 'by="{}"',
    "--calibration": 'calibration="{}"',
    "--cases": "cases={}",
    "--characters": "characters={}",
    "--combine": 'combine="{}"',
    "--concurrency": "concurrency={}",
    "--embedder": 'embedder="{}"',
    "--fact-judge": 'fact_judge="{}"',
    "--field": 'field="{}"',
    "--force": "force=True",
    "--fresh": "fresh=True",
    "--gold": 'gold="{}"',
    "--header": "model=jurist.Model(headers=...)",
    "--holdout": 'holdout="{}"',
    "--input": 'rows="{}"',
    "--judge-model": 'verifier="{}"',
    "--keep-groups": "mapping=jurist.RowMapping(keep_groups=True)",
    "--labels": "labels={}",
    "--language": 'language="{}"',
    "--margin": "margin={}",
    "--max": "maximum={}",
    "--max-calls": "budget=jurist.Budget(calls={})",
    "--max-cost": "budget=jurist.Budget(cost={})",
    "--max-seconds": "budget=jurist.Budget(seconds={})",
    "--max-tokens": "model=jurist.Model(max_tokens={})",
    "--max-unusable": "max_unusable={}",
    "--merge": 'merge="{}"',
    "--min": "minimum={}",
    "--model": 'model="{}"',
    "--no-own-answer": "own_answer=False",
    "--no-questions": "questions=False",
    "--no-words": "words=False",
    "--not-worse-than": 'not_worse_than="{}"',
    "--optimizer": 'optimizer="{}"',
    "--output": 'output="{}"',
    "--own-answer": 'own_answer="{}"',
    "--panel": "model=jurist.Model.panel(...)",
    "--per-cell": "per_cell={}",
    "--per-document": "per_document={}",
    "--patience": "model=jurist.Model(patience={})",
    "--price-in": "model=jurist.Model(price_in={})",
    "--price-out": "model=jurist.Model(price_out={})",
    "--prompt-max-tokens": "prompt_model=jurist.Model(max_tokens={})",
    "--prompt-model": 'prompt_model="{}"',
    "--prompt-price-in": "prompt_model=jurist.Model(price_in={})",
    "--prompt-price-out": "prompt_model=jurist.Model(price_out={})",
    "--questions": "questions=[...]",
    "--raters": 'raters="{}"',
    "--reasoning-effort": 'model=jurist.Model(reasoning_effort="{}")',
    "--rejects": 'rejects=jurist.Rejects("{}")',
    "--repeats": "repeats={}",
    "--resume": "resume=True",
    "--rows": 'rows="{}"',
    "--rpm": "model=jurist.Model(rpm={})",
    "--samples": "samples={}",
    "--seed": "seed={}",
    "--set": "options={}",
    "--split": "shares={}",
    "--store": 'store="{}"',
    "--tasks": 'tasks="{}"',
    "--temperature": "model=jurist.Model(temperature={})",
    "--threshold": "threshold={}",
    "--timeout": "model=jurist.Model(timeout={})",
    "--tokens-per-row": "tokens_per_row={}",
    "--trust": "trust=True",
    "--turns": 'turns="{}"',
    "--types": 'types="{}"',
    "--unanswered": 'unanswered="{}"',
    "--use": "use=True",
    "--verifier": "verifiers=...",
    "--words": 'words="{}"',
}
"""Option of the command line -> the argument of Python that says the same; ``{}`` is the place of its value."""
_PAIRS: Mapping[str, str] = {
    "--column": "mapping={}",
    "--map": "mapping=jurist.RowMapping(labels={})",
    "--min": "minimum={}",
    "--max": "maximum={}",
    "--set": "options={}",
}
"""Options whose value is a pair, THEIRS=OURS, and a dictionary in Python."""
_LIMITS = ("--min", "--max")
"""Options whose pair ends with a number."""
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_QUOTED = r"""'[^']*'(?:"[^"]*"'[^']*')*(?:=\w+)?"""
"""A word of a shell between quotes, as ``shlex.quote`` writes it; of a pair the first part may be between them."""
_DATA = r"""(?:(?<!\w)|(?<=\bb))(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
"""A value between quotes, as ``repr`` writes it."""
_IN_QUOTES = rf"(?:{_QUOTED}(?=[\s;,:.)]|$)|{_DATA})"
"""A word of a command or the value of an option, between quotes."""
_WITH_VALUE = re.compile(
    r"(?P<flag>(?<![\w/.\\-])--[a-z][a-z-]*[a-z])"
    rf"(?: (?P<value>{_IN_QUOTES}|[^\s;,)]*?(?:[=/]|:(?!\s|$))[^\s;,)]*?(?=[:.]?(?:[\s;,)]|$))"
    r"|\w+(?:,\w+)+|[A-Z][A-Z.a-z]*(?![\w-])|\d+-\d+|\d[\d.]*\d|\d"
    r"|json|chat|plain|unanimous|majority|adjudicated|reviewed|median|mean"
    r"|(?<=--own-answer )\w+|(?<=--by )[\w.-]*\w|(?<=--language )(?:en|zh)(?!\w)))?"
)
"""An option, and what stands behind it if that is a value: a pair, a path, a number, a placeholder, a known word."""
_COMMAND = re.compile(
    rf"\bjurist (?P<verb>(?:artifacts |gold )?[a-z]+)(?P<words>(?: (?:{_IN_QUOTES}|[^\s;,)]+))*)"
)
"""A command of a shell, up to the end of its clause."""
_WORD = re.compile(rf"{_IN_QUOTES}|\S+")
"""A word of a command."""


class _Call(NamedTuple):
    """The function of Python that does what a command does."""

    function: str
    required: Sequence[str] = ()  # arguments that a call has after its judge
    takes_list: bool = False  # whether its judges are one list


CALLS: Mapping[str, _Call] = {
    "artifacts list": _Call("artifacts"),
    "artifacts refit": _Call("refit"),
    "assess": _Call("assess", ("benchmark",), takes_list=True),
    "cascade": _Call("cascade", ("gold",), takes_list=True),
    "compare": _Call("compare", ("gold",), takes_list=True),
    "compile": _Call("compile", ("gold",)),
    "evaluate": _Call("evaluate", ("gold",)),
    "export": _Call("export"),
    "gate": _Call("gate", ("gold",)),
    "generate": _Call("generate", ("documents", "output")),
    "gold agreement": _Call("agreement"),
    "gold check": _Call("check_gold"),
    "gold import": _Call("import_gold"),
    "gold plan": _Call("plan_gold"),
    "move": _Call("move"),
    "prove": _Call("prove"),
    "run": _Call("run", ("rows", "output")),
}
"""Command -> the function of Python that does the same; other commands stay as they are."""
_JUDGE_WORD = re.compile(
    r"[^a-z\s]|^(?!(?:has|lists|says|gives|writes|wrote|what|why|that|and|or|is|on|the|it|with)$)"
)
"""A word behind a command that may name a judge, and goes on no sentence."""


_PHRASES: Mapping[str, str] = {
    "add --resume to": "make the same call again to",  # which goes on by itself
    "run the same command again": "make the same call again",
    "for example fect fect:basic": 'for example ["fect", "fect:basic"]',
}
"""Words for the command line -> the words for Python that say the same."""
_PART = re.compile(
    rf"(?P<data>{_DATA})|(?P<phrase>{'|'.join(map(re.escape, _PHRASES))})|{_COMMAND.pattern}|{_WITH_VALUE.pattern}"
)
"""The parts of a message that may not be in the words of Python: of those that begin at one place, the first."""


class _Caller:
    """The reader of messages: a command, or a public function that a program in Python has called."""

    def __init__(self, *, is_command_line: bool) -> None:
        self.is_command_line = is_command_line
        self.has_begun_work = False


_PROGRAM = _Caller(is_command_line=False)
_caller: ContextVar[_Caller] = ContextVar("_caller", default=_PROGRAM)
"""The caller of the running code. Threads that jurist starts run in a copy of the context, so it is theirs, too."""


def begin_paid_work() -> None:
    """Note that work has begun that asks models and keeps what was paid."""
    _caller.get().has_begun_work = True


def has_begun_paid_work() -> bool:
    """Return whether the command has begun work that asks models."""
    return _caller.get().has_begun_work


@contextmanager
def answering_command_line() -> Iterator[None]:
    """Let messages name options within the block, as :mod:`jurist.cli` does; elsewhere they name arguments."""
    token = _caller.set(_Caller(is_command_line=True))
    try:
        yield
    finally:
        _caller.reset(token)


_NEXT_LABELS = "}), mapping=jurist.RowMapping(labels={"
"""Words between the labels of two options in a row, each in an argument of its own."""


def in_words_of_caller(text: str) -> str:
    """Return a message with the words of its reader: options of the command line, or arguments of Python."""
    if _caller.get().is_command_line:
        return text
    return in_words_of_python(text)


def in_words_of_python(text: str) -> str:
    """Return a message with arguments of Python in place of options, and calls in place of commands.

    A command that no function of Python does, or that has an option which no argument stands for, stays as it is.
    So does what stands between quotes: there a message has the values of the user, as ``{value!r}`` or
    :func:`as_data` writes them. Quotes need no mark at each option of hundreds of messages, people can read them,
    and they still protect a message that becomes a part of another one.
    """
    words = _PART.sub(_part_in_python, text)
    return words.replace(_NEXT_LABELS, ", ")  # each option names a label, one argument names all


def as_data(value: object) -> str:
    """Return a path or another text of the user as a message has it.

    It stands between quotes where it has some itself, or reads like an option or a command of jurist.
    """
    text = str(value)
    if "'" in text or '"' in text or in_words_of_python(text) != text:
        return repr(text)
    return text


def repr_in_brief(value: object, length: int = 80) -> str:
    """Return the representation of a value, or its beginning, with quotes that are closed."""
    if isinstance(value, str):
        return repr(value[:length])
    text = repr(value)
    return text if len(text) <= length else as_data(text[:length])


def _part_in_python(part: re.Match[str]) -> str:
    """Return a part of a message in the words of Python."""
    if part["data"]:
        return part[0]
    if part["phrase"]:
        return _PHRASES[part[0]]
    if part["verb"]:
        return _call_of(part)
    return _argument_of(part)


def _call_of(command: re.Match[str]) -> str:
    """Return the call of Python that does what a command does, and the words behind it as they are."""
    call = CALLS.get(command["verb"])
    if call is None:
        return command[0]
    words = _WORD.findall(command["words"])
    judges = _take_judges(words, takes_list=call.takes_list)
    arguments = _take_arguments(words)
    if arguments is None:
        return command[0]
    rest = "".join(f" {word}" for word in words)
    if not judges and not arguments:
        return f"jurist.{call.function}{rest}"
    rendered: list[str] = []
    if judges:
        quoted = ", ".join(map(_in_quotes, judges))
        rendered.append(f"[{quoted}]" if call.takes_list else quoted)
    for name in call.required:
        rendered.append(arguments.pop(name, f"{name}=..."))
    rendered.extend(arguments.values())
    return f"jurist.{call.function}({', '.join(rendered)}){rest}"


def _take_judges(words: list[str], *, takes_list: bool) -> list[str]:
    """Remove the judges from the beginning of the words behind a command, and return them: at most one, or a list."""
    judges: list[str] = []
    while words and not words[0].startswith("--") and (takes_list or not judges):
        is_first_judge = not judges and _JUDGE_WORD.search(words[0])
        is_further_judge = judges and not words[0].isalpha()
        if not is_first_judge and not is_further_judge:
            break
        judges.append(_without_quotes(words.pop(0)))
    return judges


def _take_arguments(words: list[str]) -> dict[str, str] | None:
    """Remove the options from the beginning of some words, and return name -> argument of Python.

    ``None`` where no argument stands for an option, or two options are one argument.
    """
    arguments: dict[str, str] = {}
    while words and words[0].startswith("--"):
        flag = words.pop(0)
        value = ""
        if words and not words[0].startswith("--") and _takes_value(flag):
            value = _without_quotes(words.pop(0))
        argument = _render_argument(flag, value)
        name = argument.partition("=")[0]
        if not _is_argument(flag) or name in arguments:
            return None
        arguments[name] = argument
    return arguments


def _without_quotes(word: str) -> str:
    """Return a word of a shell as a program gets it."""
    if re.fullmatch(_QUOTED, word):
        (value,) = shlex.split(word)
        return value
    if re.fullmatch(_DATA, word):
        return str(ast.literal_eval(word))
    return word


def _takes_value(flag: str) -> bool:
    """Whether an option of the command line has a value."""
    return flag in _PAIRS or "{}" in ARGUMENTS.get(flag, "")


def _argument_of(option: re.Match[str]) -> str:
    """Return the argument that says what an option says, with its value if it has one; a comma before another one."""
    value = _without_quotes(option["value"] or "")
    if not _is_argument(option["flag"]):
        return option[0]
    argument = _render_argument(option["flag"], value)
    following = _WITH_VALUE.match(option.string, option.end() + 1)
    if option.string[option.end() :].startswith(" ") and following and _is_argument(following["flag"]):
        return f"{argument},"
    return argument


def _is_argument(flag: str) -> bool:
    """Whether an argument of Python says what an option says."""
    return flag in ARGUMENTS or flag in _PAIRS


def _render_argument(flag: str, value: str) -> str:
    """Return the argument for an option and its value, which may be empty; the option, where no argument says it."""
    if flag in _PAIRS:
        return _PAIRS[flag].replace("{}", _render_pair(flag, value))
    argument = ARGUMENTS.get(flag, flag)
    if "{}" not in argument:
        return f"{argument} {value}".rstrip() if value else argument
    if not value:
        return re.sub(r'=["]?[{][}]["]?$', "=", argument).replace('"{}"', "...").replace("{}", "...")
    if flag == "--split":
        value = f"({', '.join(f'{int(part) / 100:g}' for part in value.split('/'))})"
    if '"{}"' in argument:
        return argument.replace('"{}"', _in_quotes(value))
    return argument.replace("{}", value)


def _render_pair(flag: str, value: str) -> str:
    """Return a value ``NAME=MEANING`` as a dictionary of Python; three dots where it is no pair."""
    name, equals, meaning = value.rpartition("=")
    if not equals:
        return "..."
    if flag not in _LIMITS and not _NUMBER.fullmatch(meaning):
        meaning = _in_quotes(meaning)
    return f'{{"{name}": {meaning}}}'


def _in_quotes(text: str) -> str:
    """Return a text between double quotes, as Python reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class JuristError(Exception):
    """The work could not be done. ``str(error)`` is one line: the problem, then the hint.

    Args:
        message: what is wrong and where, with the offending value.
        hint: the next step for the user, as an imperative clause; may be empty.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = _in_one_line(message)
        self.hint = _in_one_line(hint)
        super().__init__(_with_hint(self.message, self.hint))

    def _render_traceback_(self) -> list[str]:
        """Return the one line that a notebook shows of it."""
        return [f"{type(self).__name__}: {self}"]


def _in_one_line(text: str) -> str:
    """Return a message or a hint on one line, in the words of its reader."""
    return printable(in_words_of_caller(" ".join(text.split())))


def _with_hint(message: str, hint: str) -> str:
    """Return a message with its hint behind it, which may be empty."""
    if not hint:
        return message
    if not message.endswith(".."):
        message = message.removesuffix(".")
    return f"{message}; {hint}"


class UsageError(JuristError):
    """The command line or an argument is wrong (exit code 2)."""

    exit_code = 2


class TooFewGroupsError(UsageError):
    """The sealed test has too few groups for anything to be shown; nothing was spent (exit code 2)."""


class GoldError(JuristError):
    """A gold file cannot be used.

    Attributes:
        path: the file; empty if none is to blame.
        line: the line of the file.
        field: the column.
        source: the file with its line, ``labels.csv:7``.
        reason: the message without place and hint.
        further_errors: the other errors of the same row or file.
    """

    def __init__(
        self, message: str, *, path: str = "", line: int | None = None, field: str = "", hint: str = ""
    ) -> None:
        self.path = path
        self.line = line
        self.field = field
        self.source = path
        if line is not None:
            self.source += f":{line}"
        self.reason = in_words_of_caller(" ".join(message.split()))
        self.further_errors: tuple[GoldError, ...] = ()
        place = ""
        if path:
            place = as_data(path)
        if line is not None:
            place += f":{line}"
        if field:
            separator = ", " if place else ""
            place += f"{separator}field {field!r}"
        if place:
            message = f"{place}: {message}"
        super().__init__(message, hint=hint)

    def with_field(self, field: str, *, hint: str = "") -> "GoldError":
        """Return a copy of the error for another column; ``hint`` takes the place of its hint unless it is empty."""
        error = type(self)(self.reason, path=self.path, line=self.line, field=field, hint=hint or self.hint)
        error.further_errors = self.further_errors
        return error


class EmptyInputError(GoldError):
    """A row gives nothing for an input of the judge."""


class JudgeError(JuristError):
    """A judge is unknown, badly defined, or cannot be loaded from its file."""


class UnknownJudgeError(JudgeError):
    """No judge and no generator has this name."""


class ModelError(JuristError):
    """The model cannot be used at all: no key, no such model, unreachable host, quota spent."""


class GoneModelError(ModelError):
    """No model answers under this name at this address: perhaps it was shut down."""


class OptimizerError(JuristError):
    """An optimizer cannot start: unknown name, wrong option, or a budget below one full pass."""


class CheckpointError(JuristError):
    """A checkpoint belongs to another job, or is damaged."""


class ArtifactError(JuristError):
    """An artifact is missing, damaged, or does not fit this judge."""


class StoppedError(JuristError):
    """A limit stopped the work before its end; what was paid is kept."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or another signal stopped the work; what was paid is kept. ``except Exception`` does not catch it.

    ``str(error)`` is one line: the problem, then the hint. A notebook shows that line.

    Args:
        message: why, and where what was paid is kept.
        hint: how to go on.
        signal: the number of the signal; the exit code is 128 more (130 after Ctrl-C).
    """

    def __init__(self, message: str, *, hint: str = "", signal: int = signal.SIGINT) -> None:
        self.message = _in_one_line(message)
        self.hint = _in_one_line(hint)
        self.signal = int(signal)
        self.exit_code = 128 + self.signal
        super().__init__(_with_hint(self.message, self.hint))

    def _render_traceback_(self) -> list[str]:
        """Return the one line that a notebook shows of it."""
        return [f"{type(self).__name__}: {self}"]


class AnswerPending(BaseException):
    """The answer to a call comes later, with a batch; the caller goes on with other calls and asks again afterwards."""


def unknown_price(*models: str) -> UsageError:
    """Return the error of a limit on cost that cannot be kept, as the price of models is unknown."""
    return UsageError(
        f"--max-cost cannot be kept: the price of {', '.join(models)} is not known",
        hint="state it with --price-in and --price-out (USD per million tokens), that of a --prompt-model with "
        "--prompt-price-in and --prompt-price-out, or limit the calls with --max-calls",
    )


class BudgetExhausted(BaseException):
    """A hard limit on calls, tokens, cost or seconds was reached before the next call was made."""

    def __init__(self, limit: str, allowed: float, *, remaining: int = 0) -> None:
        self.limit, self.allowed = limit, allowed
        message = f"the budget of {allowed:g} {limit} is spent"
        if remaining:
            message = (
                f"of the budget of {allowed:g} {limit} only {remaining} are left, which are reserved for the steps "
                "that must still follow, such as the proof"
            )
        super().__init__(message)


class StopRequested(BudgetExhausted):
    """A signal has asked the work to stop: no further call is made, as if a limit were reached."""

    def __init__(self, signal: int) -> None:
        self.signal = signal
        super().__init__("signal", signal)
        self.args = (f"stopped by {signal_name(signal)}",)


def signal_name(number: int) -> str:
    """Return the usual name of a signal: ``Ctrl-C``, ``SIGTERM``."""
    if number == signal.SIGINT:
        return "Ctrl-C"
    return signal.Signals(number).name


def system_message(error: Exception) -> str:
    """Return the message of an error of the system, without its number and file: ``No such file or directory``."""
    return getattr(error, "strerror", None) or str(error)


STANDARD_OUTPUT = "standard output"


@contextmanager
def writing_standard_output() -> Iterator[None]:
    """Name standard output in an ``OSError`` of the block, which does nothing but write there."""
    try:
        yield
    except OSError as error:
        error.filename = STANDARD_OUTPUT
        raise


@contextmanager
def importing_extra(name: str) -> Iterator[None]:
    """Guard the imports within the block: a missing package raises ``JuristError`` with the extra that installs it."""
    try:
        yield
    except ImportError as error:
        hint = f"pip install 'jurist[{name}]'"
        raise JuristError(f"{error.name} is not installed", hint=hint) from error


_ACCEPTED_TYPES: Mapping[object, Any] = {
    int: Integral,
    float: Real,
    Sequence: Iterable,
    tuple: list | tuple,
}
"""Annotated type -> the types whose instances are accepted for it, where these are not its own."""


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Return a public function that raises ``UsageError`` for an unknown argument, or a value of another type.

    In Python it ends with ``Interrupted`` at Ctrl-C, whatever it is doing; the command line says so itself.
    """
    parameters = list(inspect.signature(function).parameters)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        arguments = [name for name in _types_by_name(function) if name != "return"]
        for name in kwargs.keys() - arguments:
            raise UsageError(f"no argument is called {name!r} here", hint=suggest_name(name, arguments))
        values: dict[str, object] = dict(zip(parameters, args, strict=False))
        values.update(kwargs)
        check_types(function, values)
        if _caller.get() is not _PROGRAM:  # a command, or another public function, has called it
            return function(*args, **kwargs)
        caller = _Caller(is_command_line=False)
        token = _caller.set(caller)
        try:
            return function(*args, **kwargs)
        except Interrupted:
            raise
        except KeyboardInterrupt:
            message = "stopped by Ctrl-C"
            if not caller.has_begun_work:
                message += "; no model was asked and nothing was paid"
            raise Interrupted(message, hint="run the same command again") from None
        finally:
            _caller.reset(token)

    return call


def check_types(definition: Callable[..., object], values: Mapping[str, object]) -> None:
    """Raise ``UsageError`` for a value that is not of the annotated type of its argument or field."""
    for name, value in values.items():
        kind = _types_by_name(definition).get(name, Any)
        if not _fits(value, kind):
            raise UsageError(f"{name}={repr_in_brief(value)} is not possible", hint=f"give {_words_of(kind)}")


def _words_of(kind: Any) -> str:
    """Return an annotated type in words."""
    number, *others = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if kind is bool:
        return "True or False"
    if get_origin(number) is not Annotated:
        return re.sub(r"[a-z_]+[.]", "", inspect.formatannotation(kind))
    _, limit = get_args(number)
    return f"{limit.words}, or None" if others else str(limit.words)


@cache
def _types_by_name(definition: Callable[..., object]) -> dict[str, Any]:
    """Return name -> annotated type of arguments or fields; ``**kwargs: Unpack[T]`` gives the keys of ``T``."""
    kinds: dict[str, Any] = {}
    keyword_kinds: dict[str, Any] = {}
    for name, kind in get_type_hints(definition, include_extras=True).items():
        if get_origin(kind) is Unpack:
            (keywords,) = get_args(kind)
            keyword_kinds |= get_type_hints(keywords, include_extras=True)
        else:
            kinds[name] = kind
    return kinds | keyword_kinds


def _fits(value: object, kind: Any) -> bool:
    """Whether a value, and what a list or a dictionary holds, is of an annotated type."""
    origin = get_origin(kind) or kind
    parts = get_args(kind)
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is Annotated:
        number, limit = parts
        return (
            isinstance(value, Integral)
            and _fits(value, number)
            and limit.lowest <= int(value) <= limit.highest
        )
    if origin is Literal:
        return value in parts
    if origin is Any or getattr(origin, "_is_protocol", False):
        return True
    if origin is bool:
        return isinstance(value, bool) or _is_numpy_bool(value)
    if not isinstance(value, _ACCEPTED_TYPES.get(origin, origin)):
        return False
    members = value.values() if isinstance(value, Mapping) else value
    if origin in (Mapping, Sequence) and isinstance(members, Collection):
        return all(_fits(member, parts[-1]) for member in members)
    return True


def _is_numpy_bool(value: object) -> bool:
    """Whether a value is a truth value of numpy, which nobody has imported unless there is one."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.bool_)


def plural(count: int, name: str, several: str = "") -> str:
    """Return a count with its noun: ``1 row``, ``2 rows``; ``several`` is a plural other than the name with an s."""
    if count == 1:
        return f"{count} {name}"
    return f"{count} {several or f'{name}s'}"


def words_of_counts(counts: Mapping[str, int]) -> str:
    """Return counts in words: ``2 without a label, 1 without an input``; empty without any."""
    return ", ".join(f"{count} {reason}" for reason, count in counts.items())


_MANY = 12
"""Names above which a hint does not list them all beside the one that was probably meant."""


def suggest_name(name: str, names: Iterable[str], alternative: str = "") -> str:
    """Return the hint for an unknown name: the closest name, all of them unless they are many, and ``alternative``."""
    possible_names = list(names)
    if not possible_names:
        return f"use {alternative}" if alternative else "there is none"
    hint = ""
    close_names = difflib.get_close_matches(name, possible_names, n=1)
    if close_names:
        hint = f"did you mean {_listed(close_names[0])}?"
        if len(possible_names) > _MANY:
            return hint
        hint += " "
    listed_names = [_listed(possible_name) for possible_name in possible_names]
    listed_names.append(alternative)
    return f"{hint}use one of {', '.join(filter(None, listed_names))}"


def _listed(name: str) -> str:
    """Return a name as a hint lists it: a label as data, but an option of jurist, which has no blank, as it is."""
    return as_data(name) if " " in name else name


def suggest_file(path: Path, pattern: str) -> str:
    """Return ``did you mean F?`` for a missing file, if a file beside it has a similar name; else an empty text."""
    file_names = [file.name for file in path.parent.glob(pattern)]
    close_names = difflib.get_close_matches(path.name, file_names, n=1)
    if not close_names:
        return ""
    return f"did you mean {as_data(path.with_name(close_names[0]))}?"


def printable(text: str) -> str:
    """Return ``text`` fit for a terminal: controls and marks of direction are shown as ``\\x1b``; lines stay."""
    if text.isprintable():
        return text
    for mark in set(text):
        if _steers_terminal(mark):
            text = text.replace(mark, mark.encode("unicode_escape").decode("ascii"))
    return text


def _steers_terminal(mark: str) -> bool:
    """Whether a character controls a terminal. Line ends, tabs and joiners (of Persian, of emoji) do not count."""
    return mark not in "\n\t\u200c\u200d" and unicodedata.category(mark) in ("Cc", "Cf", "Cs", "Zl", "Zp")
