"""Progress comes late, on standard error, and not when quiet."""

import pytest

from noisegate.cli import output as progress


@pytest.mark.parametrize("kind", ["bar", "steps"])
def test_progress_comes_late_and_not_when_quiet(kind, monkeypatch, capsys):
    def start(*, silent):
        return progress.Bar("counting", silent=silent) if kind == "bar" else progress.Steps(silent=silent)

    def move(one):
        if kind == "bar":
            one.show(1, 3)
        else:
            one.show("counting")
            one.advance(5)

    with start(silent=False) as shown:
        move(shown)
        assert shown._bar is None
        monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
        move(shown)
        assert shown._bar is not None
    assert capsys.readouterr().out == ""
    with start(silent=True) as hidden:
        move(hidden)
        assert hidden._bar is None
