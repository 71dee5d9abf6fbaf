"""What every test shares: floating-point mistakes are errors, and where the real data lies."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# Machines differ in speed: an example may take as long as it needs, and there are not too many.
settings.register_profile("noisegate", deadline=None, max_examples=60)
settings.load_profile("noisegate")


@pytest.fixture(autouse=True)
def strict_floats():
    with np.errstate(divide="raise", over="raise", invalid="raise", under="ignore"):
        yield


@pytest.fixture(scope="session")
def shared_data():
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real tables (../shared/data) are not on this machine")
    return folder
