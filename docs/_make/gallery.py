"""Make docs/gallery: twelve releases taken apart, each a page with a picture.

    python docs/_make/gallery.py [SLUG ...] [--data DIR] [--out DIR]

Writes a page and a picture for each, and `facts.json` with what the pages say. An item whose tables are not on this machine keeps what is
committed, and that is said.
"""  # noqa: INP001 - a script

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gallery_facts import facts_of
from gallery_items import Item, Workshop
from gallery_page import index_page, item_page
from gallery_real import REAL
from gallery_worlds import SIMULATED

from noisegate.pictures import save

DOCS = Path(__file__).resolve().parents[1]
DATA = DOCS.parents[1] / "shared" / "data"
ITEMS: tuple[Item, ...] = (*REAL, *SIMULATED)


def make(item: Item, workshop: Workshop, /, *, picture: Path | None = None) -> dict[str, Any]:
    """What the page of one item says; draws its picture if it is told where."""
    made = item.make(workshop)
    if picture is not None:
        save(made.picture, picture)
    facts = {"numbers": dict(made.numbers)} | facts_of(made.found, card=made.card)
    return dict(json.loads(json.dumps(facts)))


def read_facts(docs: Path = DOCS, /) -> dict[str, Any]:
    """What is committed."""
    kept = docs / "gallery" / "facts.json"
    return dict(json.loads(kept.read_text("utf-8"))) if kept.exists() else {}


def write_pages(facts: dict[str, Any], docs: Path, /) -> None:
    """All pages, from what is kept about them."""
    folder = docs / "gallery"
    known = [item for item in ITEMS if item.slug in facts]
    for item in known:
        (folder / f"{item.slug}.md").write_text(item_page(item, facts[item.slug]), "utf-8")
    (folder / "README.md").write_text(index_page(known, facts), "utf-8")


def main() -> None:
    """Make the items that were asked for, all by default."""
    parser = argparse.ArgumentParser(description="Make the gallery.")
    parser.add_argument("slugs", nargs="*", metavar="SLUG")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=DOCS)
    asked = parser.parse_args()
    known = {item.slug for item in ITEMS}
    if strange := set(asked.slugs) - known:
        parser.error(f"no item {', '.join(sorted(strange))}; there are {', '.join(sorted(known))}")
    (asked.out / "gallery").mkdir(parents=True, exist_ok=True)
    (asked.out / "images").mkdir(parents=True, exist_ok=True)
    facts = read_facts()
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(Path(folder), data=asked.data if asked.data.is_dir() else None)
        for item in ITEMS:
            if asked.slugs and item.slug not in asked.slugs:
                continue
            if why := item.missing(workshop.data):
                sys.stdout.write(f"{item.slug}: kept as committed, {why}\n")
                continue
            began = time.process_time()
            picture = asked.out / "images" / f"gallery-{item.slug}.svg"
            facts[item.slug] = make(item, workshop, picture=picture)
            sys.stdout.write(f"{item.slug}: {time.process_time() - began:.1f} s\n")
    text = json.dumps(
        {item.slug: facts[item.slug] for item in ITEMS if item.slug in facts}, indent=1, ensure_ascii=False
    )
    (asked.out / "gallery" / "facts.json").write_text(text + "\n", "utf-8")
    write_pages(facts, asked.out)


if __name__ == "__main__":
    main()
