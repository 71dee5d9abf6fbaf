"""Arrow arrays made from memory equal those that `pyarrow.array` makes, without loading pandas."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisegate.tables import arrow_numbers, arrow_texts


@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint64", "float64"])
@pytest.mark.parametrize("step", [1, 3])
def test_numbers(kind, step):
    values = np.arange(20).astype(kind)[::step]
    assert arrow_numbers(values).equals(pa.array(values))


def test_no_numbers():
    assert arrow_numbers(np.zeros(0, dtype=np.int64)).equals(pa.array([], pa.int64()))


@given(texts=st.lists(st.text()))
def test_texts(texts):
    found = arrow_texts(texts)
    found.validate(full=True)
    assert found.equals(pa.array(texts, pa.string()))


def test_pandas_stays_out():
    code = (
        "import sys, numpy as np; from noisegate.tables.table import arrow_numbers, arrow_texts; "
        "arrow_numbers(np.arange(3)), arrow_texts(['a']); sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
