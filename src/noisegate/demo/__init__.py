"""The whole story on an invented city: release as in 2016, take it apart, release it properly, try again."""

from __future__ import annotations

from noisegate.demo.recipes import measured_errors
from noisegate.demo.story import Chapter, Story, tell

__all__ = ["Chapter", "Story", "measured_errors", "tell"]
