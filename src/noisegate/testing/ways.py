"""Ways to publish a world: as in 2016, with noise of other kinds, exactly with hidden ranges, rounded, or as a release with its card.

>>> import numpy as np
>>> world = publish_world("lognormal", "derive", rng=np.random.default_rng(1), rows=6, columns=8)
>>> world.release.card.margins, world.counts.shape
('derive', (48,))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from noisegate.engine import Counts, Tally
from noisegate.errors import SpecError
from noisegate.laws import (
    DiscreteGaussian,
    DiscreteLaplace,
    Laplace,
    PointMass,
    RandomRounding,
    SeededNoise,
    as_rng,
)
from noisegate.mechanisms import Mechanism
from noisegate.reading import assemble
from noisegate.releases import make_card, make_plan, publish_tables
from noisegate.spec import parse_spec
from noisegate.tables import Release
from noisegate.testing.count_laws import COUNT_LAWS
from noisegate.testing.worlds import BASE, LinkedWorld, make_world, recipe_2016

_EXACT = Mechanism(law=PointMass(), zeros="perturb")


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How tables are published: by mechanisms, or, if `privacy` says so, as a release that a spec describes."""

    base: Mechanism = _EXACT
    margin: Mechanism = _EXACT
    privacy: Mapping[str, Any] = field(default_factory=dict)


#: Ways to publish the same counts. Those with `privacy` have a card; of the others the mechanisms are known.
WAYS: Mapping[str, Way] = {
    "as in 2016": Way(base=recipe_2016(threshold=18), margin=recipe_2016(threshold=35)),
    "independent": Way(
        base=Mechanism(law=DiscreteLaplace(2.0), threshold=12, rule="ge", zeros="perturb"),
        margin=Mechanism(law=DiscreteLaplace(2.0), zeros="perturb"),
    ),
    "gaussian": Way(
        base=Mechanism(law=DiscreteGaussian(2.5), threshold=12, rule="ge", zeros="perturb"),
        margin=Mechanism(law=DiscreteGaussian(2.5), zeros="perturb"),
    ),
    "exact margins": Way(
        base=Mechanism(law=Laplace(1.4), threshold=18, rounding="nearest", cut="before"), margin=_EXACT
    ),
    "exact with ranges": Way(base=Mechanism(law=PointMass(), threshold=5, rule="ge"), margin=_EXACT),
    "random rounding": Way(
        base=Mechanism(law=RandomRounding(3), zeros="perturb"),
        margin=Mechanism(law=RandomRounding(3), zeros="perturb"),
    ),
    "derive": Way(privacy={"scale": 2, "margins": "derive", "suppress": {"below": 18}}),
    "reconcile": Way(privacy={"epsilon": 2, "margins": "reconcile", "suppress": {"below": 12}}),
    "independent, with a card": Way(
        privacy={"epsilon": 2, "margins": "independent", "suppress": {"below": 12}, "unsafe": True}
    ),
}


def publish_world(
    law: str,
    way: str,
    /,
    *,
    rng: np.random.Generator,
    rows: int = 40,
    columns: int = 24,
    unlisted: int = 0,
    closed: float = 0.0,
    rows_alone: bool = False,
) -> LinkedWorld:
    """A grid of counts by one of `COUNT_LAWS`, `SPARSE_LAWS` or `CROSSED_LAWS`, published by one of `WAYS` with totals of rows and of columns, or of rows alone."""
    if way not in WAYS:
        raise SpecError.for_choice("way", found=way, allowed=tuple(WAYS))
    made, generator = WAYS[way], as_rng(rng)
    margins = {"by-row": ["row"], **({} if rows_alone else {"by-column": ["column"]})}
    world = make_world(
        {"row": rows, "column": columns},
        margins=margins,
        mechanism={BASE: made.base, **dict.fromkeys(margins, made.margin)},
        law=law,
        unlisted=unlisted,
        closed=closed,
        rng=generator,
    )
    if not made.privacy:
        return world
    if unlisted:
        raise SpecError("a release lists every cell that its totals count; publish it without unlisted ones.")
    return release_world(world, made.privacy, rng=generator)


def release_world(
    world: LinkedWorld, privacy: Mapping[str, Any], /, *, rng: np.random.Generator
) -> LinkedWorld:
    """The counts of a world as `noisegate release` would publish them: its tables and its card, in memory.

    `privacy` is that block of a spec; its unit is an event unless it says otherwise.
    """
    spec = parse_spec(
        {
            "name": "world",
            "events": {"source": "none.parquet", "person": "person"},
            "dimensions": {
                d.name: {"column": d.name, "values": list(d.labels)} for d in world.domain.dimensions
            },
            "tables": {
                BASE: list(world.domain.names),
                **{name: list(margin.domain.names) for name, margin in world.margins.items()},
            },
            "privacy": {"unit": "event", **privacy},
        },
        folder=Path(),
    )
    plan, cells = make_plan(spec), np.flatnonzero(world.counts)
    tally = Tally(events=int(world.counts.sum()), outside={})
    counts = Counts(cells=cells, raw_counts=world.counts[cells], tally=tally)
    tables = publish_tables(plan, counts, entropy=SeededNoise(seed=int(as_rng(rng).integers(2**31))))
    rows = {name: len(table.cells) for name, table in tables.items()}
    card = make_card(plan, rows=rows, dataset=None, reservation="none", simulated=True)
    release = assemble(card, lambda stated, _: (tables[stated.name].cells, tables[stated.name].values))
    return _as_shown(world, release)


def _as_shown(world: LinkedWorld, release: Release, /) -> LinkedWorld:
    """The world with what the tables of a release show."""
    published, mechanisms = {}, {}
    for table in release.tables:
        values, shown = table.filled()
        missing = 0.0 if table.threshold.value is None else np.nan
        published[table.name] = np.where(shown, values.astype(np.float64), missing)
        made = table.mechanism or release.base.mechanism
        assert made is not None
        mechanisms[table.name] = made.mechanism
    return LinkedWorld(
        domain=release.domain,
        margins={table.name: table.margin for table in release.margins if table.margin is not None},
        counts=world.counts,
        mechanisms=mechanisms,
        published=published,
        zero=world.zero,
        release=release,
    )


#: Worlds that engines are judged on: nine laws of counts, and shapes that are none of a city's. What `publish_world` is called with.
CASES: Mapping[str, Mapping[str, Any]] = {
    **{law: {"law": law} for law in COUNT_LAWS},
    "villages": {"law": "villages", "rows": 3, "columns": 4_000, "rows_alone": True},
    "rural": {"law": "rural"},
    "remainder": {"law": "negative binomial", "unlisted": 5},
    "structural zeros": {"law": "negative binomial", "closed": 0.3},
    "busy corner": {"law": "busy corner"},
    "busy corner by rows": {"law": "busy corner", "rows_alone": True},
    "two shifts by rows": {"law": "two shifts", "rows_alone": True},
}


def publish_case(case: str, way: str, /, *, rng: np.random.Generator, **size: int) -> LinkedWorld:
    """One of `CASES`, published by one of `WAYS`; `size` makes it larger or smaller."""
    if case not in CASES:
        raise SpecError.for_choice("case", found=case, allowed=tuple(CASES))
    said = {**CASES[case], **size}
    return publish_world(said.pop("law"), way, rng=rng, **said)


def can_be_published(case: str, way: str, /) -> bool:
    """Whether a way can publish a case: a release with a card lists every cell that its totals count."""
    return not (WAYS[way].privacy and CASES[case].get("unlisted"))
