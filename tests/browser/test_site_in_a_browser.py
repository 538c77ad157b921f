"""The built documentation, opened from a folder: its search works, and nothing is fetched."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.browser


def test_the_search_works_in_a_folder(tmp_path: Path, browser: Any) -> None:
    for package in ("mkdocs", "mkdocstrings"):
        pytest.importorskip(package, reason="pip install -e '.[docs]'")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--quiet",
        "--strict",
        "--site-dir",
        str(tmp_path / "site"),
    ]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=600)
    context = browser.new_context()
    page = context.new_page()
    fetched = []
    page.on("request", lambda request: fetched.append(request.url))
    page.goto((tmp_path / "site" / "report.html").as_uri())
    page.locator("[data-md-component=search-query]").fill("threshold")
    page.wait_for_selector(".md-search-result__item")
    assert page.locator(".md-search-result__item").count() > 1
    assert [url for url in fetched if not url.startswith("file:")] == []
    context.close()
