"""What OpenDP states of its noise is read: a serialised measurement, or a summary of a query; and its tables, and those of Tumult."""

import json

import numpy as np
import pytest

import noisegate as ng
from noisegate.errors import SpecError
from noisegate.laws import make_law
from noisegate.mechanisms import stated_noise


def call(function, module="measurements", **arguments):
    return {"__function__": function, "__module__": module, "__kwargs__": arguments, "__version__": "0.16.0"}


def count(kind):
    domain = call("vector_domain", "domains", atom_domain=call("atom_domain", "domains", T="f64"), size=None)
    return call("make_count", "transformations", input_domain=domain, TO=kind)


def chained(measurement, kind, scale):
    domain = call("transformation_output_domain", "core", this=count(kind))
    return call(
        "make_chain_mt",
        "combinators",
        measurement1=call(measurement, input_domain=domain, scale=scale),
        transformation0=count(kind),
    )


@pytest.mark.parametrize(
    ("document", "law", "scale"),
    [
        (chained("make_laplace", "i32", 1.4), "discrete-laplace", 1.4),
        (chained("make_laplace", "f64", 1.4), "laplace", 1.4),
        (chained("make_gaussian", "u64", 3.0), "discrete-gaussian", 3.0),
        (chained("make_geometric", "i32", 2.0), "discrete-laplace", 2.0),
        (
            [{"column": "len", "aggregate": "Frame Length", "distribution": "Integer Laplace", "scale": 2.0}],
            "discrete-laplace",
            2.0,
        ),
    ],
)
def test_a_statement_is_read(tmp_path, document, law, scale):
    path = tmp_path / "measurement.json"
    path.write_text(json.dumps(document))
    assert stated_noise(str(path)) == make_law(law, scale=scale)


def test_a_summary_as_csv_is_read_and_other_statistics_passed_over(tmp_path):
    path = tmp_path / "summary.csv"
    path.write_text(
        "column,aggregate,distribution,scale,threshold\nlen,Frame Length,Integer Gaussian,2.5,12\nincome,Sum,Integer Laplace,900,\n"
    )
    assert stated_noise(str(path)) == make_law("discrete-gaussian", scale=2.5)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{}", "states none"),
        ("not json", "states none"),
        (json.dumps([chained("make_laplace", "i32", 1.0)]), "states none"),
        (
            json.dumps({"a": [chained("make_laplace", "i32", 1.0), chained("make_laplace", "i32", 2.0)]}),
            "several",
        ),
        (json.dumps(chained("make_laplace", "i32", -1.0)), "states none"),
        (json.dumps(chained("make_laplace", "i32", "x")), "states none"),
        ("[" * 5000, "states none"),
    ],
)
def test_what_is_no_statement_of_one_law_is_refused(tmp_path, content, says):
    path = tmp_path / "measurement.json"
    path.write_text(content)
    with pytest.raises(SpecError, match=says):
        stated_noise(str(path))


def test_a_file_that_is_not_there_is_refused():
    with pytest.raises(SpecError, match="does not exist"):
        stated_noise("nowhere.json")


def test_what_opendp_itself_writes_is_read(tmp_path):
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = (dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance())
    for made, law in (
        (space >> dp.t.then_count() >> dp.m.then_laplace(scale=1.75), "discrete-laplace"),
        (
            dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float), scale=1.75),
            "discrete-gaussian",
        ),
        (
            dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.75),
            "laplace",
        ),
    ):
        path = tmp_path / f"{law}.json"
        path.write_text(dp.serialize(made))
        assert stated_noise(str(path)) == make_law(law, scale=1.75)


def test_counts_that_spark_wrote_in_parts_are_asked_with_that_noise(noisegate, tmp_path):
    """Tumult Analytics and OpenDP on Spark leave a folder of part files: no card, so the noise is stated."""
    rng = np.random.default_rng(2)
    folder = tmp_path / "counts"
    folder.mkdir()
    truth = rng.poisson(50, 40)
    shown = truth + np.rint(rng.laplace(0, 2, 40)).astype(int)
    for part in range(2):
        rows = [f"a{k},{shown[k]}" for k in range(20 * part, 20 * part + 20)]
        (folder / f"part-0000{part}-x.csv").write_text("area,count\n" + "\n".join(rows) + "\n")
    (folder / "_SUCCESS").touch()
    (tmp_path / "m.json").write_text(json.dumps(chained("make_laplace", "i64", 2.0)))
    asked = ng.open_tables(folder, noise=str(tmp_path / "m.json")).answer()
    assert asked.low[0] <= truth.sum() <= asked.high[0]
    code, out, _ = noisegate("query", folder, "--noise", tmp_path / "m.json", "--quiet", "--format", "json")
    assert code == 0
    assert json.loads(out)
