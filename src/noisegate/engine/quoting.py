"""Names and texts as SQL writes them."""

from noisegate.columns import literal, quoted

__all__ = ["literal", "quoted"]
