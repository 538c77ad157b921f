"""Rows a second against an endpoint on this machine: bare aiohttp, DSPy's acall, and jurist run, in turn.

    python benchmarks/throughput.py                                   # all of docs/measured.md's table
    python benchmarks/throughput.py --delays 0.05 --concurrency 256 --repeats 1

Every client is a process of its own and asks the same questions (FECT's basic prompt, conversations of ``--size``
characters) of the same server, another process, which answers at once or after a delay. Clients take turns, and the
table shows medians. CPU is that of the client alone, its start and its imports left out; with two cores the server
takes one of them. A few rows go before those that are measured. Memory is the peak of the whole process.
"""

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

_WARM = 32
_REPLY = "[[ ## factual ## ]]\nTrue\n\n[[ ## completed ## ]]"
_ANSWER = {
    "id": "one",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": _REPLY}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010},
}


def main() -> int:
    """Print the table, or be one of the processes that it takes."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rows", type=int, default=4000)
    options.add_argument("--size", type=int, default=4000, help="characters of a row")
    options.add_argument("--delays", type=float, nargs="+", default=[0.0, 0.05], help="seconds")
    options.add_argument("--concurrency", type=int, nargs="+", default=[16, 64, 256])
    options.add_argument("--clients", nargs="+", default=list(CLIENTS), choices=CLIENTS)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    options.add_argument("--ask", help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.serve is not None:
        asyncio.run(serve(arguments.serve))
    elif arguments.ask is not None:
        print(json.dumps(measured(arguments.clients[0], arguments)))
    else:
        table(arguments)
    return 0


def table(arguments: argparse.Namespace) -> None:
    """Run all clients in turn and print a table of medians."""
    print(
        "| delay, concurrency | client | rows/s | of bare | CPU s per 1,000 rows | MB |\n" + "|---" * 6 + "|"
    )
    for delay in arguments.delays:
        with server(delay) as address:
            for concurrency in arguments.concurrency:
                found: dict[str, list[dict[str, float]]] = {name: [] for name in arguments.clients}
                for _ in range(arguments.repeats):
                    for name in arguments.clients:
                        found[name].append(in_a_process(name, address, concurrency, arguments))
                rows = {name: _median(runs) for name, runs in found.items()}
                most = rows.get("bare", {"rows": float("nan")})["rows"]
                for name, row in rows.items():
                    print(
                        f"| {delay * 1000:.0f} ms, {concurrency} | {name} | {row['rows']:.0f} "
                        f"| {row['rows'] / most:.2f} | {row['cpu']:.2f} | {row['mb']:.0f} |",
                        flush=True,
                    )


def _median(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def in_a_process(
    name: str, address: str, concurrency: int, arguments: argparse.Namespace
) -> dict[str, float]:
    """Measure one client in a new process."""
    told = ["--ask", address, "--clients", name, "--concurrency", str(concurrency)]
    told += ["--rows", str(arguments.rows), "--size", str(arguments.size)]
    quiet = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "true"}  # no look for newer prices in the network
    done = subprocess.run(
        [sys.executable, __file__, *told], stdout=subprocess.PIPE, text=True, check=True, env=quiet
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def measured(name: str, arguments: argparse.Namespace) -> dict[str, float]:
    """Run one client in this process; return rows a second, CPU seconds per 1,000 rows, and the peak in MB."""
    number, concurrency = arguments.rows, arguments.concurrency[0]
    rows = [
        {"conversation": _talk(row, arguments.size), "claim": f"The customer wants {row}."}
        for row in range(number + _WARM)
    ]
    CLIENTS[name](arguments.ask, rows[number:], concurrency)()  # imports what is imported late
    work = CLIENTS[name](arguments.ask, rows[:number], concurrency)
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"rows": number / clock, "cpu": cpu / number * 1000, "mb": peak}


def _talk(row: int, size: int) -> str:
    line = f"Agent: Hello {row}, how can I help?\nCustomer: My kettle number {row} leaks, and I want it replaced.\n"
    return (line * (size // len(line) + 1))[:size]


def bare(address: str, rows: list[dict[str, str]], concurrency: int) -> Callable[[], Any]:
    """Return the practical limit: the messages as JSON, and nothing else."""
    import dspy

    from jurist.signatures.fect import FectBasic

    marks = {"conversation": "<one>", "claim": "<two>"}
    messages = dspy.ChatAdapter().format(FectBasic, [], marks)
    last = str(messages[-1]["content"])

    async def work() -> None:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def one(row: dict[str, str]) -> None:
                text = last.replace("<one>", row["conversation"]).replace("<two>", row["claim"])
                body = {"model": "m", "messages": [*messages[:-1], {"role": "user", "content": text}]}
                async with session.post(f"{address}/chat/completions", json=body) as reply:
                    assert (await reply.json())["choices"][0]["message"]["content"]

            await together(one, rows, concurrency)

    return lambda: asyncio.run(work())


def acall(address: str, rows: list[dict[str, str]], concurrency: int) -> Callable[[], Any]:
    """Return DSPy's own asynchronous way, as its documentation has it."""
    import dspy

    from jurist.signatures.fect import FectBasic

    predict = dspy.Predict(FectBasic)
    model = dspy.LM("openai/m", api_base=address, api_key="none", cache=False)

    async def one(row: dict[str, str]) -> None:
        assert (await predict.acall(**row)).factual

    async def work() -> None:
        with dspy.context(lm=model, adapter=dspy.ChatAdapter()):
            await together(one, rows, concurrency)

    return lambda: asyncio.run(work())


def jurist_run(address: str, rows: list[dict[str, str]], concurrency: int) -> Callable[[], Any]:
    """Return ``jurist run``: from the file of rows to the file of verdicts, with its journal."""
    import dspy  # noqa: F401 - importing it is no part of what is measured

    from jurist.cli import main as command

    folder = tempfile.TemporaryDirectory()
    source, output = Path(folder.name, "rows.jsonl"), Path(folder.name, "verdicts.jsonl")
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    told = ["run", "fect:basic", "--input", str(source), "--output", str(output), "--yes"]
    told += ["--model", "openai/m", "--api-base", address, "--concurrency", str(concurrency)]
    told += ["--store", str(Path(folder.name, "store"))]

    def work() -> None:
        assert command(told) == 0
        assert output.read_text(encoding="utf-8").count("\n") == len(rows)
        folder.cleanup()

    return work


async def together(
    one: Callable[[dict[str, str]], Awaitable[None]], rows: list[dict[str, str]], concurrency: int
) -> None:
    """Do ``one`` for each row, with so many in flight."""
    left = iter(rows)

    async def worker() -> None:
        for row in left:
            await one(row)

    await asyncio.gather(*(worker() for _ in range(concurrency)))


async def serve(delay: float) -> None:
    """Answer every request in the same way, and print the port."""
    data = json.dumps(_ANSWER).encode()

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(delay)
        return web.Response(body=data, content_type="application/json")

    app = web.Application(client_max_size=2**24)
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


@contextmanager
def server(delay: float) -> Iterator[str]:
    """Start the server in another process and give its address."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--serve", str(delay)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.terminate()
        process.wait()


CLIENTS = {"bare": bare, "acall": acall, "run": jurist_run}

if __name__ == "__main__":
    sys.exit(main())
