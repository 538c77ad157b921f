"""The notebooks of the documentation have run, and run again to what they hold."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "docs/notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_has_run_in_order_and_holds_no_path_of_a_machine(path: Path) -> None:
    text = path.read_text("utf-8")
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert sum(bool(cell["outputs"]) for cell in cells) >= 2
    assert "/tmp" not in text
    assert "Traceback" not in text


@pytest.mark.slow
def test_they_run_again_to_the_same_outputs() -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / "run.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
