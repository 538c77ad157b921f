"""What ``judges``, ``new``, ``export`` and ``completion`` take."""

from .command import Command
from .groups import Form, NameOptions, Printed, asked_judge
from .options import flag, option, positional


class ExportOptions(NameOptions, Printed):
    judge: str = asked_judge()
    target: str = option(
        name="--to",
        required=True,
        metavar="FORMAT",
        help="a target of docs/exports.md, such as messages, markdown or langchain, or a plug-in's",
    )
    output: str | None = option(metavar="F", help="the file to write (default: standard output)")
    input: str | None = option(metavar="ROWS", help="rows, for a target that holds them and for --check")
    model: str | None = option(metavar="M", help="who is to answer, for a target that holds requests")
    check: bool = flag(
        help="load and fill the export as its target does, and compare with what the judge sends for your rows "
        "(default: rows of braces, markup, roles and other traps)"
    )


class CompletionOptions(Form):
    shell: str = positional("SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")


JUDGES = Command(name="judges", does="catalogue.judges", options=Form, help="The catalogue of judges.")
EXPORT = Command(
    name="export",
    does="catalogue.export_",
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
    does="catalogue.completion",
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


class NewOptions(Form):
    name: str = positional("NAME", help="of the judge: lower-case letters, digits and hyphens")
    source: str = option(name="--from", required=True, metavar="PROMPT", help="the prompt file")
    labels: str | None = option(
        metavar="A,B", help="it answers with one of these, with commas between", exclusive="asked"
    )
    score: str | None = option(
        metavar="LOW-HIGH", help="it answers with a number: 1-5 is whole, 0.0-1.0 is not", exclusive="asked"
    )
    prefer: str | None = option(
        metavar="A,B", help="it says which of these two inputs is better", exclusive="asked"
    )
    positive: str = option(
        "",
        metavar="B",
        help="what counts as found (default: the last of two labels; of more, all count alike)",
    )
    unit: str = option("", metavar="INPUT", help="the input that is judged (default: the last one)")
    output: str | None = option(metavar="F.py", help="the file to write (default: NAME.py)")


NEW = Command(
    name="new",
    does="catalogue.new",
    options=NewOptions,
    help="""\
Make a judge of a prompt that you have: text, Jinja2, messages in JSON, a LangSmith, MLflow or promptfoo prompt
(its rubricPrompt, if it has one).
Its variables become the inputs, its text the instruction; the file is yours to read and change.
""",
    examples="""\
examples:
  jurist new may-answer --from prompt.md --labels yes,no --positive no
  jurist new helpful --from prompt.md --score 1-5
  jurist new better --from pair.md --prefer reply_a,reply_b
  jurist compile may_answer.py:judge --gold labels.csv
  jurist compare may-answer may-answer:basic --gold labels.csv      # against the prompt that you had
  jurist export may-answer --to langchain
""",
)
