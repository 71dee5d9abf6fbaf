"""The real releases of the gallery: read where they lie, never copied."""  # noqa: INP001 - a folder of scripts

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import Any

import numpy as np
from gallery_items import Item, Made, Workshop
from gallery_pictures import bars_picture, counts_picture, points_picture, ranges_picture

import noisegate

_LISTED = 14


def _numbers(found: noisegate.OpenAssessment, kind: str, /) -> Mapping[str, Any]:
    finding = found.finding(kind)
    assert finding is not None, kind
    return finding.numbers


def _electorates(shop: Workshop, /) -> Made:
    found = noisegate.assess(shop.real("official/nz2013/t1_electorates.csv"))
    known = _numbers(found, "known-exactly")
    hutt = {
        one["sex"]: one["low"]
        for one in known["listed"]
        if one.get("electorate") == "Hutt South" and one["age"].startswith("20") and one.get("sex")
    }
    numbers = {
        "known": known["cells"],
        "of_base": known["cells_of_base"],
        "female": hutt["Female"],
        "male": hutt["Male"],
    }
    curve = found.to_json()["tables"][0]["noise"]["curve"]
    every = slice(None, None, 3)
    picture = counts_picture(
        [round(one) for one in curve["difference"][every]],
        curve["observed"][every],
        curve["expected"][every],
        title="Totals less their two parts, 1,152 of them",
        law="rounded at random to threes",
        x="difference",
    )
    return Made(found=found, picture=picture, numbers=numbers)


def _deaths(shop: Workshop, /) -> Made:
    found = noisegate.assess(shop.real("official/cdc_covid/states_blank.csv"))
    known = _numbers(found, "known-exactly")
    with shop.real("official/cdc_covid/expected_exact.csv").open(encoding="utf-8", newline="") as lines:
        expected = {
            (row["state"], row["sex"], row["age"]): int(row["count"]) for row in csv.DictReader(lines)
        }
    listed = [one for one in known["listed"] if "age" in one]
    right = sum(expected.get((one["state"], one["sex"], one["age"])) == one["low"] for one in listed)
    shown = listed[:_LISTED]
    names = [f"{one['state']}, {one['sex'].lower()}, {one['age']}" for one in shown]
    picture = ranges_picture(shown, names, title="Deaths that were left blank and are known exactly")
    numbers = {"known": known["cells"], "hidden": known["hidden"], "expected": len(expected), "right": right}
    return Made(found=found, picture=picture, numbers=numbers)


def _ages(shop: Workshop, /) -> Made:
    folder = "official/ons2021"
    names = ("msoa_age_base", "msoa_total", "ltla_age_margin")
    found = noisegate.assess([shop.real(f"{folder}/{name}.csv") for name in names], attacker=None)
    made = found.to_json()["tables"][0]["mechanism"]
    control = noisegate.assess(
        [shop.real(f"{folder}/msoa2011_{name}.csv") for name in ("base", "total")], attacker=None
    )
    pmf, se = made["pmf"], made["pmf_se"]
    picture = bars_picture(
        [-2, -1, 0, 1, 2],
        [*reversed(pmf[1:3]), *pmf[:3]],
        errors=[*reversed(se[1:3]), *se[:3]],
        title="What the cell keys added, as recovered from the tables",
        x="added to a count",
        y="probability",
    )
    numbers = {
        "bound": made["bound"],
        "p0": round(pmf[0], 3),
        "se": round(se[0], 3),
        "sd": round(made["noise_sd"], 2),
        "control": control.findings[0].title,
    }
    return Made(found=found, picture=picture, numbers=numbers)


def _waits(shop: Workshop, /) -> Made:
    folder = "official/nhs_mhsds"
    found = noisegate.assess([shop.real(f"{folder}/{name}.csv") for name in ("icb", "england")])
    sums: dict[str, float] = {}
    hidden = set()
    with shop.real(f"{folder}/icb.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            hidden |= {row["measure"]} if row["count"] == "*" else set()
            sums[row["measure"]] = sums.get(row["measure"], 0) + (
                0 if row["count"] == "*" else int(row["count"])
            )
    with shop.real(f"{folder}/england.csv").open(encoding="utf-8", newline="") as lines:
        whole = {row["measure"]: int(row["count"]) for row in csv.DictReader(lines)}
    shown = sorted(set(whole) & set(sums) - hidden)
    gaps = np.array([whole[one] - sums[one] for one in shown])
    picture = points_picture(
        [whole[one] for one in shown],
        [sums[one] for one in shown],
        title="England as counted, less the sum of 43 rounded boards",
        x="England (log scale)",
        y="difference, referrals",
    )
    off = _numbers(found, "independent-margins")
    numbers = {
        "measures": len(shown),
        "off": off["complete_off"],
        "sd": round(float(np.sqrt((gaps**2).mean())), 1),
        "expected": round(float(np.sqrt(43 * 2)), 1),
    }
    return Made(found=found, picture=picture, numbers=numbers)


def _hours(shop: Workshop, /) -> Made:
    names = ("location_20160808-14", "time-loc-hourly_20160808-14")
    found = noisegate.assess([shop.real(f"opal_2016/{name}.csv") for name in names])
    fit = found.to_json()["tables"][0]["noise"]
    laws = fit["evidence"]["laws"]
    numbers = {
        "scale": round(fit["scale"], 2),
        "low": round(fit["interval"][0], 2),
        "high": round(fit["interval"][1], 2),
        "n": fit["n"],
        "laplace": round(100 * sum(share for law, share in laws.items() if "laplace" in law)),
    }
    return Made(found=found, picture=found.plot("noise-1"), numbers=numbers)


REAL = (
    Item(
        slug="stats-nz-electorates",
        title="A census rounded at random to threes",
        field="Census",
        made_by="random rounding to base 3",
        published="Stats NZ, census 2013, people by electorate, age and sex, with totals (CC BY). Each count was rounded up or down to a multiple of 3 by itself.",
        shows="Totals and parts were rounded one by one, so that they differ by -6 to 6. Where they differ by as much as they can, every rounding is known: "
        "**{known} counts are known exactly**, {of_base} of them cells of the finest table. In Hutt South, aged 20 to 24, there were {female} women and {male} men.",
        caption="Totals less the sum of their parts: seen, and expected if each is rounded at random to a multiple of 3",
        command="noisegate assess t1_electorates.csv --out assessed",
        make=_electorates,
        real=("official/nz2013/t1_electorates.csv",),
    ),
    Item(
        slug="cdc-deaths",
        title="Deaths of 1 to 9 left blank",
        field="Health",
        made_by="1 to 9 hidden, 0 shown",
        published="CDC/NCHS, provisional COVID-19 deaths by state, sex and age of 6 May 2020 (public domain). Exact counts; those from 1 to 9 are blank.",
        shows="A total less the cells that are shown leaves what the blanks add up to. **{known} of {hidden} hidden counts are known exactly**. A list made by hand "
        "from the same file has {expected}, and {right} of ours agree with it. North Carolina, all zeros, gives nothing away: zeros are shown.",
        caption="Hidden counts that are known exactly: shown as 1 to 9, and what the totals leave",
        command="noisegate assess states_blank.csv --out assessed",
        make=_deaths,
        real=("official/cdc_covid/states_blank.csv", "official/cdc_covid/expected_exact.csv"),
    ),
    Item(
        slug="ons-ages",
        title="A census with cell keys",
        field="Census",
        made_by="cell-key perturbation within ±2",
        published="ONS, census 2021, people by small area and single year of age, with districts by age, and totals of small areas (OGL). Each table was perturbed by cell keys; "
        "which law they follow is not published.",
        shows="Districts and small areas were perturbed apart, so their differences hold nothing but noise. It is **bounded within ±{bound}**, leaves {p0} of the counts as they are "
        "(give or take {se}) and has a standard deviation of {sd}. Totals over age are sums of what is published. The 2011 tables, where records were swapped before counting, "
        "serve as a control: {control}.",
        caption="Probability of each change from -2 to 2, as recovered, with two standard errors",
        command="noisegate assess msoa_age_base.csv msoa_total.csv ltla_age_margin.csv --out assessed",
        make=_ages,
        real=(
            *(f"official/ons2021/{name}.csv" for name in ("msoa_age_base", "msoa_total", "ltla_age_margin")),
            *(f"official/ons2021/msoa2011_{name}.csv" for name in ("base", "total")),
        ),
        slow=True,
    ),
    Item(
        slug="nhs-waits",
        title="Waits rounded to the nearest five",
        field="Health",
        made_by="rounding to 5, `*` for 1 to 4",
        published="NHS England, mental-health waits, August 2024, referrals by measure and care board, and England as a whole (OGL). Boards are rounded to the nearest 5 and `*` stands for "
        "less than 5; England is not rounded.",
        shows="Of {measures} measures with every board shown, {off} do not add up, by {sd} on average (root mean square), where rounding 43 boards explains {expected}. "
        "Rounding is recognised as deterministic: it has no epsilon, and no count is narrowed beyond the base, because 43 roundings add up in every total. "
        "That is a result too: **nothing is given away here by subtraction**.",
        caption="England less the sum of the boards, by size",
        command="noisegate assess icb.csv england.csv --out assessed",
        make=_waits,
        real=("official/nhs_mhsds/icb.csv", "official/nhs_mhsds/england.csv"),
    ),
    Item(
        slug="opal-hours",
        title="Sydney, the second week of 2016, summed to hours",
        field="Transport",
        made_by="secret noise, threshold 18",
        published="Transport for NSW, Opal tap on and tap off, 8 to 14 August 2016 (CC BY), by hour and location (summed from quarter-hours by a reader) and by location. "
        "Noise was added and small counts dropped; neither was told.",
        shows="Only {n} totals have every hour shown with no quarter-hour dropped. They are enough for a **scale of {scale}** (95 %: {low} to {high}), where the report of 2017 has 1.4, and "
        "too few to be sure of the law: Laplace is {laplace} % likely. So no epsilon is stated. What cannot be told is said, and why.",
        caption="Totals less the sum of their hours: seen, and expected",
        command="noisegate assess location_20160808-14.csv time-loc-hourly_20160808-14.csv --out assessed",
        make=_hours,
        real=("opal_2016/location_20160808-14.csv", "opal_2016/time-loc-hourly_20160808-14.csv"),
    ),
)
