"""A real browser without a window: Debian's Chromium, which reaches this machine only."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.keys import Keys

from needs import PATH

_OPTIONS = (
    "--headless=new",
    "--hide-scrollbars",  # pages are as wide as the window
    "--disable-gpu",
    "--disable-dev-shm-usage",  # containers often have little of it
    "--no-first-run",
    "--no-sandbox",  # Chromium refuses its sandbox to root
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


class View(NamedTuple):
    """How a reader looks at a page. `width`, `height`: of the window, in pixels."""

    width: int = 1400
    height: int = 1000
    dark: bool = False
    scripts: bool = True


class Browser:
    """@pre chromium and chromedriver are there"""

    def __init__(self, folder: Path) -> None:
        """`folder`: gets the profile and the screenshots."""
        self.folder = folder
        options = webdriver.ChromeOptions()
        # Selenium downloads what it has to look for.
        options.binary_location = str(shutil.which("chromium", path=PATH))
        for word in (*_OPTIONS, f"--user-data-dir={folder}/profile"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
        service = Service(str(shutil.which("chromedriver", path=PATH)))
        self.driver = webdriver.Chrome(options, service)

    def open(self, url: str, view: View = View()) -> None:  # noqa: B008 (it cannot change)
        size = {"width": view.width, "height": view.height}
        self._do("Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if view.dark else "light"}
        self._do("Emulation.setEmulatedMedia", features=[scheme])
        self._do("Emulation.setScriptExecutionDisabled", value=not view.scripts)
        self.driver.get(url)

    def run(self, script: str, *arguments: Any) -> Any:
        """Runs the body of a function in the page."""
        return self.driver.execute_script(script, *arguments)

    def text(self) -> str:
        """Returns what the page shows, also without scripts."""
        document = self._do("DOM.getDocument", depth=-1)["root"]
        return " ".join(" ".join(_texts(document)).split())

    def press(self, key: str, times: int = 1) -> None:
        """Presses a key, named as in selenium's Keys, wherever the focus is."""
        action = webdriver.ActionChains(self.driver)
        action.send_keys(getattr(Keys, key) * times).perform()

    def screenshot(self, name: str) -> None:
        """Takes the whole page, as far as it can be scrolled down."""
        data = self._do("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        (self.folder / f"{name}.png").write_bytes(base64.b64decode(data))

    def requests(self) -> list[str]:
        """Returns the addresses that were asked for since the last call."""
        lines = [json.loads(row["message"]) for row in self.driver.get_log("performance")]
        events = [line["message"] for line in lines]
        sent = [e["params"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent]

    def complaints(self) -> list[str]:
        """Returns what the browser has said against the page since the last call."""
        return [row["message"] for row in self.driver.get_log("browser")]

    def close(self) -> None:
        self.driver.quit()

    def _do(self, command: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(command, parameters)


def _texts(node: Any) -> list[str]:
    if node["nodeName"] in ("HEAD", "NOSCRIPT", "SCRIPT"):
        return []
    inner = [text for child in node.get("children", ()) for text in _texts(child)]
    return [node["nodeValue"], *inner]
