"""The names that DSPy does not export: every other module takes them from here, so that a new DSPy is a change here.

What ``dspy`` and ``dspy.lm15`` export is public, and is imported from there. A test holds all modules to this.
"""

import dspy
from dspy.adapters.utils import apply_output_field_defaults as apply_output_field_defaults
from dspy.adapters.utils import format_field_value as format_field_value
from dspy.adapters.utils import get_annotation_name as get_annotation_name
from dspy.adapters.utils import parse_value as parse_value
from dspy.adapters.utils import serialize_for_json as serialize_for_json
from dspy.clients.backend_selection import select_backend as select_backend
from dspy.clients.costs import estimate_cost as estimate_cost
from dspy.clients.errors import error_boundary as error_boundary
from dspy.clients.model_metadata import model_info as model_info
from dspy.clients.model_metadata import rate as rate
from dspy.teleprompt import Teleprompter as Teleprompter
from dspy.teleprompt.gepa.instruction_proposal import InstructionProposer as InstructionProposer
from dspy.utils.callback import BaseCallback as BaseCallback
from dspy.utils.saving import get_dependency_versions as get_dependency_versions

_ATTRIBUTES = {
    "metric": "metric_fn",  # of GEPA, as the two below
    "instruction_proposer": "custom_instruction_proposer",
    "code_proposer": "custom_code_proposer",
    "max_bootstrapped_demos": "max_num_samples",  # of BootstrapFewShotWithRandomSearch, as the one below
    "num_candidate_programs": "num_candidate_sets",
}
"""Parameter of a constructor -> the attribute that keeps its value, where that is called otherwise."""


def argument_of(optimizer: Teleprompter, parameter: str) -> object:
    """Return the value that an optimizer was constructed with; raises ``AttributeError`` if it keeps none."""
    if hasattr(optimizer, parameter):
        return getattr(optimizer, parameter)
    return getattr(optimizer, _ATTRIBUTES.get(parameter, parameter))


def keep_from_optimizers(module: dspy.Module) -> None:
    """Let DSPy's optimizers leave the predictors of a module as they are, wherever it is a part of a program."""
    module._compiled = True


class UnboundJSONAdapter(dspy.JSONAdapter):
    """DSPy's JSON adapter, which asks the endpoint for no format of the response."""

    def _prepare_response_format(self, lm: object, lm_kwargs: object, signature: object) -> None:
        """Leave the request as it is: the channel finds out what the endpoint takes."""
