"""The dashboard in headless Chromium, by Playwright: submit, watch, cancel, download; dark, on a phone, by keys."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from serving import Server, folders

api = pytest.importorskip("playwright.sync_api", reason="the extra `browser` is not installed")
pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine: apt install chromium")
# Where pictures of the pages go, for a person to look at.
PICTURES = os.environ.get("ARCFLUX_PICTURES")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = Server(folders(tmp_path_factory.mktemp("dashboard")))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def browser():
    with api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


def _page(browser, server, **options):
    page = browser.new_context(**options).new_page()
    page.problems = []
    page.on("console", lambda said: page.problems.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on(
        "request",
        lambda asked: None if asked.url.startswith((server.url, "data:")) else page.problems.append(asked.url),
    )
    page.goto(f"{server.url}/?token={server.token}")
    page.get_by_text("live", exact=True).wait_for()
    assert "token" not in page.url
    return page


def _picture(page, name):
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/{name}.png", full_page=True)


def test_submit_watch_and_download(browser, server):
    page = _page(browser, server)
    page.select_option("#graph", "kron.arcflux")
    page.select_option("#task", "bfs")
    page.get_by_role("textbox", name="source").fill("3")
    page.get_by_role("button", name="Submit").click()
    page.locator("li.job .state.done").first.wait_for(timeout=180_000)
    assert page.locator("li.job svg rect").count() >= 3  # a bar for each superstep
    with page.expect_download() as caught:
        page.get_by_role("link", name="as csv").first.click()
    assert Path(caught.value.path()).read_text().startswith("vertex,level,parent\n")
    _picture(page, "done")
    assert page.problems == []


def test_cancel_by_keyboard_alone_in_the_dark(browser, server):
    page = _page(browser, server, color_scheme="dark")
    page.select_option("#task", "Endless")
    page.locator("#priority").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("li.job .state.running").first.wait_for(timeout=180_000)
    page.get_by_text("longer than predicted").first.wait_for()  # and not "0 ms left" for ever
    page.get_by_role("button", name="Cancel Endless").first.focus()
    page.wait_for_timeout(1500)  # the list is drawn again, and the focus stays
    assert page.evaluate("document.activeElement.textContent") == "Cancel"
    _picture(page, "dark")
    page.keyboard.press("Enter")
    page.locator("li.job .state.cancelled").first.wait_for(timeout=180_000)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 28)"
    assert page.problems == []


def test_a_phone_needs_no_sideways_scrolling_and_mistakes_are_told(browser, server):
    page = _page(browser, server, viewport={"width": 360, "height": 740}, has_touch=True)
    page.select_option("#task", "bfs")
    page.get_by_role("textbox", name="source").fill("nobody")
    page.get_by_role("button", name="Submit").click()
    page.locator("li.job .state.failed").first.wait_for(timeout=180_000)
    page.locator("#priority").evaluate("one => { one.removeAttribute('max'); one.value = 99; }")
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("alert").filter(has_text="from -10 to 10").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    _picture(page, "phone")
    assert [said for said in page.problems if "422" not in said] == []
