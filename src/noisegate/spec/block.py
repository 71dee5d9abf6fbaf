"""What every block of keys in a spec shares: frozen, and no key that nobody knows."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from noisegate.spec.fields import did_you_mean, refusal, shown


class SpecBlock(BaseModel):
    """A frozen block of keys; a key it does not know is refused with the nearest one it does.

    A key with nothing after it counts as not given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            raise refusal(f"must be a block of keys ({', '.join(cls.known_keys())}), got {shown(data)}")
        unknown = [key for key in data if key not in cls.known_keys()]
        if unknown:
            key = str(unknown[0])
            hint = did_you_mean(key, cls.known_keys()) or f"; known here: {', '.join(cls.known_keys())}"
            raise refusal(f"is not a known key{hint}", at=[key], more=len(unknown) - 1)
        return {key: value for key, value in data.items() if value is not None}

    @classmethod
    def known_keys(cls) -> list[str]:
        """The keys as they are written in a spec."""
        return [field.alias or name for name, field in cls.model_fields.items()]
