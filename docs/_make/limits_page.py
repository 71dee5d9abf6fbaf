"""The table of limits, read from `noisegate.limits`."""  # noqa: INP001 - a folder of scripts

from __future__ import annotations

from dataclasses import fields

from markdown import code, page, table

from noisegate import limits

_BODY = """\
How much of anything is held, counted, read or simulated before the tool refuses or takes another way. Limits bound memory and time;
none of them changes what is true. Refused means: exit code 2 (in Python an error of `noisegate.errors`), one sentence that says what to do,
and nothing written or spent. On a larger machine, set one for a while:

```python
from noisegate import limits

with limits.override(inferred_cells=50_000_000):
    ...
```
"""


def limits_page() -> str:
    """`limits.md`: every limit with its value and what it bounds."""
    rows = [
        (
            code(one.name),
            f"{getattr(limits.current(), one.name):,}",
            limits.help_of(one.name),
            limits.beyond(one.name),
        )
        for one in fields(limits.Limits)
    ]
    return page("Limits", f"{_BODY}\n{table(('Name', 'Value', 'At most so many', 'Beyond that'), rows)}")
