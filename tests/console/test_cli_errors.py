"""Whatever is wrong ends in one line that says so, with the right exit code, and nothing is written or lost."""

import contextlib
import json
import re
import shlex
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from judges import changed
from quiz import QUIZ
from small import FAST, OWN, claims, cli, replies, tree, write_jsonl

from jurist.keeping.artifacts import Store
from jurist.programs.fect import FECT

PAIRS = f"compile {Path(__file__).parents[2]}/docs/reply_preference.py:judge --gold reply-preference"
TO = "run --yes fect:basic --input rows.jsonl --output"
RUN = f"{TO} out.jsonl"
COMPILE = f"compile fect --gold gold.jsonl --yes {' '.join(FAST)}"
COMPARE = "compare fect:basic fect@1 --gold gold.jsonl --yes"
REMEMBER = "artifacts remember fect@1 new.csv"
BATCH = "batch submit fect:basic --output b.jsonl --input"
ASSESS = "assess --benchmark dialogues offline"
TABLE = "table cognibench-3 --gold cognibench-mini"
INTO = "--input gold.jsonl --output q.jsonl"
NEW = "new x --from p.md --output x.py"
NOTES = re.compile(r"fect on \S+: 42 cases|the sealed test: only 4 groups|Generating train split|$")
"""Lines that may come before the error: what is compiled, what its proof can show, and the bar of ``datasets``."""


@pytest.fixture(autouse=True)
def _folder(files: Path, no_waiting: None) -> None:
    shutil.copytree(files, ".", dirs_exist_ok=True)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with good and bad files, and a store with fect@1, and fect@2, which is damaged."""
    folder = tmp_path_factory.mktemp("files")
    with contextlib.chdir(folder):
        _write(claims())
    return folder


def _write(rows: list[dict[str, Any]]) -> None:
    write_jsonl(Path("gold.jsonl"), rows)
    write_jsonl(Path("rows.jsonl"), rows[:3])
    write_jsonl(Path("label.jsonl"), [*rows[:2], {**rows[2], "factual": "perhaps"}])
    write_jsonl(Path("column.jsonl"), [{"conversation": "A: hello", "label": True}])
    write_jsonl(Path("one-class.jsonl"), [row for row in rows if row["factual"]])
    write_jsonl(Path("unlabelled.jsonl"), [{**row, "factual": None} for row in rows])
    write_jsonl(Path("one-group.jsonl"), [{**row, "group": "same"} for row in rows])
    write_jsonl(Path("twice.jsonl"), [*rows, {**rows[0], "factual": False}])
    Path("broken.jsonl").write_text(json.dumps(rows[0]) + '\n{"conversation": "A: hel\n')
    Path("empty.jsonl").write_text("")
    Path("latin.csv").write_bytes("conversation,claim\nA: café,Café\n".encode("latin-1"))
    Path("full.jsonl").write_text('{"id": "of somebody else"}\n')
    Path("own.py").write_text(OWN)
    broken = OWN.replace("judge = jurist.Judge(", "mine = jurist.Judge(program=lambda: 1 / 0, ")
    Path("one.py").write_text(broken.rpartition("other =")[0])
    write_jsonl(Path("own.jsonl"), replies(2))
    Path("p.md").write_text("Is it polite?\n\nMessage: {{message}}\nReply: {{ reply }}")
    Path("bad.py").write_text("import nothing_of_that_name\n")
    Path("no-judge.py").write_text("judge = 1\n")
    row = {"id": "x", "row": 1, "part": 1, "case": "0", "source": "", "group": ""}
    said = {"status": "verdict", "units": [], "usage": {}, "judge": "fect@7", "artifact": "0"}
    write_jsonl(Path("line.jsonl"), [{**row, **said, "model": "offline"}])
    store = Store("compiled")
    for text in ("First.", "Second."):
        store.save(FECT, changed(FECT, text), {}, [], make_latest=text == "First.")
    program = Path("compiled/fect/2/program.json")
    program.write_bytes(program.read_bytes().replace(b"Second.", b"Secund."))


WRONG: list[tuple[int, str, str]] = [
    # judges and artifacts
    (1, "no judge is called 'nobody'; jurist judges lists the built-in ones", "compile nobody"),
    (1, "the nearest names are factual, fact-check, haluagent", "compile accuracy"),
    (1, "gone.py: no such file", "compile gone.py:judge"),
    (1, "bad.py: ModuleNotFoundError", "compile bad.py"),
    (1, "may-go: its program cannot be made: ZeroDivisionError: division by", "evaluate one.py --gold own.jsonl"),
    (1, "'jugde' is not in it; did you mean judge? use one of", "compile own.py:jugde"),
    (1, "onw.py: no such file; did you mean own.py?", "compile onw.py:judge"),
    (1, "no judge is called 'owm'; did you mean own.py:judge?", "compile owm"),
    (1, "no judge is called 'fetc'; did you mean fect?", "compile fetc"),
    (1, "it is a gold set; name a judge there, and support-desk as its rows", "gold check support-desk"),
    (1, "no judge is called 'support-desk': it is a gold set", "gold plan support-desk"),
    (1, "no judge is called 'support-desk': it is a gold set", "gold agreement support-desk"),
    (1, "no judge is called 'support-desk': it is a gold set", "gold split support-desk -o parts"),
    (1, "no judge is called 'support-desk': it is a gold set", "evaluate support-desk --gold fect"),
    (1, "'gold.jsonl': it is a file that holds none; name a judge there", "evaluate gold.jsonl --gold fect"),
    (1, "compiled holds no version of 'mine'; name the folder", "gate mine@1 --gold gold.jsonl --min f1=0"),
    (1, "there is no fect@99; versions 1, 2 exist", "run fect@99 --input rows.jsonl --output o"),
    (1, "there is no fect@99", "artifacts show fect@99"),
    (1, "fect@2 in compiled is damaged: program.json", "run fect@2 --input rows.jsonl --output o"),
    (1, "fect@2: program.json", "artifacts verify"),
    (1, "no compiled artifact of judge 'cognibench'", "artifacts show cognibench"),
    (2, "does not name an artifact", "artifacts show fect@@1"),
    *((2, "is not usable as a tag", f"artifacts tag fect@1 {tag}") for tag in ("7", "basic")),
    (2, "no export target is called 'pdf'; use one of autoevals, deepeval", "export fect@1 --to pdf"),
    (2, "promptfoo takes a file of Python", "export fect@1 --to promptfoo -o p.yaml"),
    (1, "gold.jsonl is not a folder", "artifacts list --store gold.jsonl"),
    (1, "there is no folder typo", "artifacts list --store typo"),
    # gold
    (1, "gone.jsonl: there is no such file", "compile fect --gold gone.jsonl"),
    (2, "no gold is bundled for may-go", "compile own.py"),
    (1, "broken.jsonl:2: broken JSON", "compile fect --gold broken.jsonl"),
    (1, "label.jsonl:3, field 'factual': unknown label 'perhaps'", "compile fect --gold label.jsonl"),
    (1, "column.jsonl:1, field 'claim': the field is missing", "gold split fect column.jsonl --output parts"),
    (1, "there is no positive one", "compile fect --gold one-class.jsonl"),
    (1, "too few for train, dev and test", "compile fect --gold one-group.jsonl"),
    (1, "equal inputs and different labels", "compile fect --gold twice.jsonl"),
    (2, "are not decided by a threshold of votes; leave out --threshold", f"{PAIRS} --threshold 0.5"),
    (1, "empty.jsonl: the file is empty", "compile fect --gold empty.jsonl"),
    (2, "latin.csv:2: byte 0xe9 at column 7 is not UTF-8", "new x --from latin.csv --labels yes,no"),
    (2, "'holt' is no answer of may-go", "gold check own.py:judge own.jsonl --map no=holt"),
    (1, "field 'reference'", "compile cognibench --gold gold.jsonl"),
    (1, "the labels of no rater;", "gold agreement fect gold.jsonl"),
    (1, "rows.jsonl/x.jsonl: cannot write", "gold import fect gold.jsonl --output rows.jsonl/x.jsonl"),
    # options
    (2, "nothing to pass", "gate fect:basic --gold gold.jsonl"),
    (2, "write METRIC=NUMBER", "gate fect:basic --gold gold.jsonl --min f1"),
    (2, "cannot be a limit", "gate fect:basic --gold gold.jsonl --min f1=nan"),
    (2, "give the highest that passes: --max mae=2", "gate intent-baseline:basic --gold faithqa-mini --min mae=2"),
    (2, "no metric of fect is called 'nope'", "gate fect:basic --gold gold.jsonl --min nope=1"),
    (2, "--not-worse-than", "gate fect:basic --gold gold.jsonl --min f1=0 --margin 0.1"),
    (2, "no share", "gate fect:basic --gold gold.jsonl --max-unusable 2"),
    (1, "no judge is called ''", "gate fect:basic --gold gold.jsonl --not-worse-than ''"),
    (1, "there is no fect@prod", "gate fect:basic --gold gold.jsonl --not-worse-than @prod"),
    (2, "'claims' is no input of fect", "evaluate harden fect:basic --gold gold.jsonl --field claims"),
    (2, "no attack or probe is called 'rolls'", "evaluate harden fect:basic --gold gold.jsonl --only rolls"),
    (2, "1 or more", "evaluate harden fect:basic --gold gold.jsonl --cases 0"),
    (2, "--split '50/20' is not three numbers", f"{COMPILE} --split 50/20"),
    (2, "--split '0/50/50' leaves a part empty", f"{COMPILE} --split 0/50/50"),
    (2, "--split '40/20/50' adds up to 110 percent; give three numbers with", f"{COMPILE} --split 40/20/50"),
    (2, "--split '5/2/3' adds up to 10 percent", "gold check fect --gold gold.jsonl --split 5/2/3"),
    (2, "'nan/1/1' leaves a part empty", f"{COMPILE} --split nan/1/1"),
    (2, "--set 'sizes' is not a setting", f"{COMPILE} --set sizes"),
    (1, "fewshot.sizes cannot be 'many'", f"{COMPILE} --set sizes=many"),
    (1, "no optimizer is called 'magic'; use one of bootstrap, cfaith, contrastive", f"{COMPILE} --optimizer magic"),
    (2, "no metric of fect is called 'beauty'", f"{COMPILE} --metric beauty"),
    (2, "0 samples give no verdict", f"{COMPILE} --samples 0"),
    (2, "a threshold of 4 votes does not fit 3 samples", f"{RUN} --samples 3 --threshold 4"),
    (2, "a threshold of 0 votes", f"{COMPILE} --samples 3 --threshold 0"),
    (2, "temperature 3.0 is out of range", f"{RUN} --temperature 3"),
    (2, "--concurrency: '0' is not possible", f"{RUN} --concurrency 0"),
    (2, "--max-unusable: '7' is no share", f"{RUN} --max-unusable 7"),
    (2, "a time-out of 0.0 seconds", f"{RUN} --timeout 0"),
    (2, "--api-base needs a model", f"{RUN} --api-base http://127.0.0.1:1/v1"),
    (2, "is not a plain address", f"{RUN} --model openai/x --api-base localhost:8000"),
    (2, "is not a plain address", f"{RUN} --model openai/x --api-base http://me:pw@h/v1"),
    (2, "the model has no name", f"{RUN} --model ''"),
    *(
        (2, "does not name provider and model", f"{command} {name}")
        for name in ("gpt-4.1-mini", "openai/", "'openai/ '")
        for command in (f"{RUN} --model", f"{COMPILE} --prompt-model")
    ),
    *(
        (2, "is no seed: give a whole number from 0 to 4294967295", f"{RUN} --seed {seed}")
        for seed in ("-1", "4294967296", "one")
    ),
    *(
        (2, "argument --fresh: not allowed with argument --resume", f"{command} --resume --fresh")
        for command in (COMPILE, COMPARE, REMEMBER)
    ),
    *(
        (2, "the name is empty", f"{command} --gold {name}")
        for command in ("compile fect", COMPARE, REMEMBER)
        for name in ("''", "' '")
    ),
    *((2, "the name is empty", f"{command} ''") for command in ("gold check fect", f"{TO} o.jsonl --input")),
    (2, "the name is empty", "assess offline --benchmark dialogues --calibration ''"),
    *((2, "a budget of 0 calls", f"{command} --max-calls 0") for command in (COMPILE, RUN)),
    (2, "a budget of -2.0 cost", f"{COMPILE} --max-cost -2"),
    (1, "the proof alone takes", f"{COMPILE} --max-calls 4"),
    (2, "--repeats: '0' is not possible", "compare fect:basic fect@1 --gold gold.jsonl --repeats 0"),
    (2, "did you mean compile?", "comple"),
    (2, "did you mean check?", "gold chek"),
    (2, "did you mean json?", "compile fect --adapter jsom"),
    (2, "did you mean --json?", "judges --jsn"),
    (2, "did you mean --rejects?", "gold check fect g.csv --rejcts f"),
    (2, "another command: jurist evaluate JUDGE --gold GOLD --by COLUMN", "gate fect --gold g --by language"),
    (2, "another command: jurist evaluate JUDGE --gold GOLD --by COLUMN", "compile fect --gold g --by language"),
    (1, "did you mean opro?", f"{COMPILE} --optimizer ophro"),
    (2, "did you mean accuracy?", "compile fect --metric acuracy"),
    (1, "did you mean steps?", "compile fect --gold gold.jsonl --optimizer opro --set stepz=3"),
    (2, "did you mean messages?", "export fect:basic --to mesages"),
    # generators and training files
    (2, "is a judge and writes nothing", f"generate fect:basic {INTO}"),
    (1, "no generator is called 'nothing'; use one of dialogue, faithqa", f"generate nothing {INTO}"),
    (2, "1 or more", f"generate {QUIZ}:generator:basic {INTO} --attempts 0"),
    (2, "add --judge-model", f"generate {QUIZ}:generator:basic {INTO} --judge-api-base http://x"),
    (2, "also has units", f"export training --judge fect-3d-reasoning:basic {INTO}"),
    (1, "nobody", f"export training --judge nobody:basic {INTO}"),
    (2, "is not three numbers", f"export training --judge fect:basic {INTO} --split 1/2"),
    # new judges
    (2, "before the module dspy", "new dspy --from p.md --labels yes,no"),
    (2, "--labels", NEW),
    (2, "--positive", f"{NEW} --score 1-5 --positive a"),
    (2, "not allowed with", f"{NEW} --score 1-5 --labels a,b"),
    *(
        (2, "no proper part", f"{NEW} --labels {labels}")
        for labels in ("a", "a,b --positive c", "a,b --positive a,b")
    ),
    (2, "a scale from 5 to 1", f"{NEW} --score 5-1"),
    (2, "no scale", f"{NEW} --score '1 to 5'"),
    (2, "not two inputs", f"{NEW} --prefer message"),
    (2, "are not two of its inputs", f"{NEW} --prefer message,other"),
    (2, "none of its inputs", f"{NEW} --labels a,b --unit z"),
    *(
        (2, "judge fect has no strictness", f"{command} --strictness rational")
        for command in (COMPILE, RUN, "compare fect:basic fect-3d:basic --gold gold.jsonl")
    ),
    (1, "no row has this column", f"{NEW} --gold own.jsonl --column Verdikt=label"),
    (2, "did you mean label?", f"{NEW} --gold own.jsonl --column verdict=lable"),
    (2, "--positive needs --labels", f"{NEW} --gold own.jsonl --column policy=message --score 1-5 --positive hold"),
    (1, "no column is clearly the message; say which: --column COLUMN=message", f"{NEW} --gold own.jsonl"),
    (1, "no column is clearly the message", f"{NEW} --gold own.jsonl --column verdict=rater:ann"),
    (2, "add --gold", f"{NEW} --labels a,b --column x=reply"),
    (2, "export it to python, or run it", "export tier:basic --to messages"),
    (2, "its as_module() is a module of DSPy", "export haluagent:basic --to python"),
    # CogniBench
    (1, "no such file", "generate dialogue --input nothing --output d.jsonl"),
    (2, "--turns", f"generate dialogue {INTO} --turns 0"),
    (2, "--words", f"generate dialogue {INTO} --words 9-3"),
    (2, "--max-rejected", f"generate dialogue {INTO} --max-rejected 2"),
    (1, "no such file", f"{ASSESS} --benchmark nothing.jsonl"),
    (2, "does not label the sentences", f"{ASSESS} --judge fect:basic"),
    (2, "--limit", f"{ASSESS} --limit 0"),
    (2, "--max-unusable", f"{ASSESS} --max-unusable 7"),
    (2, "--unanswered does not apply to dialogues", f"{ASSESS} --unanswered wrong"),
    (1, "no such file", f"{ASSESS} --calibration missing.csv"),
    (2, "temperature", f"{ASSESS} --temperature 9"),
    (2, "name every model once", f"{ASSESS} offline"),
    (2, "does not find the hallucinated sentences", f"{TABLE} --detector fect:basic"),
    (2, "does not find the hallucinated sentences", f"{TABLE} --detector statement-type:basic"),
    (1, "no judge is called 'nowhere'", f"{TABLE} --detector nowhere"),
    (1, "none.jsonl", f"{TABLE} --gold none.jsonl"),
    (2, "not allowed with argument --json", f"{TABLE} --json --markdown"),
    (2, "cognibench-9", "table cognibench-9"),
    # files
    *(
        (2, "is an input, and would be lost", command)
        for command in (
            "gold import fect gold.jsonl --output ./gold.jsonl",
            "export training --judge fect:basic --input gold.jsonl --output gold.jsonl",
            "evaluate fect:basic --gold gold.jsonl --output gold.jsonl",
            "report line.jsonl --output line.jsonl",
        )
    ),
    (2, "full.jsonl exists; add --resume", "run fect:basic --input rows.jsonl --output full.jsonl"),
    (1, "full.jsonl:1: not a line of a run", f"{TO} full.jsonl --resume"),
    (1, "line.jsonl:1: written with judge 'fect@7'", f"{TO} line.jsonl --resume"),
    (2, "rows.jsonl is part of the input rows.jsonl", f"{TO} rows.jsonl --resume"),
    (2, "--resume needs an --output file", f"{TO} - --resume"),
    (2, "rows.jsonl/out.jsonl", f"{TO} rows.jsonl/out.jsonl"),
    # wrong usage
    (2, "the following arguments are required: JUDGE; see jurist compile --help", "compile"),
    (2, "there is no 'frobnicate'", "frobnicate"),
    (2, "required: ACTION", "artifacts"),
    (2, "invalid int value: 'few'", f"{RUN} --samples few"),
    (2, "unrecognized arguments: --colour; see jurist judges --help", "judges --colour"),
    (1, "no judge is called so: compile it first from its file", "report nobody"),
    (1, "did you mean gold.jsonl?", "evaluate fect:basic --gold golt.jsonl"),
    (2, "required: --gold; did you mean --gold?", "evaluate fect:basic --glod gold.jsonl"),
    (1, "/proc/self/mem: the file cannot be read", "run fect:basic --input /proc/self/mem --output o"),
    (2, "No space left", f"{TO} /dev/full"),
    *((2, f"{name!r} names no file", f"{TO} {name or chr(39) * 2}") for name in (".", "", "/", "new/")),
    (2, "is not UTF-8; name another output", f"{TO} o\udcff"),
    # a canary, a server, batches
    (2, "needs a token", "serve fect:basic --host 0.0.0.0"),
    (2, "NO_SUCH is empty or not set", "serve fect:basic --token-env NO_SUCH"),
    (2, "no port", "serve fect:basic --port 70000"),
    (1, "no batches of full.jsonl are under way", "batch collect full.jsonl"),
    (1, "no batches of b.jsonl are under way; jurist batch submit begins them", "batch collect b.jsonl"),
    (2, "offline is not asked", f"{BATCH} rows.jsonl"),
    (2, "name files", f"{BATCH} - --model openai/m"),
    (2, "cannot be asked in batches", f"{BATCH} rows.jsonl --model anthropic/m"),
    (1, "none.jsonl", f"{BATCH} none.jsonl --model openai/m --api-base http://127.0.0.1:9/v1"),
    (2, "/proc/self/o.jsonl: No such file or directory; ", f"{TO} /proc/self/o.jsonl"),
]  # fmt: skip
DEVICES = ("/proc/self", "/dev/full")
"""Rows that name these need a system that has them."""


@pytest.mark.parametrize(("code", "words", "line"), WRONG, ids=[line[-60:] for _, _, line in WRONG])
def test_one_line_says_what_is_wrong(code: int, words: str, line: str, tmp_path: Path) -> None:
    if any(device in line and not Path(device).exists() for device in DEVICES):
        pytest.skip("this system has no such device")
    before = tree(tmp_path)
    done = cli(*shlex.split(line))
    errors = [one for one in done.lines if not NOTES.match(one)]
    assert len(errors) == 1, done.err
    assert errors[0].startswith("error: ")
    assert words in errors[0]
    assert (done.code, done.out) == (code, "")
    assert tree(tmp_path) == before


def test_the_limit_that_a_compilation_needs_is_named() -> None:
    asked = (*COMPILE.split(), "--max-calls")
    needed = int(re.findall(r"raise --max-calls to (\d+) or more", cli(*asked, 4).err)[0])
    assert f"raise --max-calls to {needed} or more" in cli(*asked, needed - 1).err
    assert "raise --max-calls" not in cli(*asked, needed).err


def test_no_command_shows_the_help() -> None:
    done = cli()
    assert done.code == 2
    assert "examples:" in done.err


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ends(tmp_path: Path, words: str, *argv: object) -> None:
    """A model that cannot be used ends the work at the first call, and leaves nothing behind."""
    before = tree(tmp_path)
    for _ in range(2):  # nothing is in the way of a second try
        done = cli(*argv)
        errors = [line for line in done.lines if line.startswith("error: ")]
        assert done.code == 1
        assert errors == done.lines[-1:], done.err
        assert words in errors[0]
        assert tree(tmp_path) == before


@pytest.mark.parametrize("command", [RUN, COMPILE])
@pytest.mark.parametrize(
    ("words", "model"),
    [
        ("OPENAI_API_KEY", ("openai/gpt-4.1-mini",)),
        ("write it as provider/model", ("nobody/x",)),
        ("check the address", ("openai/x", "--api-base", f"http://127.0.0.1:{_free_port()}/v1")),
    ],
)
def test_a_model_that_is_not_there(command: str, words: str, model: tuple[str, ...], tmp_path: Path) -> None:
    ends(tmp_path, words, *command.split(), "--model", *model)


@pytest.mark.parametrize("command", [RUN, COMPARE])
@pytest.mark.parametrize(("fault", "words"), [("401", "API key"), ("404", "model"), ("quota", "quota")])
def test_a_model_that_refuses(
    command: str, fault: str, words: str, tmp_path: Path, serve: Callable[..., Any], fake_key: str
) -> None:
    server = serve(faults=lambda index, body: fault)
    ends(tmp_path, words, *command.split(), "--model", "openai/x", "--api-base", server.url)
    assert server.count <= 2 * 8  # what was in flight, twice


GOLD = "--gold gold.jsonl"
SHORT = " ".join(FAST)
JUDGE = "run fect:basic --input"
UNPAID: list[tuple[str, str]] = [
    ("folder: Is a directory", f"evaluate fect:basic {GOLD} --output folder"),
    ("file/x.json: Not a directory", f"evaluate fect:basic {GOLD} --output file/x.json"),
    ("folder: Is a directory", "table cognibench-3 --gold cognibench-mini --output folder"),
    ("folder: Is a directory", "assess openai/m --benchmark dialogues --answers folder"),
    ("file/x.json: Not a", "assess openai/m --benchmark dialogues --output file/x.json"),
    ("full/fect/card.json: Not a directory", f"compile fect {GOLD} {SHORT} --store full"),
    ("folder: Is a directory", f"compile fect {GOLD} {SHORT} --rejects folder"),
    ("folder: Is a directory", f"{JUDGE} gold.jsonl --output o.jsonl --rejects folder"),
    *(
        ("--max-cost cannot be kept: the price of openai/m is not known; ", f"{line} --max-cost 1")
        for line in (
            f"compile fect {GOLD} {SHORT} --set sets=1",
            f"compare fect:basic fect-3d:basic {GOLD}",
            f"{JUDGE} gold.jsonl --output o.jsonl",
            "table cognibench-3 --gold cognibench-mini",
        )
    ),
    ("does not end in _KEY or _TOKEN", f"compile fect {GOLD} {SHORT} --api-key-env SECRET"),
    ("holds no key", f"compile fect {GOLD} {SHORT} --api-key-env NOBODYS_KEY"),
    ("go with --prompt-model", f"compile fect {GOLD} {SHORT} --prompt-api-base http://localhost:1/v1"),
    ("--rejects gold.jsonl would write into gold.jsonl", f"{JUDGE} gold.jsonl --output o.jsonl --rejects gold.jsonl"),
    ("--rejects o.jsonl would write into o.jsonl", f"{JUDGE} gold.jsonl --output o.jsonl --rejects o.jsonl"),
    ("--rejects folder/x would write into folder", f"{JUDGE} folder --output o.jsonl --rejects folder/x"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "line"), UNPAID, ids=[line[-60:] for _, line in UNPAID])
def test_what_can_be_known_is_said_before_a_call_is_paid(
    words: str, line: str, tmp_path: Path, serve: Callable[..., Any]
) -> None:
    for folder in ("folder", "full"):
        Path(folder).mkdir()
    for file in ("file", "full/fect"):
        Path(file).write_text("of somebody else")
    write_jsonl(Path("folder/rows.jsonl"), claims())
    before, server = tree(tmp_path), serve()
    model = () if line.startswith("assess") else ("--model", "openai/m")
    done = cli(*shlex.split(line), *model, "--api-base", server.url, "--yes")
    assert done.code in (1, 2)
    assert done.lines[-1].startswith("error: ")
    assert words in done.err
    assert (server.count, tree(tmp_path)) == (0, before)


def test_a_second_model_that_is_not_there_costs_one_row(serve: Callable[..., Any], fake_key: str) -> None:
    server = serve(faults=lambda index, body: "404" if body["model"] == "typo" else None)
    models = ("--model", "openai/m", "--model", "openai/typo", "--api-base", server.url)
    done = cli("compare", "fect:basic", "--gold", "gold.jsonl", *models, "--yes")
    assert (done.code, "typo" in done.lines[-1]) == (1, True)
    assert [hit.body["model"] for hit in server.hits].count("m") == 1
