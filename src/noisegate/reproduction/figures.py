"""The report's figures, drawn again, and two that it lacks."""

from __future__ import annotations

from pathlib import Path

from noisegate.laws import RoundedLaplace
from noisegate.mechanisms import second_algorithm
from noisegate.pictures import (
    Responses,
    differences_of,
    differences_picture,
    groups_of,
    groups_picture,
    posterior_picture,
    response_picture,
    save,
)
from noisegate.places import new_directory
from noisegate.reproduction.item import SCALE
from noisegate.reproduction.linked import posterior
from noisegate.reproduction.noise import simulated_pairs


def write_figures(folder: Path, /) -> list[Path]:
    """Write all figures as SVG into `folder`, which must not exist, and return their paths."""
    first, second = simulated_pairs(), simulated_pairs(seed=2018)
    law = RoundedLaplace(SCALE).difference()
    pictures = {
        "figure-1-differences": differences_picture(
            differences_of(first[0] - first[1], law, title="4,000 simulated sailings, p = 1.4: on minus off")
        ),
        "figure-2-responses": response_picture(
            Responses(mechanism=second_algorithm(scale=1.0), counts=[0, 17, 20])
        ),
        "figure-3-differences-and-simulation": differences_picture(
            differences_of(
                first[0] - first[1],
                law,
                simulated=second[0] - second[1],
                title="Differences, their law, and a second simulation",
            )
        ),
        "detection-by-group": groups_picture(groups_of(second_algorithm(), range(1, 18))),
        "cremorne-point": posterior_picture(
            {
                "residual and suppression": posterior(censored=True),
                "residual alone": posterior(censored=False),
            },
            printed=(17.02, 18.98),
            title="Tap-offs at Cremorne Point, 12 August 2016, 00:00",
        ),
    }
    with new_directory(folder) as staging:
        for name, picture in pictures.items():
            save(picture, staging / f"{name}.svg")
    return [folder / f"{name}.svg" for name in pictures]
