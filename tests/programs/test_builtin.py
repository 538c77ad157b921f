"""Lists of the built-in judges say what the judges themselves say, and need no DSPy for it."""

import subprocess
import sys

from jurist.programs.builtin import builtin_descriptions, describe_judge
from jurist.programs.catalogue import CATALOGUE, GENERATORS


def test_descriptions_are_those_of_the_judges() -> None:
    hint = "write the file anew with .ci/builtin"
    assert builtin_descriptions("judges") == [describe_judge(judge) for judge in CATALOGUE.values()], hint
    assert builtin_descriptions("generators") == [describe_judge(one) for one in GENERATORS.values()], hint


def test_lists_import_nothing_that_computes_or_asks() -> None:
    code = (
        "import sys\n"
        "from jurist.cli import main\n"
        "assert main(['judges']) == 0\n"
        "assert main(['artifacts', 'list']) == 0\n"
        "heavy = {'dspy', 'numpy', 'scipy', 'sklearn', 'openai', 'aiohttp'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
