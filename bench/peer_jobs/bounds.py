"""Ranges of hidden cells of one table with exact totals: `--jj` by the audit of pytauargus, `--lp` by two linear programmes a cell (HiGHS)."""

import json
import sys
from pathlib import Path

if "--jj" in sys.argv:
    from pytauargus.engine import audit_jj

    rows = audit_jj("table.jj")
    found = {int(row["cell"]): [row["min"], row["max"]] for row in rows}
else:
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    table = json.loads(Path("table.json").read_text())
    equations, values, hidden = table["equations"], table["values"], table["hidden"]
    open_at = {cell: k for k, cell in enumerate(hidden)}
    sums, lines, columns, signs = [], [], [], []
    for k, members in enumerate(equations):
        sums.append(-sum(sign * values[cell] for cell, sign in members if cell not in open_at))
        for cell, sign in members:
            if cell in open_at:
                lines.append(k)
                columns.append(open_at[cell])
                signs.append(sign)
    matrix = csr_array((signs, (lines, columns)), shape=(len(equations), len(hidden)))
    box = [(table["least"], table["most"])] * len(hidden)
    found = {}
    for cell, k in open_at.items():
        ends = []
        for sign in (1, -1):
            aim = np.zeros(len(hidden))
            aim[k] = sign
            ends.append(sign * linprog(aim, A_eq=matrix, b_eq=sums, bounds=box, method="highs").fun)
        found[cell] = ends
Path("bounds.json").write_text(json.dumps(found))
