"""Sessions of Spark: found, made and lent; its own words go to a private log.

`spark` is the session that is there, or a new one as Spark's own configuration says (`local[*]` without any). `spark://host:port`
and `local[2]` name a master, `sc://host:port` a Spark Connect server.
"""

from __future__ import annotations

import ipaddress
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from noisegate.engine.private_log import keep_words, new_log
from noisegate.errors import DataError, SpecError

#: Where workers and driver both can write: a setting of the session that names a folder.
STAGING = "spark.noisegate.staging"
_STARTS = ("spark://", "sc://", "local[", "yarn", "k8s://")
#: How a session counts: Arrow for what crosses between Java and Python, each partition of its own making.
_SETTINGS = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "250000",
    "spark.sql.ansi.enabled": "true",
}
#: Only for sessions that we make ourselves.
_OWN = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
}
#: And on this machine alone, whose cores two hundred small tasks would only keep waiting.
_LOCAL = {"spark.sql.shuffle.partitions": "8"}


def is_spark(engine: str, /) -> bool:
    """Whether the name or address of an engine is one of Spark's."""
    return engine == "spark" or engine.startswith(_STARTS)


def session_of(connection: Any, /) -> Any | None:
    """The session of Spark that a connection is, classic or Connect, or that one of Ibis holds; None for other engines."""
    inner = connection._session if getattr(connection, "name", None) == "pyspark" else connection  # noqa: SLF001
    return inner if type(inner).__module__.startswith("pyspark.sql") else None


def connect_spark(engine: str, /) -> Any:
    """A session of Spark for the name or address of one."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise SpecError(
            "The engine 'spark' is not installed; install noisegate[spark] and a Java runtime (17 or newer)."
        ) from None
    builder = SparkSession.builder.appName("noisegate")
    if engine.startswith("sc://"):
        builder = builder.remote(engine)
    else:
        for key, value in (_OWN | (_LOCAL if engine.startswith("local[") else {})).items():
            builder = builder.config(key, value)
        if engine != "spark":
            builder = builder.master(engine)
        # Workers run the Python that runs here, unless somebody says which one is theirs.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        with _quiet():
            session = builder.getOrCreate()
            session.range(1).count()
    except ImportError:
        raise SpecError("Spark Connect (sc://…) needs more than pyspark; install pyspark[connect].") from None
    except Exception as error:  # noqa: BLE001 - errors of Java, of sockets, of gRPC
        kind = engine.partition("://")[0].partition("[")[0]
        raise DataError(
            f"The engine {kind!r} cannot be reached; check its address, that it is running, and that Java 17 or newer is "
            f"installed.{keep_words(error)}"
        ) from None
    except BaseException as stopped:
        _end_java(stopped)
        raise
    return session


def _end_java(stopped: BaseException, /) -> None:
    """End a Java process whose start was stopped, such as by Ctrl-C: it would wait for ever for somebody to speak to it."""
    for frame, _ in traceback.walk_tb(stopped.__traceback__):
        for one in frame.f_locals.values():
            if isinstance(one, subprocess.Popen) and one.poll() is None:
                one.kill()


@contextmanager
def _quiet() -> Iterator[None]:
    """Let what Java writes to the terminal go to a private log, for as long as the Java process lives."""
    path = new_log()
    try:
        terminal = sys.__stderr__.fileno() if sys.__stderr__ is not None else 2
        before = os.dup(terminal)
    except (OSError, ValueError):
        path = None
    if path is None:
        yield
        return
    sys.stderr.flush()
    with path.open("ab") as file:
        os.dup2(file.fileno(), terminal)
    try:
        yield
    finally:
        os.dup2(before, terminal)
        os.close(before)


@contextmanager
def settings(session: Any, /, *, timezone: str | None) -> Iterator[None]:
    """The settings that counting needs, as long as the context; then the session is as it was."""
    wanted = _SETTINGS | {"spark.sql.session.timeZone": timezone or "UTC"}
    before = {key: session.conf.get(key, None) for key in wanted}
    for key, value in wanted.items():
        session.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, value)


def shared_staging(session: Any, /) -> str | None:
    """The folder that the session names for workers and driver; None where both are on this machine.

    Raises
    ------
    DataError
        The workers are elsewhere, and no folder is named.
    """
    named = session.conf.get(STAGING, "")
    if named:
        return str(named)
    host = _host(session)
    if host is None or _is_here(host):
        return None
    raise DataError(
        "The workers of Spark are on other machines, and no place is named that they share; set "
        f"{STAGING} to a folder of theirs that only you can read, such as hdfs:///user/you/noisegate."
    )


def _host(session: Any, /) -> str | None:
    """Where the workers are, as far as the address says; None for this process."""
    if "connect" in type(session).__module__:
        return urlsplit(str(session.client.host if hasattr(session.client, "host") else "")).hostname or str(
            getattr(session.client, "host", "elsewhere")
        )
    master = str(session.sparkContext.master)
    if master.startswith("local"):
        return None
    return urlsplit(master.removeprefix("k8s://")).hostname or "elsewhere"


def _is_here(host: str, /) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
