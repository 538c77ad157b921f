"""The judge as a promptfoo configuration: a prompt function, and an assertion that reads the label."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .messages import described
from .target import Messages, Row, Subject, Target, prompt_of

_CONFIG = """\
// {ref}, made by jurist. Run it with: promptfoo eval -c THIS_FILE
// promptfoo reads values and filled prompts as templates again; this ends that, and must stand first.
process.env.PROMPTFOO_DISABLE_TEMPLATING = "true";
const spec = {spec};

// The messages that jurist sends: every placeholder is replaced once.
function prompt({{ vars }}) {{
  const marks = spec.inputs.map((one) => one.placeholder.replace(/[.*+?^${{}}()|[\\]\\\\]/g, "\\\\$&"));
  const names = Object.fromEntries(spec.inputs.map((one) => [one.placeholder, one.name]));
  const fill = (text) => text.replace(new RegExp(marks.join("|"), "g"), (mark) => String(vars[names[mark]]));
  return spec.messages.map(({{ role, content }}) => ({{ role, content: fill(content) }}));
}}

// The text of the answer's field, or of all answers if a reply gives several.
function given(reply) {{
  if (spec.adapter === "json") return [String(JSON.parse(reply)[spec.output_field])];
  const parts = reply.split(/^\\s*\\[\\[ ## (\\w+) ## \\]\\]/m).slice(1);
  return parts.filter((_, place) => place % 2 && parts[place - 1] === spec.output_field).map((part) => part.trim());
}}

// The label of a reply; a reply that says none, or two, fails.
function label(output, {{ vars }}) {{
  const reply = String(output).replace(/<think>[\\s\\S]*?(<\\/think>|$)/gi, "");
  const wanted = Object.entries(spec.parser.answer.label_of_value);
  const said = new Set(given(reply).map((text) => text.replace(/^["']|["']$/g, "").toLowerCase()));
  const found = wanted.filter(([, value]) => said.has(String(value).toLowerCase())).map(([name]) => name);
  const one = said.size === 1 && found.length === 1 ? found[0] : null;
  const pass = one !== null && (vars.expected_label === undefined || vars.expected_label === one);
  return {{ pass, score: pass ? 1 : 0, reason: one === null ? "no usable label" : `label: ${{one}}` }};
}}

module.exports = {{
  description: spec.description,
  prompts: [{{ raw: "", label: spec.artifact.judge, function: prompt }}],
  providers: {providers},
  defaultTest: {{ assert: [{{ type: "javascript", value: label }}] }},
  tests: {tests},
}};
"""


class Promptfoo(Target):
    """One CommonJS file; rows given with ``--input`` become tests, with their labels as ``expected_label``."""

    name = "promptfoo"
    suffix = ".cjs"
    limits = (
        "promptfoo asks once a test: repeat with --repeat, and count the votes yourself",
        "a test without expected_label passes if the reply holds a label",
    )

    def render(self, subject: Subject) -> str:
        """Return the configuration."""
        prompt = prompt_of(subject)
        about = described(subject, prompt)
        if about["parser"]["answer"].get("reader") != "label" or prompt.adapter == "xml":
            raise UsageError(
                f"the replies of {subject.judge.name} are not read by a few lines of JavaScript",
                hint="export a judge that gives one label, or to another target",
            )
        if any(_is_json(message["content"]) for message in prompt.messages):
            raise UsageError(
                f"a demonstration of {subject.judge.name} is a message of JSON alone, which promptfoo writes anew",
                hint="compile with --adapter chat, or export it to another target",
            )
        model = (
            subject.model.name.replace("/", ":", 1) if subject.model and not subject.model.offline else "echo"
        )
        whole = {
            "description": f"{subject.ref}: {subject.judge.description}",
            "messages": list(prompt.messages),
        }
        return _CONFIG.format(
            ref=subject.ref,
            spec=_literal({**whole, **about}),
            providers=_literal([model]),
            tests=_literal(
                [
                    {"vars": {**row.variables, **({"expected_label": row.label} if row.label else {})}}
                    for row in subject.rows
                ]
            ),
        )

    def replay(self, text: str, rows: Sequence[Row]) -> list[Messages]:
        """Let promptfoo evaluate the file with its provider ``echo``, which answers with the prompt it got."""
        program = shutil.which("promptfoo")
        if program is None:
            raise UsageError("checking this export needs promptfoo", hint="npm install -g promptfoo")
        with tempfile.TemporaryDirectory() as folder:
            config, output = Path(folder) / "promptfooconfig.cjs", Path(folder) / "output.json"
            config.write_text(text, "utf-8")
            quiet = {
                "PROMPTFOO_CONFIG_DIR": folder,
                "PROMPTFOO_DISABLE_TELEMETRY": "1",
                "PROMPTFOO_DISABLE_UPDATE": "1",
            }
            options = ["--providers", "echo", "--no-cache", "--no-write", "--no-table", "--output"]
            done = subprocess.run(
                [program, "eval", "-c", str(config), *options, str(output)],
                env={**os.environ, **quiet},
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            if not output.is_file():
                raise UsageError(
                    f"promptfoo ended with {done.returncode}: {done.stderr[-300:]}", hint="run it by hand"
                )
            found = json.loads(output.read_text("utf-8"))["results"]["results"]
        return [json.loads(one["prompt"]["raw"]) for one in sorted(found, key=lambda one: one["testIdx"])]


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except ValueError:
        return False


def _literal(value: Any) -> str:
    """Return JSON that is JavaScript too, on one line."""
    return json.dumps(value, ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
