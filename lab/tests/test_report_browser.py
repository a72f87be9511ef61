"""The page as a browser shows it: headless Chromium opens it from a file and looks."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest
from report_records import page_of, record_of

from mldsa_lab.estimate.summary import Summary, summarise
from mldsa_lab.files import write_text
from mldsa_lab.show.grid import estimate
from mldsa_lab.show.remarks import unit_of

pytestmark = pytest.mark.browser

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--enable-logging=stderr", "--virtual-time-budget=5000",
    "--allow-file-access-from-files",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> str:
    found = os.environ.get("CHROME") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        text = "no Chromium or Chrome on PATH, and CHROME names none"
        if os.environ.get("MLDSA_EXPECT_BROWSER") == "1":
            pytest.fail(f"{text}, though MLDSA_EXPECT_BROWSER=1")
        pytest.skip(text)
    return found


@pytest.fixture(scope="module")
def summary() -> Summary:
    """Two sets with every kind of row."""
    return summarise(record_of(
        sets=("ML-DSA-44", "ML-DSA-87", "Ed25519"), refused=("fips204:portable:compact",),
        crashed="circl:go:compact", batch_sizes=(1, 8, 1000), thread_counts=(1, 2, 16),
    ))  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, summary: Summary) -> Path:
    """A folder with the page of `summary`."""
    folder = tmp_path_factory.mktemp("browser")
    write_text(folder / "page.html", page_of(summary.record))
    return folder


def run(browser: str, page: Path, *flags: str) -> tuple[str, str]:
    """What the browser writes (its DOM with --dump-dom), and the console's messages."""
    profile = page.parent / f"profile-{len(list(page.parent.glob('profile-*')))}"
    done = subprocess.run(
        [browser, *FLAGS, f"--user-data-dir={profile}", *flags, page.resolve().as_uri()],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout, "\n".join(t for t in done.stderr.splitlines() if "CONSOLE" in t)


def probe(browser: str, folder: Path, name: str, width: int, script: str) -> str:
    """The result of `script`, a function body over `doc` and `win` of the page in a frame of
    `width` pixels; the page's own policy lets no foreign script run in it."""
    outer = folder / f"{name}.html"
    outer.write_text(
        f"""<!doctype html><iframe id="f" src="page.html" style="width:{width}px;height:900px;
border:0"></iframe><pre id="out">nothing</pre><script>
document.getElementById("f").addEventListener("load", (event) => {{
  const win = event.target.contentWindow, doc = event.target.contentDocument;
  const result = (() => {{ {script} }})();
  document.getElementById("out").textContent = result;
}});</script>""",
        encoding="utf-8",
    )
    dom, console = run(browser, outer, "--dump-dom")
    assert console == ""
    found = re.search(r'<pre id="out">(.*?)</pre>', dom, flags=re.S)
    assert found is not None
    return unescape(found[1])


def test_the_console_check_sees_errors(browser: str, tmp_path: Path) -> None:
    page = tmp_path / "broken.html"
    page.write_text("<!doctype html><script>nonsense()</script>")
    assert "nonsense is not defined" in run(browser, page, "--dump-dom")[1]


def test_the_page_loads_whole_and_without_complaint(
    browser: str, summary: Summary, folder: Path
) -> None:
    dom, console = run(browser, folder / "page.html", "--dump-dom")
    assert console == ""
    # Overviews, operations, batches, threads, classical schemes twice, gate, workers, variants.
    assert dom.count('<table class="results sortable') == 4 + 6 + 6 + 9 + 2 + 3
    assert dom.count("single calls, compact key") == dom.count("expanded keys and batches") == 2
    # Rankings and ratios; parts, two laws and nine clouds in each set.
    assert dom.count("<svg ") == 12 + 2 * (3 + 9) + 6 + 2 * 9
    assert len(re.findall(r"<th [^>]*><button ", dom)) > 6 * 3, "the headings became buttons"
    for cells in summary.tables.values():
        for cell in cells:
            assert estimate(cell.mean, unit_of(cells)).value in dom


@pytest.mark.parametrize("width", [320, 768, 1280])
def test_nothing_sticks_out_or_overlaps(browser: str, folder: Path, width: int) -> None:
    problems = probe(
        browser, folder, f"overlap{width}", width,
        """
  let seen = 0;
  const found = [], root = doc.documentElement;
  if (root.scrollWidth > win.innerWidth) found.push(`page is ${root.scrollWidth} wide`);
  for (const svg of doc.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect();
    if (frame.width === 0) continue;
    const label = svg.getAttribute("aria-label").slice(0, 50);
    const texts = [...svg.querySelectorAll("text")].map((t) => [t.getBoundingClientRect(), t]);
    seen += texts.length;
    texts.forEach(([a, t], i) => {
      if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 1 ||
          a.bottom > frame.bottom + 1) found.push(`${label}: "${t.textContent}" is cut off`);
      for (const [b, u] of texts.slice(i + 1)) {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        // Boxes hold room for accents, so lines of text may touch by a few pixels.
        const texts = `"${t.textContent}" on "${u.textContent}"`;
        if (across > 1 && down > 4) found.push(`${label}: ${texts}`);
      }
    });
  }
  if (seen < 500) found.push(`only ${seen} texts seen`);
  return found.length ? found.join("\\n") : "none";
""",
    )  # fmt: skip
    assert problems == "none"


def test_a_click_sorts_by_number_and_back(browser: str, summary: Summary, folder: Path) -> None:
    result = probe(
        browser, folder, "sort", 1280,
        """
  const button = [...doc.querySelectorAll("th button")].find((b) => b.textContent === "p50");
  const table = button.closest("table");
  const column = button.parentElement.cellIndex;
  const values = () => [...table.tBodies[0].rows].map((r) => Number(r.cells[column].dataset.value));
  button.click(); const up = values(); button.click(); const down = values();
  return JSON.stringify([up, down, button.parentElement.getAttribute("aria-sort")]);
""",
    )  # fmt: skip
    up, down, state = json.loads(result)
    medians = (cell.value("quantile", percentile=50) for cell in summary.table("ML-DSA-44", "sign"))
    expected = sorted(value for value in medians if value is not None)
    assert up == pytest.approx(expected) and down == pytest.approx(expected[::-1])
    assert state == "descending"


def test_languages_are_chosen_by_a_click(browser: str, folder: Path) -> None:
    script = """
  const buttons = [...doc.querySelectorAll(".filter button")];
  const rows = [...doc.querySelectorAll("tr[data-tag]")];
  const seen = () => [...new Set(rows.filter((r) => !r.hidden).map((r) => r.dataset.tag))].sort();
  const found = [seen()];
  for (const n of [0, 1, 2, 2, 2]) { buttons[n].click(); found.push(seen()); }
  return JSON.stringify([buttons.map((b) => b.textContent), ...found]);
"""
    names, *found = json.loads(probe(browser, folder, "filter", 1250, script))
    # Only that one, another too, all, the last one, and, with none left, all.
    assert names == ["C", "Go", "Rust"]
    assert found == [names, ["C"], ["C", "Go"], names, ["Rust"], names]
