"""From stops to groups such as postcodes: a column of a list of places."""

from __future__ import annotations

import csv
from pathlib import Path

from noisegate.errors import DataError


def read_groups(path: Path | str, /, *, column: str = "postcode", stop: str | None = None) -> dict[str, str]:
    """The group of every stop in a CSV file with a header.

    Parameters
    ----------
    column
        The column with the group.
    stop
        The column with the stop's name, id or code; the first one if left out.
    """
    place = Path(path)
    try:
        with place.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            header = list(reader.fieldnames or [])
            key = stop or (header[0] if header else "")
            for name in (key, column):
                if name not in header:
                    raise DataError(
                        f"{str(place)!r} has no column {name!r}; it has {', '.join(header) or 'none'}."
                    )
            return {row[key].strip(): row[column].strip() for row in reader if row[key] and row[column]}
    except OSError as error:
        raise DataError(f"The list of places {str(place)!r} cannot be opened: {error.strerror}.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"The list of places {str(place)!r} is not UTF-8 text with commas.") from error
