"""A browser without a window for the report, and assessments to report on."""

import base64
import json
import os
import select
import shutil
import subprocess
import time

import pytest

from noisegate.report.browser import browser_command, find_browser


class Browser:
    """A Chromium that is spoken to over two pipes: no port, no network, no further dependency."""

    def __init__(self, program, profile):
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        # Chromium reads commands from descriptor 3 and answers on 4.
        redirect = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        command = [*browser_command(program, profile), "--remote-debugging-pipe"]
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", redirect, *command],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out, self._buffer, self._last = ours_in, ours_out, b"", 0
        self.events = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method, /, *, seconds=60, **params):
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if hasattr(self, "_session"):
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + seconds
        while True:
            answer = self._next(until)
            if answer.get("id") == self._last:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _next(self, until):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0, until - time.monotonic()))
            chunk = os.read(self._in, 1 << 20) if ready else b""
            assert chunk, "the browser does not answer"
            self._buffer += chunk
        one, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(one)

    def open(self, page, /, *, width=1280, height=900, scheme="light"):
        self.events.clear()
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.send("Page.navigate", url=page.resolve().as_uri())
        until = time.monotonic() + 60
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next(until))
        self.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def ask(self, expression, /):
        """The value of a JavaScript expression on the page."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def picture(self, path, /):
        """A picture of the whole page."""
        data = self.send("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self):
        self._process.terminate()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)


def _installed():
    """Chromium, installed if it is missing and we may: as root on Debian, as in a container."""
    if find_browser() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        command = [
            "apt-get",
            "install",
            "-y",
            "--no-install-recommends",
            "-o",
            "DPkg::Lock::Timeout=240",
            "chromium",
        ]
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for one in (["apt-get", "update"], command):
            try:
                subprocess.run(one, env=quiet, capture_output=True, timeout=300, check=False)
            except (OSError, subprocess.TimeoutExpired):
                break
    return find_browser()


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    program = _installed()
    if program is None:
        pytest.skip("there is no Chromium here, and none can be installed")
    try:
        one = Browser(program, tmp_path_factory.mktemp("profile"))
    except (AssertionError, OSError) as problem:
        pytest.skip(f"{program} does not start: {problem}")
    yield one
    one.close()
