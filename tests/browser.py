"""Chromium without a window, driven by selenium; Bokeh's widgets live in shadow roots, which are looked through."""

import shutil
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
READY = "return window.Bokeh && Bokeh.documents.length > 0 && Bokeh.documents[0].is_idle"


def why_not() -> str:
    """Why there is no browser to test with; empty if there is one."""
    try:
        import bokeh  # noqa: F401
        import selenium  # noqa: F401
    except ImportError as missing:
        return f"{missing.name} is not installed (extra test)"
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        return "no chromium: make browser"
    return ""


class Browser:
    """One browser with one or more tabs."""

    def __init__(self, downloads: Path, width: int = 1280, height: int = 900) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                         f"--window-size={width},{height}", "--force-device-scale-factor=1"):  # fmt: skip
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.driver.set_page_load_timeout(30)

    def open(self, url: str) -> None:
        self.driver.get(url)
        self.until(lambda: self.driver.execute_script(READY))
        self.until(lambda: self.find("ask", "button") is not None)

    def size(self, width: int, height: int = 900) -> None:
        """The size of the page itself, as of a phone."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )

    def find(self, name, selector=""):
        return self.driver.execute_script(NAMED, name, selector)

    def deep(self, selector):
        return self.driver.execute_script(DEEP, selector)

    def text(self, name) -> str:
        return self.driver.execute_script("return arguments[0]?.textContent", self.find(name, ".bk-clearfix")) or ""

    def markup(self, name) -> str:
        return self.driver.execute_script("return arguments[0]?.innerHTML", self.find(name, ".bk-clearfix")) or ""

    def choose(self, name, label) -> None:
        from selenium.webdriver.support.ui import Select

        Select(self.find(name, "select")).select_by_visible_text(label)

    def choices(self, name) -> "list[str]":
        from selenium.webdriver.support.ui import Select

        return [option.text for option in Select(self.find(name, "select")).options]

    def type(self, name, text) -> None:
        """Into an input, from the keyboard."""
        from selenium.webdriver.common.keys import Keys

        box = self.find(name, "input")
        box.click()
        box.send_keys(Keys.CONTROL, "a")
        box.send_keys(Keys.DELETE, text, Keys.ENTER)

    def press(self, name) -> None:
        button = self.find(name, "button")
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
        button.click()

    def disabled(self, name) -> bool:
        return self.driver.execute_script("return Bokeh.documents[0].get_model_by_name(arguments[0]).disabled", name)

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
        """Where a point of the data of a figure is in the window, and the figure is brought into view."""
        return tuple(self.driver.execute_script(PLACE, figure, x, y))

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
        """What the console says that should not be there."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def close(self) -> None:
        self.driver.quit()


TOLD = "return window.Bokeh && ['message', 'progress'].map(n => Bokeh.documents[0]?.get_model_by_name(n)?.text)"
PLACE = """
const plots = Bokeh.documents[0].roots().flatMap(root => [...root.references()]).filter(m => m.type == 'Figure');
const view = Bokeh.index.find_one([...new Set(plots)][arguments[0]]);
view.el.scrollIntoView({block: 'center'});
const box = view.canvas_view.el.getBoundingClientRect();
return [box.left + view.frame.x_scale.compute(arguments[1]), box.top + view.frame.y_scale.compute(arguments[2])]
"""
