"""Reading a release spec."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from noisegate.spec.document import Document, parse_document, read_document
from noisegate.spec.explain import explain
from noisegate.spec.model import ReleaseSpec


def load_spec(path: str | os.PathLike[str], /) -> ReleaseSpec:
    """The release spec in a YAML file.

    Relative paths in it start at the folder of the file. Whatever is wrong raises a `SpecError` of one
    sentence that names the file, the line and the key.
    """
    file = Path(path)
    return _checked(read_document(file), folder=file.resolve().parent)


def parse_spec(text: str | Mapping[str, Any], /, *, folder: Path, name: str = "spec") -> ReleaseSpec:
    """The release spec in YAML text or in a dictionary; relative paths start at `folder`."""
    if isinstance(text, str):
        return _checked(parse_document(text, name=name), folder=folder)
    return _checked(Document(name=name, data=dict(text), lines={}), folder=folder)


def _checked(document: Document, /, *, folder: Path) -> ReleaseSpec:
    try:
        return ReleaseSpec.model_validate(document.data, context={"folder": folder})
    except ValidationError as error:
        raise explain(error, document=document) from None
