"""The page of a real pool in a real browser: what axe, a keyboard, a reader without scripts and a
reader whose manager has gone find there. Screenshots are in pytest's temporary folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_core_python.selenium import Axe
from chromium import Browser, View
from pool_daemon import LEASE_VERSION, Daemon, until
from pool_server import EVERYBODY, Manager

from outboard import paths
from outboard.pool.client import name_in_path

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.needs("chromium", "chromedriver"),
]

# Starts a manager whose minutes of history are a quarter of a second.
QUICK = """
import sys
from outboard.pool.serve import minutes
minutes.MINUTE_MS = 250
sys.argv = sys.argv[3:]
from outboard.start import main
main()
"""
VIEWS = [View(*size, dark) for size in ((1400, 1000), (360, 740)) for dark in (False, True)]
NARROW = VIEWS[-2]
LIVE = "/?refresh=1"
ODD = "<img src=x onerror=alert(1)>"


class Site:
    """A pool with all that the page can show, and a reader of it."""

    def __init__(self, folder: Path, native: paths.Native) -> None:
        self.manager = Manager(folder / "m", EVERYBODY, wrap=(sys.executable, "-c", QUICK))
        self.client = self.manager.local()
        pool = ("--pool", self.manager.url)
        self.daemons = [
            Daemon(native, "node1.example.org", "--devices", "3", *pool),
            Daemon(native, "node2.example.org", "--backend", "null", *pool),
            Daemon(native, "node3.example.org", *pool),
        ]
        gone = Daemon(native, "node4.example.org", *pool)
        for daemon in (*self.daemons, gone):
            daemon.wait_until_free(self.client)
        self.client.ask("POST", "/v1/daemons/node3.example.org/cordon")
        gone.stop()
        self.grant("slurm.alpha.4711.0", **{"class": {"kind": "cpu"}})
        half = {"exclusive": False, "share": 500, "memory_bytes": 1 << 20}
        self.grant("half-of-a-device", **half, **{"class": {"kind": "null"}})
        self.grant("one-that-waits", count=4)
        device = {"id": "d" * 60, "kind": ODD, "model": ODD, "memory_bytes": 1 << 40}
        body = {"instance": "x", "devices": [device], "wire": [LEASE_VERSION]}
        self.client.ask("PUT", f"/v1/daemons/{name_in_path(ODD)}", body)

    def grant(self, lease: str, **wish: Any) -> None:
        self.client.ask("PUT", f"/v1/leases/{lease}", {"ttl_s": 600, **wish})

    def url(self, path: str) -> str:
        return self.manager.url + path

    def stop(self) -> None:
        for daemon in self.daemons:
            daemon.stop()
        assert self.manager.stop() == 0


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, native: paths.Native) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("pool"), native)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    made = Browser(tmp_path_factory.mktemp("browser"))
    yield made
    made.close()


def violations(browser: Browser) -> list[tuple[str, list[str]]]:
    """Returns the rules of axe that the page breaks, and where."""
    found = Axe().run(browser.driver, options={"resultTypes": ["violations"]})["violations"]
    return [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found]


def focus(browser: Browser) -> Any:
    """Returns what has the focus: where it leads, or else its id."""
    return browser.run(
        "const e = document.activeElement; return e.getAttribute('href') || e.id || e.tagName"
    )


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: f"{view.width}-{view.dark}")
@pytest.mark.parametrize("path", ["/", "/?refresh=5"])
def test_axe_finds_nothing(site: Site, browser: Browser, path: str, view: View) -> None:
    browser.open(site.url(path), view)
    browser.screenshot(f"{'live' if '5' in path else 'still'}-{view.width}-{view.dark}")
    dark = browser.run("return matchMedia('(prefers-color-scheme: dark)').matches")
    assert (browser.run("return innerWidth"), dark) == (view.width, view.dark)
    for words in ("latest 2, least", "node4.example.org", "lost", "cordoned", "shared",
                  "slurm.alpha.4711.0", "half-of-a-device", "one-that-waits", ODD):  # fmt: skip
        assert words in browser.text()
    assert violations(browser) == []
    # Tables scroll within themselves, and the page does not.
    assert browser.run("return document.documentElement.scrollWidth") <= view.width


def test_axe_finds_what_is_wrong(site: Site, browser: Browser) -> None:
    browser.open(site.url("/"))
    browser.run(
        "document.querySelector('main').append(new Image());"
        "document.querySelector('h1').style.color = '#eee'"
    )
    assert {rule for rule, _ in violations(browser)} == {"image-alt", "color-contrast"}


def test_axe_finds_nothing_in_an_empty_pool(browser: Browser, tmp_path: Path) -> None:
    manager = Manager(tmp_path / "m", EVERYBODY)
    browser.open(f"{manager.url}/", NARROW)
    browser.screenshot("empty")
    for words in ("The history begins at", "No daemon has registered", "Nobody waits"):
        assert words in browser.text()
    assert violations(browser) == []
    assert manager.stop() == 0


def test_nothing_from_outside_is_asked_for(site: Site, browser: Browser) -> None:
    browser.requests(), browser.complaints()
    browser.open(site.url("/"))
    browser.open(site.url(LIVE))
    until(lambda: browser.run("return performance.getEntriesByName(location.href).length > 2"),
          "the script asks for the page")  # fmt: skip
    asked = browser.requests()
    assert set(asked) == {site.url(path) for path in ("/", LIVE, "/pool.css", "/pool.js")}
    assert browser.complaints() == []
    # The page's own policy forbids what the page does not need.
    browser.run("document.body.append(Object.assign(new Image(), {src: '/pool.css'}))")
    until(lambda: any("Content Security Policy" in text for text in browser.complaints()),
          "an image is refused")  # fmt: skip


def test_the_page_is_whole_without_scripts(site: Site, browser: Browser) -> None:
    browser.requests()
    browser.open(site.url(LIVE), View(scripts=False))
    for words in ("Devices in use: latest", "node4.example.org", "half-of-a-device", "Stop that"):
        assert words in browser.text()
    site.grant("granted-unseen", **{"class": {"kind": "cpu"}})
    try:
        until(lambda: "granted-unseen" in browser.text(), "the browser loads the page again")
        assert site.url("/pool.js") not in browser.requests()
        browser.screenshot("without-scripts")
    finally:
        site.client.ask("DELETE", "/v1/leases/granted-unseen")


def test_the_keyboard_reaches_what_can_be_followed_and_scrolled(
    site: Site, browser: Browser
) -> None:
    browser.open(site.url("/"), NARROW)
    stops = []
    for _ in range(4):
        browser.press("TAB")
        stops.append(focus(browser))
        seen = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
        assert seen != "none", f"nobody sees that {stops[-1]} has the focus"
    assert stops == ["/?refresh=5", "devices-table", "leases-table", "queue-table"]
    browser.press("TAB")
    assert focus(browser) not in stops
    browser.run("document.getElementById('devices-table').focus()")
    browser.press("ARROW_RIGHT", times=3)
    until(lambda: browser.run("return document.activeElement.scrollLeft > 0"), "the table scrolls")
    browser.run("document.querySelector('a').focus()")
    browser.press("ENTER")
    until(lambda: browser.driver.current_url == site.url("/?refresh=5"), "the link leads there")
    browser.press("TAB")
    browser.press("ENTER")
    until(lambda: browser.driver.current_url == site.url("/"), "and back")


def test_a_reader_keeps_the_place_while_figures_change(site: Site, browser: Browser) -> None:
    browser.open(site.url(LIVE), NARROW)
    browser.run("const e = document.getElementById('devices-table'); e.focus(); e.scrollLeft = 99")
    assert "a-new-lease" not in browser.text()
    site.grant("a-new-lease", **{"class": {"kind": "cpu"}})
    until(lambda: "a-new-lease" in browser.text(), "the page follows the pool")
    site.client.ask("DELETE", "/v1/leases/a-new-lease")
    until(lambda: "a-new-lease" not in browser.text(), "the page follows the pool")
    assert focus(browser) == "devices-table"
    assert browser.run("return document.activeElement.scrollLeft") == 99
    assert browser.run("return document.getElementById('said').textContent") == ""


def test_the_manager_goes_and_comes_back(site: Site, browser: Browser) -> None:
    said = "There are no new figures: the manager does not answer."
    browser.open(site.url(LIVE))
    site.manager.kill()
    try:
        until(lambda: said in browser.text(), "the page says that the manager has gone")
        assert "half-of-a-device" in browser.text()
        browser.screenshot("gone")
        assert violations(browser) == []
    finally:
        site.manager.start()
    site.grant("after-the-restart", **{"class": {"kind": "null"}, "exclusive": False, "share": 1})
    until(lambda: "after-the-restart" in browser.text(), "the page goes on")
    assert said not in browser.text()
