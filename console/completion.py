"""``jurist completion``."""

from ..arguments.judges import CompletionOptions
from ..errors import JuristError
from .printing import Result, Verbatim


def run(options: CompletionOptions) -> Result:
    """Return what makes a shell complete jurist's commands and options."""
    try:
        from argcomplete.shell_integration import shellcode
    except ImportError as error:
        raise JuristError(
            "completion needs argcomplete, which is not installed", hint="pip install 'jurist[completion]'"
        ) from error
    code = shellcode(["jurist"], shell=options.shell)
    return Result(data={"shell": options.shell, "code": code}, body=[Verbatim(code)])
