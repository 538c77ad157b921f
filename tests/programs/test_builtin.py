"""Lists of the built-in judges say what the judges themselves say, and need no DSPy for it."""

import subprocess
import sys
from dataclasses import replace

from pydantic import TypeAdapter

from jurist.programs.builtin import builtin_descriptions, describe_judge
from jurist.programs.catalogue import CATALOGUE, GENERATORS


def test_descriptions_are_those_of_the_judges() -> None:
    hint = "write the file anew with .ci/builtin"
    assert builtin_descriptions("judges") == [describe_judge(judge) for judge in CATALOGUE.values()], hint
    assert builtin_descriptions("generators") == [describe_judge(one) for one in GENERATORS.values()], hint


def test_judges_and_generators_stand_under_their_names() -> None:
    for catalogue in (CATALOGUE, GENERATORS):
        assert [judge.name for judge in catalogue.values()] == list(catalogue)


def test_judges_declared_without_their_signatures_are_those_with_them() -> None:
    declared = [judge for judge in CATALOGUE.values() if "_own_signature" in vars(judge)]
    assert declared
    for judge in declared:
        assert tuple(judge.signature.input_fields) == judge.input_fields
        made_again = replace(judge)
        assert made_again.row_model.model_json_schema() == judge.row_model.model_json_schema()
        # The judge is made again of the signature itself: it is checked, and the answer is read.
        assert replace(judge) == judge


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


PARTS_OF_OUTPUTS = {
    "Constraint": "One condition that a query sets.",
    "FactOrTier": "The statement of one numbered sentence: a fact, or something of a tier.",
    "Judgement": "The judgement of a response on one numbered constraint.",
    "StageTag": "The tag of one numbered sentence by the first stage.",
    "Tag": "The label of one numbered sentence.",
    "TierTag": "The tier of one numbered sentence.",
    "Unit": "One statement of a claim, or a relation between statements, and whether it was verified.",
}
"""Model of an output's part -> its docstring, which stands in the prompt: another one is another prompt."""


def test_prompts_describe_the_parts_of_outputs_in_these_words() -> None:
    descriptions = {}
    for judge in (*CATALOGUE.values(), *GENERATORS.values()):
        for predictor in judge.basic().predictors():
            for field in predictor.signature.output_fields.values():
                schema = TypeAdapter(field.annotation).json_schema()
                for name, definition in schema.get("$defs", {}).items():
                    descriptions[name] = definition.get("description")
    assert descriptions == PARTS_OF_OUTPUTS
