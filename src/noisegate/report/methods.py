"""Each kind of finding in words: what it means for somebody who decides, and how it is worked out."""

from __future__ import annotations

from collections.abc import Mapping

#: What is said of a kind of finding that is not listed.
GENERAL = "Worked out from the published tables alone; the evidence and the numbers say how far it carries."

METHODS: Mapping[str, str] = {
    "noise-recovered": (
        "Some raw counts are published twice, or add up to another one. The difference of such counts holds nothing but "
        "noise. Its law, scale and rounding are fitted by maximum likelihood on whole numbers; differences that are cut "
        "off by suppression and a share of counts that do not match are part of the model. The interval is the set of "
        "scales that a likelihood-ratio test does not reject. Identities that do not hold are refused, not averaged in."
    ),
    "no-noise": (
        "Counts that must be equal in the raw data are compared. If every pair agrees to the last digit, noise of any "
        "useful size is ruled out."
    ),
    "card-disagrees": (
        "What the card states (least count shown, law, scale, rule for zeros) is compared with what the tables show. A "
        "scale disagrees only when it lies well outside the recovered interval."
    ),
    "coupled-cells": (
        "Every series of counts is compared with every other one at constant lags. A pair is reported when the two track "
        "each other far more closely than different counts could, after allowing for the number of pairs tried. The gain "
        "compares the spread of the raw count given one record with that given both."
    ),
    "privacy-loss": (
        "One event is in every table that was perturbed on its own; each adds its own loss. The loss of a person is that "
        "of as many events as stated, first in the worst case, then by exact composition of the privacy loss "
        "distributions. Neighbours differ by one event added or removed, unless it says otherwise."
    ),
    "independent-margins": (
        "Each row of the coarser table is compared with the sum of the finer cells it stands for. Sums of published cells "
        "that exceed their own total, or complete rows that do not add up, show noise drawn separately for each table."
    ),
    "zeros-kept": (
        "If empty cells get no noise, a published value rules out an empty cell. The chance of that is the exact upper "
        "tail of the noise above the cut. Whether zeros are kept is tested on cells that a small total shows to be empty, "
        "or read from the card."
    ),
    "pinned-cells": (
        "Every suppressed cell gets a posterior from all linked tables together: its own suppression, the totals it is in, "
        "and the cells published beside it. A cell is pinned when the interval of that posterior is narrow."
    ),
    "presence": (
        "From the posterior of each suppressed cell: the probability that it is empty. Where that is below one in a hundred, "
        "the tables show that somebody was there although the cell itself was withheld."
    ),
    "missing-taps": (
        "Where a total exceeds the cells published beside it, somebody is missing. The vehicles that call at each suppressed "
        "cell, and how early or late they may run, say which cell the missing taps can belong to; the probabilities of all "
        "candidates add up to one."
    ),
    "vehicle-unique-cells": (
        "Published places are matched to the stops of the timetable. For every cell, the vehicles that call there in its "
        "time bin are counted, with a tolerance for early and late running. A cell that only one vehicle can have filled "
        "tells about that vehicle, however wide the bin."
    ),
    "dropped-rows": (
        "The public domain says how many rows are possible; those that are absent were dropped. The share of trips behind "
        "them follows from the linked totals. A stated share is checked by plain arithmetic: it must be a whole number of rows."
    ),
    "more-weeks": (
        "For somebody who comes back every week, the chance of showing at least once is that of one week, repeated. Repeated "
        "differences average, so an interval shrinks with the root of the weeks. Losses add up, in the worst case and by "
        "exact composition."
    ),
    "microdata": (
        "With the raw events at hand: how many persons are the only ones with one, two, three or four known places and "
        "times. This is why linked trips are not fit for release."
    ),
    "utility": (
        "Each query is put to the raw events as it is asked, to the cells that are published, to these after bounding, with "
        "noise, and as published. The error of each step is the change it makes; the changes add up."
    ),
}

#: The same in one sentence without a number, for somebody who has two minutes.
PLAIN: Mapping[str, str] = {
    "noise-recovered": "How the noise was made can be worked out from the tables, so it might as well be published.",
    "no-noise": "The counts carry no noise.",
    "card-disagrees": "The tables are not what their card says.",
    "coupled-cells": "Some people are counted in two published places, so their number is known more sharply than intended.",
    "privacy-loss": "The noise hides single events, but much less the people behind many of them.",
    "independent-margins": "Totals and their parts were perturbed separately, and differences between them give things away.",
    "zeros-kept": "A published count proves that somebody was there.",
    "pinned-cells": "Some counts that were withheld can be told from the totals they are in.",
    "presence": "For cells that were withheld, the tables often show that somebody was there.",
    "missing-taps": "With the timetable, what a total holds beyond its cells can be traced to one stop.",
    "vehicle-unique-cells": "At quiet hours, a published count can be that of a single vehicle.",
    "dropped-rows": "Something that was stated about dropped rows cannot be right.",
    "more-weeks": "The risks grow with every further week that is released.",
    "microdata": "Trips that are linked to persons could not be protected by these means.",
    "utility": "Some questions that the release was made for are answered badly, or not at all.",
}


def plain_of(kind: str, title: str, /) -> str:
    """A finding in one plain sentence; its own title if its kind is not listed."""
    return PLAIN.get(kind, title.rstrip(".") + ".")


def method_of(kind: str, /) -> str:
    """How a kind of finding is worked out."""
    return METHODS.get(kind, GENERAL)
