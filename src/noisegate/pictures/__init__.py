"""Pictures, drawn with Altair and written offline as SVG, PNG or HTML."""

from __future__ import annotations

from noisegate.pictures.canvas import save
from noisegate.pictures.mechanism import detection_picture, mechanism_picture, response_picture
from noisegate.pictures.noise import differences_picture
from noisegate.pictures.posterior import posterior_picture

__all__ = [
    "detection_picture",
    "differences_picture",
    "mechanism_picture",
    "posterior_picture",
    "response_picture",
    "save",
]
