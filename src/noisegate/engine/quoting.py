"""Names and texts as SQL writes them."""

from noisegate.columns.queries import literal, quoted

__all__ = ["literal", "quoted"]
