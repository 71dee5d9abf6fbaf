"""The examples in the docstrings of the margins package."""

import doctest
import importlib
import pkgutil

import pytest

import noisegate.margins as package

MODULES = [f"{package.__name__}.{found.name}" for found in pkgutil.iter_modules(package.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_public_names_are_sorted_and_exist():
    assert package.__all__ == sorted(
        package.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name)
    )
    assert all(hasattr(package, name) for name in package.__all__)
