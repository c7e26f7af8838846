"""Chromium without a window, driven by selenium; Bokeh's widgets live in shadow roots, which are looked through."""

import importlib.util
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest

# The first element, by a CSS selector, in the page or in any shadow root below it.
DEEP = """
const find = root => { const hit = root.querySelector(arguments[0]); if (hit) return hit;
  for (const e of root.querySelectorAll('*')) if (e.shadowRoot) { const h = find(e.shadowRoot); if (h) return h }
  return null };
return find(document)
"""
# The first element below the view of the Bokeh model with that name.
NAMED = """
const model = Bokeh.documents[0].get_model_by_name(arguments[0]); if (!model) return null;
const view = Bokeh.index.find_one(model); if (!view) return null;
return arguments[1] ? view.shadow_el.querySelector(arguments[1]) : view.el
"""
# As root, without a screen, and without asking for anything on the network by itself.
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-device-scale-factor=1",
)  # fmt: skip
COUNT = """
const ask = Bokeh.documents[0].get_model_by_name('ask');
window.ended = 0;
ask.properties.disabled.change.connect(() => { if (!ask.disabled) window.ended += 1 })
"""
STILL = """
arguments[0].scrollIntoView({block: 'center'});
const box = arguments[0].getBoundingClientRect();
return [box.x, box.y]
"""
READY = "return window.Bokeh && Bokeh.documents.length > 0 && Bokeh.documents[0].is_idle"


def needed() -> None:
    """Skip without a browser, and say what to install; where `.ci/run` could have installed one, fail."""
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    if importlib.util.find_spec("selenium") is None:
        missing.append("selenium (extra test)")
    if not missing:
        return
    why = f"the page's tests in a browser need {', '.join(missing)}: make browser"
    if os.environ.get("CI") == "true" and not os.environ.get("NO_BROWSER"):
        pytest.fail(why)
    pytest.skip(" ".join(filter(None, [why, os.environ.get("NO_BROWSER")])))


class Browser:
    """One browser with one or more tabs."""

    def __init__(self, downloads: Path, width: int = 1280, height: int = 900) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        for argument in (*FLAGS, f"--window-size={width},{height}", f"--user-data-dir={self._profile.name}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.driver.set_page_load_timeout(30)

    def open(self, url: str) -> None:
        self.driver.get(url)
        self.until(lambda: self.driver.execute_script(READY))
        self.until(lambda: self.find("ask", "button") is not None)
        self.driver.execute_script(COUNT)

    def size(self, width: int, height: int = 900, mobile: bool = False) -> None:
        """The size of the page itself, as on a phone if it is mobile."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile},
        )

    def find(self, name, selector=""):
        return self.driver.execute_script(NAMED, name, selector)

    def deep(self, selector):
        return self.driver.execute_script(DEEP, selector)

    def text(self, name) -> str:
        return self.told(name, "e => e.textContent") or ""

    def told(self, name, of):
        """Of what a Div says, in one call, since it may be drawn anew between two: a function of its element."""
        script = f"const element = (function() {{ {NAMED} }}).apply(null, arguments); return element && ({of})(element)"
        return self.driver.execute_script(script, name, ".bk-clearfix")

    def choose(self, name, label) -> None:
        from selenium.webdriver.support.ui import Select

        Select(self.find(name, "select")).select_by_visible_text(label)

    def choices(self, name) -> "list[str]":
        from selenium.webdriver.support.ui import Select

        return [option.text for option in Select(self.find(name, "select")).options]

    def type(self, name, text) -> None:
        """Into an input, from the keyboard."""
        from selenium.webdriver.common.keys import Keys

        self.focus(name)
        self.keys((Keys.CONTROL, "a"), Keys.DELETE, *text, Keys.ENTER)

    def focus(self, name, selector="input") -> None:
        box = self.find(name, selector)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'}); arguments[0].focus()", box)

    def keys(self, *keys) -> None:
        """To what has the focus; a tuple is a modifier and a key. An element's own `send_keys` would not do: it takes
        an input in a shadow root for one without focus, and puts the cursor at its end each time."""
        from selenium.webdriver.common.action_chains import ActionChains

        chain = ActionChains(self.driver)
        for key in keys:
            if isinstance(key, tuple):
                chain.key_down(key[0]).send_keys(key[1]).key_up(key[0])
            else:
                chain.send_keys(key)
        chain.perform()

    def press(self, name, selector="button") -> None:
        """Click on what stands still: while the page is being laid out, a click would land beside it."""
        self.until(self.idle)
        self.still(lambda: self.driver.execute_script(STILL, self.find(name, selector)))
        self.find(name, selector).click()

    def still(self, place):
        """Wait until a place on the page is the same twice; gives it."""
        before = None
        for _ in range(100):
            now = place()
            if now == before:
                return now
            before = now
            time.sleep(0.05)
        pytest.fail(f"the page does not stand still: {before}")

    def value(self, name, attribute="value"):
        """What a widget holds, as the page has it."""
        return self.driver.execute_script(
            "return Bokeh.documents[0].get_model_by_name(arguments[0])[arguments[1]]", name, attribute
        )

    def disabled(self, name) -> bool:
        return self.value(name, "disabled")

    def ended(self) -> int:
        """How many searches have ended since the page was opened."""
        return self.driver.execute_script("return window.ended")

    def idle(self) -> bool:
        """Whether all is drawn."""
        return self.driver.execute_script(READY)

    def wide(self) -> int:
        """How wide the page is, with what one would have to scroll to."""
        self.until(self.idle)
        return self.driver.execute_script("return document.documentElement.scrollWidth")

    def links(self, name) -> "list[str]":
        return self.told(name, "e => [...e.querySelectorAll('a')].map(a => a.href)")

    def requests(self) -> "list[str]":
        """The addresses that the browser has asked for since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def until(self, true, seconds: float = 15):
        """Wait until it is true; gives what it was."""
        end = time.monotonic() + seconds
        while True:
            value = true()
            if value:
                return value
            if time.monotonic() > end:
                pytest.fail(f"not within {seconds} s: {true}; the page says {self.driver.execute_script(TOLD)!r}")
            time.sleep(0.05)

    def place(self, figure: int, x: float, y: float) -> "tuple[float, float]":
        """Where a point of the data of a figure is in the window, once it stands still; brings the figure into view."""
        return tuple(self.still(lambda: self.driver.execute_script(PLACE, figure, x, y)))

    def drag(self, start, end) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        chain = ActionChains(self.driver, duration=50)
        pointer = chain.w3c_actions.pointer_action
        pointer.move_to_location(*map(round, start))
        pointer.pointer_down()
        for share in (0.25, 0.5, 0.75, 1.0):
            pointer.move_to_location(*(round(a + share * (b - a)) for a, b in zip(start, end, strict=True)))
        pointer.pointer_up()
        chain.perform()

    def errors(self) -> "list[str]":
        """What the console says that should not be there; that a file which is no page has no icon may be."""
        said = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
        return [message for message in said if "/favicon.ico" not in message]

    def close(self) -> None:
        self.driver.quit()
        self._profile.cleanup()


TOLD = "return window.Bokeh && ['message', 'progress'].map(n => Bokeh.documents[0]?.get_model_by_name(n)?.text)"
PLACE = """
const plots = Bokeh.documents[0].roots().flatMap(root => [...root.references()]).filter(m => m.type == 'Figure');
const view = Bokeh.index.find_one([...new Set(plots)][arguments[0]]);
view.el.scrollIntoView({block: 'center'});
const box = view.canvas_view.el.getBoundingClientRect();
return [box.left + view.frame.x_scale.compute(arguments[1]), box.top + view.frame.y_scale.compute(arguments[2])]
"""
