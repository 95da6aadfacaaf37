"""The viewer's page in a real browser: what a person does, and what a person then sees. No sleeps: conditions."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import browsers
import timebound as tb
from timebound.viewer.race import Crowd, Race
from timebound.viewer.replay import save_replay
from timebound.viewer.server import Viewer

pytestmark = pytest.mark.once

ROWS, COLS = 16, 24
SPECS = ["a*", "tba*", "tb-wa*:weight=3"]
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


def world() -> tb.Grid:
    cells = [[1] * COLS for _ in range(ROWS)]
    for row in range(4, 12):
        cells[row][8] = 0
    return tb.Grid(cells, terrain=True)


def race() -> Race:
    return Race(world(), SPECS, (8, 2), (8, 21), budget=20)


def crowd() -> Crowd:
    fleet = tb.Fleet(world(), "tba*", frame_expansions=3000)
    fleet.add([(row, col) for row in range(3, 13) for col in range(2, 8)], [(row, 20) for row in range(3, 13)] * 6)
    return Crowd(fleet)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    pytest.importorskip("playwright")
    if browsers.executable() is None:
        if browsers.required():
            pytest.fail("no browser, and TIMEBOUND_REQUIRE_BROWSER is set; make browser installs one")
        pytest.skip("no browser: make browser looks for one and installs it where it can")
    with browsers.launched() as found:
        yield found


@pytest.fixture(scope="module")
def viewer() -> Iterator[Viewer]:
    with Viewer(race, speed=500.0, most_tabs=40) as found:
        yield found


class Window:
    """A page of the viewer and what a person can see on it."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.complaints = page, []
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda text: text.type == "error" and self.complaints.append(text.text))
        page.goto(address)
        self.until(lambda: self.is_("ready", "true") and self.lane(0, "tick") is not None)

    def until(self, condition: Callable[[], Any], seconds: float = 30.0) -> None:
        last = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > last:
                self.page.screenshot(path="out/viewer-failure.png")
                raise AssertionError(f"it did not come about: {self.page.evaluate(_LOOK)} {self.complaints}")
            self.page.wait_for_timeout(15)

    def look(self, name: str) -> str | None:
        return self.page.evaluate("name => document.querySelector('.tbv').dataset[name] ?? null", name)

    def is_(self, name: str, value: str) -> bool:
        return self.look(name) == value

    @property
    def tick(self) -> int:
        return int(self.look("tick") or 0)

    def lane(self, k: int, name: str) -> str | None:
        return self.page.evaluate(
            "([k, name]) => document.querySelectorAll('.tbv-lane')[k]?.dataset[name] ?? null", [k, name]
        )

    def statuses(self) -> list[str]:
        return self.page.eval_on_selector_all(".tbv-lane", "lanes => lanes.map((lane) => lane.dataset.status)")

    def words(self) -> list[str]:
        return self.page.locator(".tbv-status").all_inner_texts()

    def specs(self) -> list[str]:
        return self.page.eval_on_selector_all(".tbv-lane", "lanes => lanes.map((lane) => lane.dataset.spec)")

    def act(self, name: str) -> None:
        self.page.locator(f"[data-act={name}]").first.click()

    def tool(self, name: str) -> None:
        self.page.locator(f"[data-tool={name}]").click()

    def spot(self, row: int, col: int, lane: int = 0) -> tuple[float, float]:
        """Where a cell is on the page, once its layout has settled."""
        self.until(lambda: self.page.evaluate(_SETTLED))
        return tuple(self.page.evaluate(_SPOT, [row, col, lane]))

    def drag(self, *cells: tuple[int, int], lane: int = 0) -> None:
        self.page.mouse.move(*self.spot(*cells[0], lane))
        self.page.mouse.down()
        for cell in cells[1:]:
            self.page.mouse.move(*self.spot(*cell, lane), steps=3)
        self.page.mouse.up()

    def free(self, row: int, col: int) -> bool:
        return bool(self.page.evaluate("cell => timebound.live.ground.free[cell]", row * COLS + col))


_LOOK = "() => [{...document.querySelector('.tbv').dataset}, document.querySelector('.tbv-toast').textContent]"
_SETTLED = """() => timebound.cards.every(({ picture, frame }) =>
  picture.width === frame.clientWidth && picture.height === frame.clientHeight)"""
_SPOT = """([row, col, lane]) => {
  const { camera, cards } = timebound;
  const box = cards[lane].picture.canvas.getBoundingClientRect();
  return [box.left + box.width / 2 + (col + 0.5 - camera.col) * camera.scale,
          box.top + box.height / 2 + (row + 0.5 - camera.row) * camera.scale];
}"""


@pytest.fixture
def window(browser: Any, viewer: Viewer) -> Iterator[Window]:
    context = browser.new_context(viewport=WIDE)
    found = Window(context.new_page(), viewer.address)
    yield found
    context.close()
    assert found.complaints == []


def all_are(window: Window, status: str, lanes: int = 3) -> Callable[[], bool]:
    return lambda: window.statuses() == [status] * lanes


# ------------------------------------------------------------------------------------------------ a race


def test_a_wall_across_all_ways_and_its_end(window: Window) -> None:
    window.tool("wall")
    window.drag((0, 14), (ROWS - 1, 14), lane=1)
    window.until(lambda: not window.free(ROWS - 1, 14))
    assert not any(window.free(row, 14) for row in range(ROWS))
    window.act("play")
    window.until(all_are(window, "unreachable"))
    assert window.words() == ["unreachable"] * 3
    window.tool("erase")
    window.drag((0, 14), (ROWS - 1, 14))
    window.until(all_are(window, "reached"))
    assert all(window.free(row, 14) for row in range(ROWS))
    window.tool("mud")
    window.drag((2, 2), (2, 5))
    window.until(lambda: window.page.evaluate("timebound.live.ground.costs[2 * 24 + 4]") > 1)
    assert window.free(2, 4)


def test_goal_and_start_are_dragged_and_clicked(window: Window) -> None:
    window.act("play")
    window.until(all_are(window, "reached"))
    window.drag((8, 21), (10, 18), (14, 15), lane=2)
    there = str(14 * COLS + 15)
    window.until(lambda: [window.lane(k, "goal") for k in range(3)] == [there] * 3)
    window.until(lambda: [window.lane(k, "position") for k in range(3)] == [there] * 3)
    window.tool("goal")
    window.page.mouse.click(*window.spot(1, 1))
    window.until(lambda: [window.lane(k, "position") for k in range(3)] == [str(COLS + 1)] * 3)
    window.tool("start")
    window.page.mouse.click(*window.spot(15, 23))  # all begin anew there
    window.until(lambda: window.page.evaluate("timebound.live.lanes[0].trail.data[0]") == 15 * COLS + 23)
    window.until(all_are(window, "reached"))


def test_algorithms_parameters_and_budget_are_changed(window: Window) -> None:
    window.page.locator(".tbv-lane").nth(1).locator("[data-act=change]").click()
    window.page.locator("dialog select[name=algorithm]").select_option("tb-wa*")
    window.page.locator("dialog [data-parameter=weight]").fill("7")
    window.page.locator("dialog button[type=submit]").click()
    window.until(lambda: window.specs() == ["a*", "tb-wa*:weight=7", "tb-wa*:weight=3"])
    window.act("add")
    window.page.locator("dialog select[name=algorithm]").select_option("tba*")
    window.page.locator("dialog [data-parameter=shortcut]").check()
    window.page.locator("dialog button[type=submit]").click()
    window.until(lambda: len(window.specs()) == 4 and window.specs()[3] == "tba*:shortcut=true")
    window.page.locator(".tbv-lane").nth(0).locator("[data-act=change]").click()
    window.page.locator("dialog .tbv-text", has_text="Remove").click()
    window.until(lambda: len(window.specs()) == 3)
    window.page.locator(".tbv-budget").fill("many")
    window.page.keyboard.press("Enter")
    window.until(lambda: "many" in window.page.locator(".tbv-toast").inner_text())
    window.page.locator(".tbv-budget").fill("7")
    window.page.keyboard.press("Enter")
    window.until(lambda: window.page.evaluate("timebound.hello.budget") == "7")
    window.act("play")
    window.until(all_are(window, "reached"))


def test_time_goes_back_and_forth(window: Window) -> None:
    window.page.evaluate("timebound.setSpeed(60)")
    window.act("play")
    window.until(all_are(window, "reached"))
    last, there = window.tick, window.lane(0, "position")
    stops = window.page.evaluate("timebound.timeline.length")
    slider = window.page.locator("[data-act=timeline]")
    slider.evaluate("(one, value) => { one.value = value; one.dispatchEvent(new Event('input')); }", stops // 2)
    window.until(lambda: window.is_("time", "past") and 0 < window.tick < last)
    middle, trail = window.tick, window.page.evaluate("timebound.scene.lanes[0].trail.length")
    assert window.statuses() == ["active"] * 3
    window.page.keyboard.press("[")
    window.until(lambda: window.tick < middle)
    window.page.keyboard.press("]")
    window.until(lambda: window.tick == middle)
    assert window.page.evaluate("timebound.scene.lanes[0].trail.length") == trail
    window.tool("wall")
    window.page.mouse.click(*window.spot(1, 1))
    window.until(lambda: "past" in window.page.locator(".tbv-toast").inner_text())
    window.act("play")  # plays what was, until now
    window.until(lambda: window.is_("time", "live"))
    assert (window.tick, window.lane(0, "position")) == (last, there)
    slider.evaluate("one => { one.value = 0; one.dispatchEvent(new Event('input')); }")
    window.until(lambda: window.is_("time", "past") and window.tick == 0)
    window.act("live")
    window.until(lambda: window.is_("time", "live") and window.tick == last)
    assert window.free(1, 1)


def test_layers_zoom_and_values_under_the_pointer(window: Window) -> None:
    window.act("play")
    window.until(all_are(window, "reached"))
    window.page.mouse.move(*window.spot(8, 3))
    window.until(lambda: "(8, 3)" in window.page.locator(".tbv-values").inner_text())
    # A* has been there: one step from the start, and g + h = f.
    g, h, f = map(float, window.page.locator(".tbv-values tr").nth(1).locator("td").all_inner_texts()[:3])
    assert g == 1
    assert f == pytest.approx(g + h, abs=0.1)
    window.page.mouse.move(*window.spot(6, 8))
    window.until(lambda: "wall" in window.page.locator(".tbv-values").inner_text())
    pixels = "() => Array.from(timebound.cards[0].picture.cells.pixels).reduce((sum, one) => (sum * 31 + one) % 1e9, 7)"
    before = window.page.evaluate(pixels)
    for layer in ("trail", "closed", "open"):
        window.page.locator(f"[data-layer={layer}]").uncheck()
        window.until(lambda: window.page.evaluate(pixels) != before)
        window.page.locator(f"[data-layer={layer}]").check()
        window.until(lambda: window.page.evaluate(pixels) == before)
    scale = window.page.evaluate("timebound.camera.scale")
    window.page.mouse.move(*window.spot(8, 12))
    window.page.mouse.wheel(0, -600)
    window.until(lambda: window.page.evaluate("timebound.camera.scale") > scale * 1.5)
    where = window.page.evaluate("timebound.camera.row")
    window.drag((8, 11), (10, 13))
    window.until(lambda: window.page.evaluate("timebound.camera.row") < where)
    window.act("fit")
    window.until(lambda: window.page.evaluate("timebound.camera.scale") == scale)


def test_all_by_the_keyboard(window: Window) -> None:
    page = window.page
    page.keyboard.press("?")
    window.until(lambda: page.locator("dialog").is_visible())
    page.keyboard.press("Escape")
    window.until(lambda: not page.locator("dialog").count())
    page.keyboard.press("n")
    window.until(lambda: window.tick == 1)
    for _ in range(60):  # to the first map, whatever lies before it
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "CANVAS":
            break
    assert page.evaluate("document.activeElement.tagName") == "CANVAS"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("w")
    page.keyboard.press("Shift+ArrowUp")
    row, col = map(int, (window.look("cursor") or "").split(","))
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    window.until(lambda: not window.free(row, col + 1))
    page.keyboard.press("g")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Enter")
    row, col = map(int, (window.look("cursor") or "").split(","))
    window.until(lambda: window.lane(2, "goal") == str(row * COLS + col))
    page.keyboard.press(" ")
    window.until(all_are(window, "reached"))
    page.keyboard.press("r")
    window.until(lambda: window.tick < 5)
    page.keyboard.press(" ")
    page.keyboard.press(".")
    page.keyboard.press("d")
    window.until(lambda: window.is_("theme", "dark") and window.is_("playing", "false"))
    page.keyboard.press("c")
    page.keyboard.press("t")  # the choice of an algorithm has the focus
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    page.keyboard.type("9")
    page.keyboard.press("Enter")
    window.until(lambda: page.evaluate("timebound.hello.budget") == "9")


# ------------------------------------------------------------------------------------------------ tabs


def test_a_reload_finds_its_race_and_two_tabs_have_two(window: Window, viewer: Viewer) -> None:
    window.act("tick")
    window.act("tick")
    window.until(lambda: window.tick == 2)
    other = Window(window.page.context.new_page(), viewer.address)
    assert other.tick == 0
    other.act("play")
    other.until(all_are(other, "reached"))
    assert window.tick == 2
    tabs = viewer.tabs
    window.page.reload()
    window.until(lambda: window.is_("ready", "true") and window.tick == 2)
    assert viewer.tabs <= tabs  # those of other tests may have ended meanwhile
    other.page.close()
    window.act("play")
    window.until(all_are(window, "reached"))


def test_dark_and_a_phone(browser: Any, viewer: Viewer) -> None:
    context = browser.new_context(viewport=PHONE, color_scheme="dark", has_touch=True, reduced_motion="reduce")
    window = Window(context.new_page(), viewer.address)
    assert window.is_("theme", "dark")
    colours = "getComputedStyle(document.querySelector('.tbv')).backgroundColor"
    dark = window.page.evaluate(colours)
    assert window.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    # Everything that can be tapped is on the screen, or in what scrolls on it.
    outside = """() => [...document.querySelectorAll('.tbv button, .tbv input')].filter((one) => {
      const box = one.getBoundingClientRect();
      return box.width && (box.left < 0 || box.right > innerWidth);
    }).map((one) => one.title || one.getAttribute('aria-label'))"""
    assert window.page.evaluate(outside) == []
    window.page.locator("[data-act=theme]").tap()
    window.until(lambda: window.is_("theme", "light"))
    assert window.page.evaluate(colours) != dark
    window.page.locator("[data-act=side]").tap()
    window.page.locator("dialog [data-layer=trail]").uncheck()
    window.page.locator("dialog button[aria-label=Close]").tap()
    assert window.page.evaluate("timebound.layers.trail") is False
    # A tap paints, two fingers zoom.
    window.page.locator("[data-tool=wall]").tap()
    window.page.touchscreen.tap(*window.spot(1, 12))
    window.until(lambda: not window.free(1, 12))
    scale = window.page.evaluate("timebound.camera.scale")
    x, y = window.spot(8, 12)
    fingers = context.new_cdp_session(window.page)
    for kind, apart in (("touchStart", 20), ("touchMove", 40), ("touchMove", 80), ("touchEnd", None)):
        points = [] if apart is None else [{"x": x - apart, "y": y, "id": 1}, {"x": x + apart, "y": y, "id": 2}]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    window.until(lambda: window.page.evaluate("timebound.camera.scale") > scale * 2)
    assert window.page.evaluate("timebound.live.ground.painted.size") == 1  # fingers that zoom do not paint
    window.act("play")  # a click: so soon after two fingers, a browser may take a tap for a part of their gesture
    window.until(all_are(window, "reached"))
    context.close()
    assert window.complaints == []


# ------------------------------------------------------------------------------------------------ crowds and replays


def test_a_crowd(browser: Any) -> None:
    with Viewer(crowd, speed=200.0) as viewer:
        context = browser.new_context(viewport=WIDE)
        window = Window(context.new_page(), viewer.address)
        assert "60 units" in window.specs()[0]
        window.act("play")
        window.until(lambda: window.tick > 5)
        window.act("play")
        window.until(lambda: window.is_("playing", "false"))
        before = window.page.evaluate("Array.from(timebound.live.crowd.cells)")
        assert len(before) == 60
        assert len(set(before)) > 5
        window.tool("goal")
        window.page.mouse.click(*window.spot(15, 0))
        window.act("play")
        window.until(lambda: set(window.page.evaluate("Array.from(timebound.live.crowd.cells)")) == {15 * COLS})
        window.act("restart")
        window.until(lambda: window.tick < 5)
        assert window.complaints == []
        context.close()


def test_a_replay_plays_from_a_file(browser: Any, tmp_path: Path) -> None:
    save_replay(race(), tmp_path / "race.html", title="<b>race</b>", name="</script>")
    context = browser.new_context(viewport=WIDE)
    requests: list[str] = []
    page = context.new_page()
    page.on("request", lambda request: requests.append(request.url))
    window = Window(page, (tmp_path / "race.html").as_uri())
    assert page.title() == "<b>race</b>"
    window.page.evaluate("timebound.setSpeed(500)")
    window.until(all_are(window, "reached"))
    window.until(lambda: window.is_("playing", "false"))
    end = window.tick
    page.keyboard.press("r")
    window.until(lambda: window.tick == 0)
    page.keyboard.press("]")
    window.until(lambda: window.tick == 1)
    page.keyboard.press(" ")
    window.until(lambda: window.tick == end)
    assert not page.locator("[data-tool=wall]").is_visible()
    assert all(one.startswith(("file:", "data:", "blob:")) for one in requests)
    assert json.loads(page.evaluate("JSON.stringify(timebound.hello.name)")) == "</script>"
    assert window.complaints == []
    context.close()


def test_the_same_page_in_a_notebook(browser: Any) -> None:
    pytest.importorskip("anywidget")
    cell = tb.widget(world(), SPECS, (8, 2), (8, 21), budget=20, speed=500.0, height=500)
    sent: list[Any] = []
    cell.send = lambda content, buffers=(): sent.append([content, [list(one) for one in buffers]])

    def kernel(message: Any) -> list[Any]:
        sent.clear()
        cell.hear(message)
        return list(sent)

    context = browser.new_context(viewport=WIDE)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.expose_function("kernel", kernel)
    script = cell._esm.replace("export default", "globalThis.widget =")
    page.set_content(f"<style>{cell._css}</style><p>A notebook.</p><div id=cell></div>")
    page.add_script_tag(content=script, type="module")
    _until(page, lambda: page.evaluate("typeof widget") == "object")
    # What a notebook does: messages go to the kernel, and what it answers comes as objects and buffers.
    page.evaluate("""() => {
      let hear = null;
      const model = {
        get: () => 500,
        on: (_, listener) => { hear = listener; },
        send: (message) => kernel(message).then((answers) => {
          const view = (one) => new DataView(new Uint8Array(one).buffer);
          for (const [content, buffers] of answers) hear(content, buffers.map(view));
        }),
      };
      widget.render({ model, el: document.getElementById("cell") });
    }""")
    lanes = "() => [...document.querySelectorAll('.tbv-lane')].map((one) => one.dataset.status)"
    await_ = lambda wanted: _until(page, lambda: page.evaluate(lanes) == wanted)  # noqa: E731
    await_(["active"] * 3)
    page.locator("[data-act=play]").click()
    await_(["reached"] * 3)
    assert page.locator(".tbv").bounding_box()["height"] == 500
    assert complaints == []
    context.close()


def _until(page: Any, condition: Callable[[], Any], seconds: float = 30.0) -> None:
    last = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < last
        page.wait_for_timeout(15)
