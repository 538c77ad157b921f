"""``jurist serve``."""

import os
from dataclasses import replace

from ..arguments.serve import ServeOptions
from ..engines.channel import CallContext
from ..errors import UsageError
from ..report.scores import spend_line
from ..runs.serving import Serving, application
from .common import budget_of, loaded_of, store_of
from .listening import listen
from .printing import Result, remark


def run(options: ServeOptions) -> Result:
    """Serve until Ctrl-C or SIGTERM; return what was spent."""
    token = _token(options)
    loaded = loaded_of(options.judge, options, store_of(options))
    loaded = replace(loaded, context=CallContext.fresh(budget_of(options)))
    if loaded.note:
        remark(loaded.note)
    serving = Serving(loaded=loaded, token=token, most=options.max_cases, largest=options.max_body)
    listen(application(serving), options.host, options.port, f"{loaded.name} with {loaded.model.name} at")
    spend = loaded.context.ledger.spend().to_json()
    return Result(
        data={"judge": loaded.name, "model": loaded.model.name, "spend": spend}, body=[spend_line(spend)]
    )


def _token(options: ServeOptions) -> str:
    if options.token_env is None:
        if options.host not in ("127.0.0.1", "localhost", "::1"):
            hint = "name the environment variable that holds one with --token-env"
            raise UsageError(f"who listens at {options.host} needs a token", hint=hint)
        return ""
    token = os.environ.get(options.token_env, "")
    if not token:
        hint = "set it to what requests must bear"
        raise UsageError(f"the environment variable {options.token_env} is empty or not set", hint=hint)
    return token
