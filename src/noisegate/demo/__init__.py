"""The whole story on an invented city: release as in 2016, take it apart, release it properly, try again."""

from noisegate.demo.story import Chapter, Story, tell

__all__ = ["Chapter", "Story", "tell"]
