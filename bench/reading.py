"""How long a downloaded workbook takes to read, beside its cells alone.

    python bench/reading.py

The workbook of Stats NZ (55 sheets, 3.7 MB; `../shared/data`, nothing is measured where it is missing), by `read_sources`, and by python-calamine, which gives the values of all cells and does not
ask what they mean: the least that reading it can take. Processor seconds, least of three; 2 were asked for the first on an idle machine.
"""

import time
from pathlib import Path

BOOK = Path(__file__).parents[2] / "shared/data/official/nz2013/2013-census-electorate-tables.xlsx"


def run():
    """One row for each way of reading."""
    from python_calamine import CalamineWorkbook

    from noisegate.reading import read_sources

    def cells():
        book = CalamineWorkbook.from_path(str(BOOK))
        return [book.get_sheet_by_name(name).to_python() for name in book.sheet_names]

    if not BOOK.exists():
        return []
    rows = []
    for way, read in (("calamine, cells alone", cells), ("read_sources", lambda: read_sources(BOOK))):
        spent = []
        for _ in range(3):
            began = time.process_time()
            read()
            spent.append(time.process_time() - began)
        rows.append(
            {"way": way, "megabytes": round(BOOK.stat().st_size / 1e6, 1), "cpu_s": round(min(spent), 2)}
        )
    return [row | {"ratio": round(row["cpu_s"] / rows[0]["cpu_s"], 1)} for row in rows]


if __name__ == "__main__":
    for row in run():
        print(row)
