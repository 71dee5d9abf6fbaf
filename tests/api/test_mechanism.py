"""One published count from Python."""

import noisegate


def test_the_release_of_2016_has_no_epsilon():
    facts = noisegate.mechanism(scale=1.4, threshold=18)
    assert not facts.pure
    assert facts.epsilon is None
    assert f"{facts.delta:.3e}" == "2.663e-06"
    assert f"{facts.detection[12]:.4g}" == "0.006882"


def test_it_shows_on_one_screen():
    assert len(repr(noisegate.mechanism(scale=1.4, threshold=18)).splitlines()) < 10
