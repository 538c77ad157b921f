"""A DSPy signature as Python source: its fields with their types, and the pydantic models that they need."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

import annotated_types

from ..errors import UsageError

if TYPE_CHECKING:
    import dspy

_BOUNDS = {
    annotated_types.Ge: "ge",
    annotated_types.Le: "le",
    annotated_types.Gt: "gt",
    annotated_types.Lt: "lt",
}
_PLAIN = (str, int, float, bool)


def signature_source(signature: type[dspy.Signature], name: str) -> str:
    """Return source that defines the signature under a name, and above it the models of its fields.

    It needs ``dspy``, ``BaseModel`` and ``Field`` of pydantic, ``Annotated`` and ``Literal``.
    """
    models: dict[str, str] = {}
    lines = [f"class {name}(dspy.Signature):", f"    {signature.instructions!r}", ""]
    for kind, fields in (("Input", signature.input_fields), ("Output", signature.output_fields)):
        for field, info in fields.items():
            about, written = {"desc": info.json_schema_extra["desc"]}, _annotation(info.annotation, models)
            bounds = _bounds(info, f"{name}.{field}")
            if (
                bounds and "constraints" not in info.json_schema_extra
            ):  # in the type, and not said in the prompt
                written = f"Annotated[{written}, Field({_arguments(bounds)})]"
            else:
                about |= bounds
            lines.append(f"    {field}: {written} = dspy.{kind}Field({_arguments(about)})")
    return "\n\n\n".join([*models.values(), "\n".join(lines)])


def _annotation(kind: Any, models: dict[str, str]) -> str:
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _PLAIN:
        return str(kind.__name__)
    if kind is type(None):
        return "None"
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, inner))}]"
    if origin in (Union, types.UnionType):
        return " | ".join(_annotation(one, models) for one in inner)
    if origin in (list, dict, tuple):
        return f"{origin.__name__}[{', '.join(_annotation(one, models) for one in inner)}]"
    if hasattr(kind, "model_fields"):
        if kind.__name__ not in models:
            models[kind.__name__] = _model(kind, models)
        return str(kind.__name__)
    raise _unwritable(str(kind))


def _model(model: Any, models: dict[str, str]) -> str:
    decorated = model.__pydantic_decorators__
    if (
        decorated.field_validators
        or decorated.model_validators
        or decorated.computed_fields
        or model.model_config
    ):
        raise _unwritable(f"the model {model.__name__} with code or settings of its own")
    lines = [f"class {model.__name__}(BaseModel):", f"    {model.__doc__ or ''!r}", ""]
    for field, info in model.model_fields.items():
        if not info.is_required():
            raise _unwritable(f"{model.__name__}.{field}, which may be left out")
        about = {**({"description": info.description} if info.description else {}), **_bounds(info, field)}
        lines.append(f"    {field}: {_annotation(info.annotation, models)} = Field({_arguments(about)})")
    return "\n".join(lines)


def _bounds(info: Any, place: str) -> dict[str, Any]:
    unknown = [rule for rule in info.metadata if type(rule) not in _BOUNDS]
    if unknown:
        raise _unwritable(f"{place} with the rule {unknown[0]}")
    return {_BOUNDS[type(rule)]: getattr(rule, _BOUNDS[type(rule)]) for rule in info.metadata}


def _arguments(about: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in about.items())


def _unwritable(what: str) -> UsageError:
    return UsageError(
        f"{what} cannot be written as a file that stands alone",
        hint="export it to messages, or load the artifact's program.json into the judge's own program",
    )
