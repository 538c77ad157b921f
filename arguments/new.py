"""What ``new`` takes."""

from .command import Command
from .groups import Form
from .options import option, positional


class NewOptions(Form):
    name: str = positional("NAME", help="of the judge: lower-case letters, digits and hyphens")
    source: str = option("--from", required=True, metavar="PROMPT", help="the prompt file")
    labels: str | None = option(
        "--labels", metavar="A,B", help="it answers with one of these, with commas between", exclusive="asked"
    )
    score: str | None = option(
        "--score",
        metavar="LOW-HIGH",
        help="it answers with a number: 1-5 is whole, 0.0-1.0 is not",
        exclusive="asked",
    )
    prefer: str | None = option(
        "--prefer", metavar="A,B", help="it says which of these two inputs is better", exclusive="asked"
    )
    positive: str = option(
        "--positive",
        "",
        metavar="B",
        help="what counts as found (default: the last of two labels; of more, all count alike)",
    )
    unit: str = option("--unit", "", metavar="INPUT", help="the input that is judged (default: the last one)")
    output: str | None = option("--output", metavar="F.py", help="the file to write (default: NAME.py)")


NEW = Command(
    name="new",
    does="new.run",
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
