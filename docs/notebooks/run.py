"""Run the notebooks of this folder and store their outputs: python docs/notebooks/run.py [--check]."""

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def output_of(code: str, names: dict[str, Any]) -> str:
    """Run a cell; return what it prints, and then the text of its last expression."""
    tree = ast.parse(code)
    last = None
    end = tree.body[-1] if tree.body else None
    if isinstance(end, ast.Expr):
        tree.body.pop()
        last = ast.Expression(end.value)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(tree, "cell", "exec"), names)  # noqa: S102 - the cells are those of this folder
        value = None
        if last is not None:
            value = eval(compile(last, "cell", "eval"), names)
    text = printed.getvalue()
    if value is not None:
        text += f"{value}\n"
    return text


@contextlib.contextmanager
def empty_folder() -> Iterator[None]:
    """Work in an empty folder, with an empty ledger of openings, and return."""
    before, data = Path.cwd(), os.environ.get("XDG_DATA_HOME")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_DATA_HOME"] = folder
        try:
            yield
        finally:
            os.chdir(before)
            os.environ.pop("XDG_DATA_HOME")
            if data is not None:
                os.environ["XDG_DATA_HOME"] = data


def executed(path: Path) -> dict[str, Any]:
    """Return a notebook with the outputs of its cells."""
    notebook: dict[str, Any] = json.loads(path.read_text("utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    number = 0
    with empty_folder():
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                continue
            number += 1
            text = output_of("".join(cell["source"]), names)
            cell["execution_count"] = number
            cell["outputs"] = []
            if text:
                lines = text.splitlines(keepends=True)
                cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": lines}]
    return notebook


def main() -> None:
    """Run all notebooks, and write those whose outputs have changed; with --check name them, and fail."""
    changed = []
    for path in sorted(FOLDER.glob("*.ipynb")):
        text = json.dumps(executed(path), ensure_ascii=False, indent=1) + "\n"
        if text != path.read_text("utf-8"):
            changed.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(text, "utf-8")
    print(f"changed: {', '.join(changed) or 'none'}")
    if changed and "--check" in sys.argv:
        sys.exit(1)


if __name__ == "__main__":
    main()
