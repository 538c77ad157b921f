"""What ``serve`` takes."""

from .command import Command
from .groups import AskedOptions, asked_judge, port, whole
from .options import option

_PORT = 8422


class ServeOptions(AskedOptions):
    judge: str = asked_judge()
    host: str = option(
        "--host",
        "127.0.0.1",
        metavar="ADDRESS",
        help="where to listen (default: 127.0.0.1, this machine alone); another one needs a token",
    )
    port: int = option("--port", _PORT, type=port, metavar="N", help=f"where to listen (default: {_PORT})")
    token_env: str | None = option(
        "--token-env",
        metavar="NAME",
        help="the environment variable that holds the token which requests must bear (default: none)",
    )
    max_cases: int = option(
        "--max-cases", 100, type=whole, metavar="N", help="cases of one request (default: 100)"
    )
    max_body: int = option(
        "--max-body", 1 << 20, type=whole, metavar="BYTES", help="length of one request (default: 1048576)"
    )


SERVE = Command(
    name="serve",
    does="serve.run",
    options=ServeOptions,
    help="""\
Serve a judge over HTTP: POST a case to /judge or a list to /judge/batch, and get verdicts as jurist run writes them.
/openapi.json describes both, made from the judge's typed fields; GET /health says who answers.
""",
    examples="""\
examples:
  jurist serve fect
  jurist serve fect@2 --model openai/gpt-4.1-mini --max-cost 20 --concurrency 32
  JURIST_TOKEN=... jurist serve fect@2 --host 0.0.0.0 --token-env JURIST_TOKEN
  curl -s localhost:8422/judge -H 'content-type: application/json' -d '{"conversation": "...", "claim": "..."}'

Nothing of a case is kept or logged. Ctrl-C or SIGTERM ends it after what is in flight.
Needs: pip install 'jurist[serve]'
""",
)
