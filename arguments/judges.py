"""What ``judges``, ``export`` and ``completion`` take."""

from .command import Command
from .groups import Form, NameOptions, Printed, asked_judge
from .options import flag, option, positional


class ExportOptions(NameOptions, Printed):
    judge: str = asked_judge()
    target: str = option(
        "--to",
        required=True,
        metavar="FORMAT",
        help="a target of docs/exports.md, such as messages, markdown or langchain, or a plug-in's",
    )
    output: str | None = option("--output", metavar="F", help="the file to write (default: standard output)")
    input: str | None = option(
        "--input", metavar="ROWS", help="rows, for a target that holds them and for --check"
    )
    model: str | None = option(
        "--model", metavar="M", help="who is to answer, for a target that holds requests"
    )
    check: bool = flag(
        "--check",
        help="load and fill the export as its target does, and compare with what the judge sends for your rows "
        "(default: rows of braces, markup, roles and other traps)",
    )


class CompletionOptions(Form):
    shell: str = positional("SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")


JUDGES = Command(name="judges", does="catalogue.judges", options=Form, help="The catalogue of judges.")
EXPORT = Command(
    name="export",
    does="export.run",
    options=ExportOptions,
    help="Write a judge's prompt for another system.",
    examples="""\
examples:
  jurist export fect --to messages --output fect.json
  jurist export cognibench@1 --to markdown
  jurist export fect --to openai-batch --input claims.jsonl --model openai/gpt-4.1-mini --output batch.jsonl
  jurist export fect --to langchain --check --input claims.jsonl
""",
)
COMPLETION = Command(
    name="completion",
    does="completion.run",
    options=CompletionOptions,
    help="Print what makes a shell complete jurist's commands and options.",
    examples="""\
examples:
  pip install 'jurist[completion]'
  jurist completion bash >> ~/.bashrc
  jurist completion zsh >> ~/.zshrc
  jurist completion fish > ~/.config/fish/completions/jurist.fish
""",
)
