"""Questions to a published release: totals with honest intervals."""

from __future__ import annotations

from noisegate.query.answers import Answers
from noisegate.query.published import assemble, read_release
from noisegate.query.release import OpenRelease, open_release

__all__ = ["Answers", "OpenRelease", "assemble", "open_release", "read_release"]
