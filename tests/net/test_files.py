"""Which files the commands write, and the columns of the tables among them."""

import pyarrow.parquet as pq
import pytest


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def columns(file):
    """Names and types of a Parquet file, in their order."""
    return [[field.name, str(field.type), field.nullable] for field in pq.read_schema(file)]


def test_files_of_a_release(hold, town):
    hold("files/release", {shape: files(town.released(shape).folder) for shape in town.shapes})


def test_files_of_a_simulation(hold, city):
    hold("files/simulate", [name for name in files(city.world) if name != "hours.yaml"])


@pytest.mark.parametrize("which", ["plain", "truth", "gtfs", "weeks"])
def test_files_of_an_assessment(hold, city_assessed, which):
    hold(f"files/assess-{which}", files(city_assessed(which).folder))


def test_files_of_an_assessment_with_recovered_noise(hold, published):
    hold("files/assess-as-in-2016", files(published("as-in-2016").folder))


@pytest.mark.parametrize("world", ["linked", "exact", "as-in-2016"])
def test_columns_of_cells(hold, published, world):
    hold(f"files/cells-{world}", columns(published(world).folder / "cells.parquet"))


def test_columns_of_cells_with_a_timetable(hold, city_assessed):
    folder = city_assessed("gtfs").folder
    hold("files/cells-gtfs", {name: columns(folder / name) for name in ("cells.parquet", "vehicles.parquet")})


def test_columns_of_a_release(hold, town):
    folder = town.released("person-day-merged").folder
    hold("files/release-columns", {path.name: columns(path) for path in sorted(folder.glob("*.parquet"))})


def test_columns_of_a_simulation(hold, city):
    hold(
        "files/simulate-columns", {path.name: columns(path) for path in sorted(city.world.glob("*.parquet"))}
    )
