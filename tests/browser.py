"""A headless Chromium that tests drive through a pipe, by the DevTools protocol: https://chromedevtools.github.io/devtools-protocol/."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--remote-debugging-pipe",
]  # fmt: skip
PATIENCE_S = 120


class Browser:
    """One page at a time: opens it in a size and a colour scheme, evaluates scripts in it, and keeps what it requested."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.requests: list[str] = []
        """Addresses that the page has requested, itself first."""
        self.messages: list[str] = []
        """Errors and warnings of the page's console, and exceptions that nothing caught."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            event = self._next()
            if event.get("id") == self._number:
                assert "error" not in event, event
                found: dict[str, Any] = event["result"]
                return found

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._read, 1 << 20)
            assert part, "the browser has ended"
            self._buffer += part
        text, _, self._buffer = self._buffer.partition(b"\0")
        event: dict[str, Any] = json.loads(text)
        self._note(event.get("method"), event.get("params", {}))
        return event

    def _note(self, method: str | None, parameters: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.messages.append(json.dumps(parameters["exceptionDetails"])[:500])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.messages.append(parameters["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.messages.append(json.dumps(parameters["args"])[:500])

    def open(self, path: Path, width: int = 1400, *, dark: bool = False, until: str = "true") -> None:
        """Load a file, and wait for a script to become true."""
        self.requests.clear()
        self.messages.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait(f"location.protocol === 'file:' && document.readyState === 'complete' && ({until})")
        self.requests = [url for url in self.requests if url != "about:blank"]

    def wait(self, condition: str) -> None:
        """Wait for a script to become true."""
        end = time.monotonic() + PATIENCE_S
        while not self.evaluate(condition):
            assert time.monotonic() < end, f"never true: {condition}"
            time.sleep(0.05)

    def evaluate(self, script: str) -> Any:
        """The value of a script, which may be a promise."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")


@contextmanager
def started(profile: Path) -> Iterator[Browser]:
    """A browser with a profile of its own, or a skipped test where none is installed."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no chromium on this machine; `apt-get install chromium` lets this test open pages")
    theirs, ours = os.pipe(), os.pipe()
    # Above 4, so that the copies to 3 and 4 below overwrite none of them.
    command_end, answer_end = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs[0], ours[1]))

    def connect() -> None:
        os.dup2(command_end, 3)
        os.dup2(answer_end, 4)

    process = subprocess.Popen(
        [program, *OPTIONS, f"--user-data-dir={profile}", "about:blank"],
        preexec_fn=connect,
        pass_fds=(3, 4),
        stderr=subprocess.DEVNULL,
    )
    for end in (theirs[0], ours[1], command_end, answer_end):
        os.close(end)
    try:
        page = Browser(ours[0], theirs[1])
        yield page
        page._session = None
        page.call("Browser.close")
    finally:
        process.kill()
        process.wait()
        os.close(theirs[1])
        os.close(ours[0])


def open_report(page: Browser, path: Path, width: int = 1400, *, dark: bool = False, unfolded: bool = True) -> None:
    """Open a report, its sections too unless folded, and wait until all charts there are drawn."""
    page.open(path, width, dark=dark, until="document.documentElement.dataset.charts === 'drawn'")
    if unfolded:
        page.evaluate("for (const section of document.querySelectorAll('details.section')) section.open = true")
        page.wait(
            "document.documentElement.dataset.errors || "
            "[...document.querySelectorAll('[data-chart]')].every(chart => chart.querySelector('svg'))"
        )


def assert_drawn(page: Browser, charts: set[str]) -> None:
    """Every chart has marks of some extent, nothing has failed, and nothing but the page was requested."""
    errors = page.evaluate("document.documentElement.dataset.errors")
    assert errors == "", errors
    assert page.messages == [], page.messages
    assert len(page.requests) == 1, page.requests
    marks = page.evaluate(
        """Object.fromEntries([...document.querySelectorAll("[data-chart]")].map(chart => [
            chart.dataset.chart,
            [...chart.querySelectorAll(".role-mark path, .role-mark line, .role-mark rect")]
                .filter(mark => { const box = mark.getBoundingClientRect(); return box.width + box.height > 0; }).length,
        ]))"""
    )
    assert marks.keys() == charts
    assert [name for name, count in marks.items() if not count] == []


def violations(page: Browser) -> list[Any]:
    """The problems that axe-core finds in the page's accessibility: for each rule its name and the first element."""
    pytest.importorskip("axe_core_python", reason="`pip install -r requirements/dev.txt` installs it")
    source = Path(str(importlib.util.find_spec("axe_core_python").origin)).with_name("axe.min.js")  # type: ignore[union-attr]
    page.evaluate(source.read_text(encoding="utf-8") + "; 0")
    found: list[Any] = page.evaluate(
        "axe.run(document, { resultTypes: ['violations'] }).then(found => "
        "found.violations.map(rule => [rule.id, rule.nodes[0].html, rule.nodes[0].failureSummary]))"
    )
    return found
