"""A judge of pictures: does a picture show what the caption says? See docs/images.md."""

from typing import Literal

import dspy

import jurist


class MatchPhoto(dspy.Signature):
    """Say whether a photo shows what the caption says."""

    photo: dspy.Image = dspy.InputField()
    caption: str = dspy.InputField()
    verdict: Literal["match", "differs"] = dspy.OutputField()


judge = jurist.Judge(name="photo-match", signature=MatchPhoto, positive="differs")
