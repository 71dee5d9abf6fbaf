"""From the name of an engine to a connection."""

from __future__ import annotations

from typing import Any

from noisegate.errors import DataError, NoisegateError, SpecError


def connect(engine: str, /) -> Any:
    """The connection of an engine: None for DuckDB, which `count` opens itself, else one of Ibis.

    `engine` is `duckdb`, `spark`, or a URL that Ibis knows, such as `postgresql://host/database`. What is
    wrong is said without the URL, which may hold a password.
    """
    if engine == "duckdb":
        return None
    if engine != "spark" and "://" not in engine:
        raise SpecError.for_choice(
            "engine", found=engine, allowed=["duckdb", "spark", "a URL such as postgresql://…"]
        )
    kind = engine.partition("://")[0]
    import ibis

    try:
        return ibis.pyspark.connect() if engine == "spark" else ibis.connect(engine)
    except NoisegateError:
        raise
    except (ImportError, AttributeError, ibis.common.exceptions.IbisError):
        raise SpecError(f"The engine {kind!r} is not installed or not known; install Ibis with it.") from None
    except Exception:  # noqa: BLE001 - every driver has errors of its own
        raise DataError(
            f"The engine {kind!r} cannot be reached; check its address and that it is running."
        ) from None
