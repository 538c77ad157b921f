"""Images among a judge's inputs: how rows give them, and how they are sent."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import pydantic
from pydantic_core import PydanticCustomError

from ..text.images import ImageError, ImageReference, read_image

_JSON_SCHEMA: Final = {
    "type": "string",
    "description": "an image: data:image/png;base64,... or an address that begins with https://",
}


@dataclass(frozen=True)
class ImageFolder:
    """The folder to which the paths of images are relative, as the context of a validation by pydantic."""

    folder: Path | None  # ``None`` where paths are refused


def _read_image_input(value: object, info: pydantic.ValidationInfo) -> ImageReference:
    """Return the reference of an image that a row holds; without an :class:`ImageFolder`, paths are refused."""
    folder = None
    if isinstance(info.context, ImageFolder):
        folder = info.context.folder
    try:
        return read_image(value, folder)
    except ImageError as error:
        raise PydanticCustomError("image", "{why}", {"why": str(error)}) from error


ImageInput = Annotated[Any, pydantic.PlainValidator(_read_image_input), pydantic.WithJsonSchema(_JSON_SCHEMA)]
"""The type of a row's field that holds an image."""


def with_images(inputs: Mapping[str, object]) -> Mapping[str, object]:
    """Return a program's inputs with DSPy's images in the place of references; other inputs stay as they are.

    Raises:
        ImageError: a file cannot be read any more, or holds another image.
    """
    images: dict[str, object] = {}
    for name, value in inputs.items():
        if isinstance(value, ImageReference):
            import dspy  # only judges with images come here

            images[name] = dspy.Image(value.address())
    if not images:
        return inputs
    return {**inputs, **images}
