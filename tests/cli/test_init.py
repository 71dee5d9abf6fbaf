"""`noisegate init`: a draft from the columns, which answers nothing that is private to decide."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisegate.errors import SpecError
from noisegate.spec import load_spec

ANSWERS = {
    "population: ??": "population: cards",
    "unit: ??": "unit: person-day",
    "max_cells: ??": "max_cells: 2",
    "epsilon: ??": "epsilon: 1",
    "from: ??, to: ??": "from: 2016-07-25, to: 2016-07-26",
    "values: ??": "values: [A, B]",
}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_draft_names_the_columns_and_is_refused_until_it_is_answered(kind, tmp_path, noisegate):
    rows = {"card_id": ["c1"], "tapped_at": ["2016-07-25 08:00:00"], "stop name": ["Secret Lane"]}
    file = tmp_path / f"taps.{kind}"
    if kind == "csv":
        file.write_text("card_id,tapped_at,stop name\nc1,2016-07-25 08:00:00,Secret Lane\n")
    else:
        pq.write_table(pa.table(rows), file)
    spec = tmp_path / "spec.yaml"
    code, out, _ = noisegate("init", file, "--out", spec)
    assert code == 0
    assert "Answer each ??" in out
    text = spec.read_text()
    assert "Secret" not in text
    assert "person: card_id" in text
    with pytest.raises(SpecError):
        load_spec(spec)
    for asked, answer in ANSWERS.items():
        assert asked in text
        text = text.replace(asked, answer)
    assert "??" not in text.partition("\n")[2]
    spec.write_text(text)
    assert list(load_spec(spec).dimensions) == ["tapped_at-date", "tapped_at-time", "stop-name"]
    assert noisegate("release", spec, "--check")[0] == 0
