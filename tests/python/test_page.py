# SPDX-License-Identifier: GPL-3.0-or-later
"""--html in a real Chromium: it loads from disk and asks no network, zooms, tells, searches, sorts, filters. Skipped where there is
neither playwright nor a chromium (CHROMIUM names one)."""

import os
import re
import shutil

import icisim
import pytest

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")


@pytest.fixture(scope="module")
def browser():
    if not CHROMIUM:
        pytest.skip("no chromium here")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def show(browser, request):
    """Opens a page, and sees to it that nothing goes wrong on it, nor to the network; a picture of it goes to ICISIM_PICTURES."""
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    wrong, asked = [], []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))

    def go(path):
        page.goto(path.as_uri())
        page.wait_for_selector("body[data-ready]", timeout=60000)
        return page

    go.page = page
    yield go
    assert not wrong and all(url.startswith(("file:", "data:")) for url in asked)
    if os.environ.get("ICISIM_PICTURES"):
        page.screenshot(path=os.path.join(os.environ["ICISIM_PICTURES"], request.node.name + ".png"), full_page=True)
    page.close()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "model.html"
    icisim.program("run", "workloads/by-hand/llama-8b.yaml", "--html", path)
    return path


def window(page):
    return [float(page.eval_on_selector("canvas", f"c => c.dataset.{name}")) for name in ("from", "to")]


def test_model(show, model):
    assert model.stat().st_size < 5_000_000
    page = show(model)
    told = icisim.run("workloads/by-hand/llama-8b.yaml")[0]
    answer = f"llama-8b.yaml takes {told.time_s * 1e3:.4g} ms on v5p 4x4x4, an MFU of {told.mfu_frac * 100:.1f} %"
    assert answer in page.inner_text("#answer")
    assert int(re.search(r"(\d+) spans", page.inner_text("#main"))[1]) > 5000
    assert "Equal layers" in page.inner_text("#main")
    assert page.locator("svg.waterfall rect").count() >= 2 and page.locator("svg.torus line").count() == 64 * 6
    # zoom in the middle, then pan
    box = page.locator("canvas").bounding_box()
    before = window(page)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 30)
    page.mouse.wheel(0, -600)
    page.wait_for_function("w => +document.querySelector('canvas').dataset.to < w", arg=before[1])
    zoomed = window(page)
    assert before[0] < zoomed[0] < zoomed[1] < before[1]
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 - 200, box["y"] + 30)
    page.mouse.up()
    assert window(page)[0] > zoomed[0]
    # what is under the mouse: somewhere along a row there is a span
    for x in range(200, int(box["width"]), 25):
        page.mouse.move(box["x"] + x, box["y"] + 30)
        if page.locator("#hover").is_visible():
            break
    assert re.search(r"from .*s", page.inner_text("#hover"))
    # search
    page.fill("input.search", "no such name")
    assert page.inner_text(".found").split()[0] == "0"
    page.fill("input.search", "reduce-scatter")
    assert int(page.inner_text(".found").split()[0]) > 10
    # the table of collectives: filter, and sort by a column
    table = page.locator("div.scroll table").first
    rows = table.locator("tbody tr").count()
    page.locator("input.filter").first.fill("reduce-scatter")
    assert 0 < table.locator("tbody tr").count() < rows


def test_many_spans(show, tmp_path):
    """As many events as a page has, above 100,000 spans: the first picture is there, and so is all the rest, within a time of the
    page's thread that is measured in loops of the same browser, so that neither a slow machine nor others on it matter."""
    step = ("workloads/by-hand/llama-70b.yaml", "--chip", "v5p", "--slice", "4x4x4", "--mesh", "fsdp=64", "--tokens-per-chip", "4096")
    icisim.program("run", *step, "--unroll", "--html", tmp_path / "m.html")
    assert (tmp_path / "m.html").stat().st_size < 5_000_000
    page = show.page
    metrics = page.context.new_cdp_session(page)
    metrics.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent_s():
        return {each["name"]: each["value"] for each in metrics.send("Performance.getMetrics")["metrics"]}["TaskDuration"]

    show(tmp_path / "m.html")
    took_s = spent_s()
    page.evaluate("() => { let x = 1; for (let i = 0; i < 3e8; i++) x = (x * 31 + i) | 0; return x; }")
    loops = took_s / (spent_s() - took_s)
    spans, picture = int(re.search(r"(\d+) spans", page.inner_text("#main"))[1]), float(page.eval_on_selector("body", "b => b.dataset.picture"))
    print(f"{spans} spans: {took_s:.2f} s of the page's thread, {loops:.2f} loops, picture after {picture:.0f} ms by the clock")
    assert 100_000 < spans < 150_000 and loops < 1.2


def test_points(show, tmp_path):
    icisim.program("run", "all-gather", "--slice", "4x4", "--size", "64MiB", "--ring", "uni,bidi,bidi-half", "--html", tmp_path / "p.html")
    page = show(tmp_path / "p.html")
    assert "all-gather of 67.11 MB: the fastest of 3 takes 705.1 us, with ring bidi" in page.inner_text("#answer")
    page.locator("tbody tr").first.click()
    page.wait_for_function("document.querySelectorAll('svg.torus line').length == 48")  # 2 (3 4 + 4 3) one-way links
    page.locator("svg.torus line").first.hover(force=True)
    assert "chip 0" in page.inner_text("#hover")


def test_search(show, tmp_path):
    icisim.program("sweep", "workloads/by-hand/llama-8b.yaml", "--chip", "v5p", "--chips", "16", "--mesh", "all", "--csv", tmp_path / "s.csv",
                   "--html", tmp_path / "s.html")
    rows = len((tmp_path / "s.csv").read_text().splitlines()) - 1
    page = show(tmp_path / "s.html")
    assert page.locator("svg.scatter").count() == 1 and page.locator("svg.scatter circle").count() == rows > 40
    # a dot tells which row it is, and a click shows where that row's time goes
    dot = page.locator("svg.scatter circle").nth(7)
    dot.hover(force=True)
    assert "memory_bytes" in page.inner_text("#hover") and "fsdp=" in page.inner_text("#hover")
    dot.click(force=True)
    page.wait_for_selector("svg.waterfall")
    assert page.locator("svg.waterfall rect").count() >= 2 and "model at the peak" in page.locator("svg.waterfall").text_content()
    page.locator("th", has_text="time_s").first.click()
    times = page.locator("tbody tr").first.inner_text()
    page.locator("th", has_text="time_s").first.click()
    assert page.locator("tbody tr").first.inner_text() != times
    page.locator("input.filter").first.fill("fsdp=16")
    assert 0 < page.locator("tbody tr").count() < rows


def test_rows_without_an_answer(show, tmp_path):
    """Rows without a time say why they have none; rows that all need too much memory say that they do."""
    step = ("sweep", "workloads/by-hand/llama-8b.yaml", "--mesh", "fsdp=64,tp=1", "--mesh", "fsdp=4,tp=16", "--csv", tmp_path / "n.csv")
    icisim.program(*step, "--dtype", "f64", "--html", tmp_path / "n.html")
    page = show(tmp_path / "n.html")
    assert "the spec profile has no peak rate for f64; give one, such as --peak f64=100Tflops" in page.inner_text("#answer")
    assert page.locator("tbody tr").count() == 2 and "fsdp=4,tp=16" in page.inner_text("tbody")
    step = ("run", "workloads/llama-8b.yaml", "--chip", "v5e", "--slice", "2x2", "--mesh", "fsdp=4", "--optimizer", "adamw")
    icisim.program(*step, "--html", tmp_path / "o.html")
    assert "but needs 37.01 GB of memory, which a chip does not have" in show(tmp_path / "o.html").inner_text("#answer")


def test_result_html(show, tmp_path):
    path = icisim.run("all-reduce", slice="2x4", size="3MB")[0].html(tmp_path / "r.html")
    assert "all-reduce of 3 MB takes" in show(tmp_path / "r.html").inner_text("#answer") and path.endswith("r.html")


def test_refused(tmp_path):
    for line in (["sweep", "all-gather", "--slice", "4x4", "--size", "1MiB", "--html", tmp_path / "x.html"],
                 ["run", "all-gather", "--slice", "4x4", "--size", "1MiB", "--html", tmp_path / "none" / "x.html"]):
        with pytest.raises(icisim.Error, match="--html"):
            icisim.program(*line)
    assert not list(tmp_path.iterdir())
