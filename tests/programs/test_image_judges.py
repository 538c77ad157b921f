"""Judges that see images: read from rows in every form, sent as parts, kept out of texts."""

import asyncio
import base64
import copy
from pathlib import Path
from typing import Any

import dspy
import httpx
import pytest
from pictures import GIF, JPEG, WEBP, png
from providers import KEY, WIRES, Counterpart, OpenAI
from small import cli, ok, read_jsonl, write_jsonl

import jurist
from jurist.engines.channel import CallContext
from jurist.engines.models import connect
from jurist.errors import JudgeError
from jurist.programs.asking import Asker
from jurist.programs.settings import AskSettings
from jurist.report.document import readable_input
from jurist.runs.serving import Serving, application
from jurist.text.images import ImageError, ImageReference, image_kind, read_image

JUDGE = '''
from typing import Literal
import dspy, jurist

class MatchPhoto(dspy.Signature):
    """Say whether a photo shows what the caption says."""
    photo: dspy.Image = dspy.InputField()
    caption: str = dspy.InputField()
    verdict: Literal["match", "differs"] = dspy.OutputField()

judge = jurist.Judge(name="photo-match", signature=MatchPhoto, positive="differs")
'''
RED, BLUE = png(255), png(0, 0, 255)


def address_of(content: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for wire in WIRES.values():
        if wire.key_variable:
            monkeypatch.setenv(wire.key_variable, KEY)
    Path("judge.py").write_text(JUDGE, "utf-8")
    Path("rows").mkdir()
    Path("rows/red.png").write_bytes(RED)
    Path("rows/blue.png").write_bytes(BLUE)


def judge() -> jurist.Judge:
    return jurist.judge("judge.py:judge")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (png(1, width=640, height=480), ("image/png", 640, 480)),
        (GIF, ("image/gif", 5, 4)),
        (JPEG, ("image/jpeg", 9, 7)),
        (WEBP, ("image/webp", 11, 12)),
        (b"%PDF-1.7", None),
        (b"", None),
    ],
)
def test_type_and_size_are_those_of_the_bytes(content: bytes, expected: object) -> None:
    kind = image_kind(content)
    assert (None if kind is None else tuple(kind)) == expected


def test_equal_bytes_are_one_image_however_they_are_given() -> None:
    class Picture:  # as PIL has it
        size = (3, 2)

        def save(self, file: Any, format: str) -> None:
            file.write(RED)

    given = [
        "red.png",
        Path("red.png"),
        str(Path("rows/red.png").resolve()),
        address_of(RED),
        RED,
        dspy.Image(address_of(RED)),
        {"bytes": RED, "path": None},
        {"bytes": None, "path": "red.png"},
        {"type": "image_url", "image_url": {"url": address_of(RED)}},
        Picture(),
    ]
    references = {read_image(value, Path("rows")) for value in given}
    assert len(references) == 1
    [reference] = references
    assert reference.startswith("[image/png, 3 x 2 pixels, sha256 ")
    assert reference.address() == address_of(RED)
    assert copy.deepcopy(reference).address() == address_of(RED)
    assert read_image("blue.png", Path("rows")) != reference


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("none.png", "there is no image that can be read at rows/none.png"),
        ("text.png", "rows/text.png holds no PNG, JPEG, GIF or WebP"),
        ("data:image/png;base64,@@@", "are no base64"),
        ("", "no image is given"),
        (7, "not int"),
        ({"id": 1}, "neither bytes nor path nor url"),
        ("a\0b", "there is no image"),
        ("http://[bad", "is no address in the web"),
        ("https://", "is no address in the web"),
        ("https://example.org/a photo.png", "is no address in the web"),
    ],
)
def test_what_is_no_image_is_refused(value: object, message: str) -> None:
    Path("rows/text.png").write_text("hello", "utf-8")
    with pytest.raises(ImageError, match=message):
        read_image(value, Path("rows"))


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "vllm"])
@pytest.mark.parametrize("form", ["chat", "json"])
def test_an_image_is_a_part_of_the_message_in_the_providers_form(provider: str, form: str) -> None:
    def answer(messages: list[dict[str, Any]]) -> str:
        assert "base64" not in str(messages)
        if form == "json":
            return '{"verdict": "match"}'
        return "[[ ## verdict ## ]]\nmatch\n\n[[ ## completed ## ]]"

    wire = WIRES[provider]
    cases = [judge().case({"photo": f"rows/{name}.png", "caption": "a square"}) for name in ("red", "blue")]
    with Counterpart(wire=wire, answers=answer) as part:
        lm = connect(part.model(timeout=10.0), CallContext.fresh())
        asker = Asker(judge=judge(), program=judge().basic(), lm=lm, settings=AskSettings(adapter=form))
        verdicts = asker.ask_all(cases)
    assert [verdict.status for verdict in verdicts] == ["verdict", "verdict"]
    # A setting that the provider does not take is refused once, so a request may come twice.
    sent = {tuple(wire.images(body)) for _, body in part.hits}
    assert sent == {(("image/png", base64.b64encode(content).decode()),) for content in (RED, BLUE)}


def test_an_address_in_the_web_is_sent_as_it_is() -> None:
    case = judge().case({"photo": "https://example.org/red.png", "caption": "a square"})
    reference = case.inputs["photo"]
    assert isinstance(reference, ImageReference)
    assert reference.address() == "https://example.org/red.png"


def run(part: Counterpart, *options: str) -> Any:
    return cli(
        "run",
        "judge.py:judge:basic",
        *("--input", "rows/rows.jsonl", "--output", "out.jsonl"),
        *("--model", f"openai/{part.model().name.partition('/')[2]}", "--api-base", f"{part.address}/v1"),
        *options,
    )


def always_match(messages: list[dict[str, Any]]) -> str:
    return "[[ ## verdict ## ]]\nmatch\n\n[[ ## completed ## ]]"


def test_a_run_reads_paths_beside_the_file_and_asks_once_for_equal_bytes() -> None:
    Path("rows/again.png").write_bytes(RED)
    rows = [
        {"photo": "red.png", "caption": "a square"},
        {"photo": "again.png", "caption": "a square"},
        {"photo": "blue.png", "caption": "a square"},
    ]
    write_jsonl(Path("rows/rows.jsonl"), rows)
    with Counterpart(wire=WIRES["openai"], answers=always_match) as part:
        done = run(part)
        assert done.code == 0, done.err
        again = run(part, "--resume")
        assert again.code == 0, again.err
        hits = len(part.hits)
    lines = read_jsonl(Path("out.jsonl"))
    assert [line["label"] for line in lines] == ["match"] * 3
    assert lines[0]["case"] == lines[1]["case"] != lines[2]["case"]
    assert hits <= 3, "two images, and perhaps a setting that is refused once"
    assert "base64" not in Path("out.jsonl").read_text("utf-8")


def test_a_file_that_changes_between_reading_and_sending_is_a_failed_row() -> None:
    case = judge().case({"photo": "rows/red.png", "caption": "a square"})
    Path("rows/red.png").write_bytes(BLUE)
    with Counterpart(wire=WIRES["openai"], answers=always_match) as part:
        lm = connect(part.model(timeout=10.0), CallContext.fresh())
        [verdict] = Asker(judge=judge(), program=judge().basic(), lm=lm).ask_all([case])
    assert not part.hits
    assert verdict.status != "verdict"
    assert "holds another image than when its row was read" in verdict.error


def test_the_offline_engine_says_that_it_sees_no_images() -> None:
    write_jsonl(Path("rows/rows.jsonl"), [{"photo": "red.png", "caption": "a square"}])
    done = cli("run", "judge.py:judge:basic", "--input", "rows/rows.jsonl", "--output", "out.jsonl")
    assert done.code == 1
    assert "the offline engine reads texts, and this judge sees images" in done.err
    assert "--model" in done.err


def test_a_served_judge_reads_no_files() -> None:
    loaded = jurist.load("judge.py:judge:basic")
    app = application(Serving(loaded=loaded))

    async def post(body: dict[str, Any]) -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.post("/judge", json=body)

    refused = asyncio.run(post({"photo": "rows/red.png", "caption": "a square"}))
    assert refused.status_code == 422
    assert "a path is not read here" in refused.text


def test_other_media_and_images_among_outputs_are_refused() -> None:
    for fields in ("photo: dspy.Audio -> ok: bool", "photos: list[dspy.Image] -> ok: bool"):
        with pytest.raises(JudgeError, match="jurist judges texts, images and JSON values"):
            jurist.Judge(name="x", signature=dspy.Signature(fields))


def test_exports_refuse_images_in_one_line() -> None:
    done = cli("export", "judge.py:judge:basic", "--to", "python", "--output", "x.py")
    assert done.code == 2
    assert "an input that is not inserted as text" in done.err
    assert len(done.err.splitlines()) == 1


COLORS = {"red": (255, 0, 0), "blue": (0, 0, 255), "green": (0, 255, 0), "white": (255, 255, 255)}


def photos(count: int) -> list[dict[str, Any]]:
    """Write images of one color each, and return rows whose captions name that color in half of the rows."""
    rows: list[dict[str, Any]] = []
    for number in range(count):
        color = list(COLORS)[number % 4]
        named = color if number // 4 % 2 else list(COLORS)[(number + 1 + number // 8) % 4]
        file = f"{number}.png"
        (Path("rows") / file).write_bytes(png(*COLORS[color], width=3 + number))
        verdict = "match" if named == color else "differs"
        rows.append({"photo": file, "caption": f"a {named} square, number {number}", "verdict": verdict})
    return rows


class LooksClosely(OpenAI):
    """A model that sees the color of an image, and says it rightly each time only if it is told to look closely."""

    def __init__(self, count: int) -> None:
        self.proposals: list[str] = []
        self.color_of_data: dict[str, str] = {}
        for number in range(count):
            for color, parts in COLORS.items():
                data = base64.b64encode(png(*parts, width=3 + number)).decode()
                self.color_of_data[data] = color

    def answer(self, body: dict[str, Any], text: str) -> dict[str, Any]:
        messages, images = self.messages(body), self.images(body)
        if not images:
            self.proposals.append(str(messages))
            return super().answer(
                body, in_fields("instruction", "Look closely at the color. Say match if it is named.")
            )
        [(_, data)] = images
        caption = messages[-1]["content"].partition("a ")[2].partition(" square")[0]
        is_match = caption == self.color_of_data[data]
        number = int(messages[-1]["content"].partition("number ")[2].split()[0])
        if "closely" not in messages[0]["content"] and number % 3 == 0:
            is_match = not is_match
        return super().answer(body, in_fields("verdict", "match" if is_match else "differs"))


def in_fields(name: str, text: str) -> str:
    return f"[[ ## {name} ## ]]\n{text}\n\n[[ ## completed ## ]]"


def test_a_judge_of_images_is_compiled_proven_and_reported() -> None:
    count = 120
    write_jsonl(Path("rows/gold.jsonl"), photos(count))
    wire = LooksClosely(count)
    with Counterpart(wire=wire, answers=always_match) as part:
        model = ("--model", part.model().name, "--api-base", f"{part.address}/v1")
        done = ok(
            *("compile", "judge.py:judge", "--gold", "rows/gold.jsonl", "--max-calls", "1200", "--yes"),
            *model,
            "--json",
        )
        assert done.json["decision"]["verdict"] == "better", done.people
        ok("run", "photo-match", "--input", "rows/gold.jsonl", "--output", "out.jsonl", *model)
    assert wire.proposals
    assert not any("base64" in proposal for proposal in wire.proposals)
    for file in Path("compiled/photo-match/1").iterdir():
        assert base64.b64encode(RED)[:24].decode() not in file.read_text("utf-8"), file
    ok("artifacts", "verify")
    ok("report", "photo-match@1", "--gold", "rows/gold.jsonl", "--output", "report.html")
    Path("judge.py").unlink()  # the version holds the whole judge
    ok("artifacts", "show", "photo-match@1")


def test_pages_show_images() -> None:
    judge_of_photos = judge()
    case = judge_of_photos.case({"photo": "rows/red.png", "caption": "a square"})
    assert readable_input("photo", case.inputs["photo"]) == ["photo", address_of(RED), "image"]
    assert readable_input("caption", "data:image/png;base64,x") == ["caption", "data:image/png;base64,x"]
    Path("rows/red.png").unlink()
    assert readable_input("photo", case.inputs["photo"]) == ["photo", str(case.inputs["photo"])]
