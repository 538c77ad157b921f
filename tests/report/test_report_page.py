"""The page of a report: its figures are the card's, it asks nothing of the network, and no text acts in it."""

import base64
import gzip
import html
import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hostile import HOSTILE, reported
from hypothesis import given
from hypothesis import strategies as st
from small import claims, cli, ok, read_jsonl, write_jsonl

from jurist.report.differing import word_changes
from jurist.report.document import Cases, Changes, Document, Link, Section, Word
from jurist.report.judged import KINDS
from jurist.report.page import as_page, pack
from jurist.report.table import table

DOCS = Path(__file__).resolve().parents[2] / "docs"


class Page(HTMLParser):
    """The elements of a page, its texts, the cells of its tables, and every address in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.addresses: list[str] = []
        self.cells: list[str] = []
        self.texts: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self._open.append(tag)
        self.addresses += [
            value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "action")
        ]
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        tag = self._open[-1] if self._open else ""
        self.texts[tag] = self.texts.get(tag, "") + data
        if tag in ("td", "th"):
            self.cells[-1] += data


def unpacked(page: str) -> Any:
    (data,) = re.findall(r'<script type="text/plain">([^<]*)</script>', page)
    return json.loads(gzip.decompress(base64.b64decode(data)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a gold set, hostile texts in it, a judge compiled on it, and its report."""
    return reported(tmp_path_factory.mktemp("report")).parent


def report(folder: Path, *argv: object) -> Any:
    return cli("report", "fect@1", "--store", folder / "compiled", "-o", folder / "page.html", *argv)


def test_every_figure_is_the_cards(folder: Path) -> None:
    card = json.loads((folder / "compiled/fect/1/card.json").read_text())
    text = (folder / "page.html").read_text()
    page = Page(text)
    for scores in card["scores"].values():
        for one in scores.values():
            assert any(
                f"{one['value']:.3f} [{one['low']:.3f}, {one['high']:.3f}]" in cell for cell in page.cells
            )
    decision, data = card["decision"], unpacked(text)
    became = Counter(unit["became"] for case in data["cases"] for unit in case["units"])
    assert (became["corrected"], became["broken"]) == (decision["c"], decision["b"])
    assert became.total() == decision["units"] == len(data["cases"])
    assert (
        f"{decision['basic']:.3f} to {decision['compiled']:.3f} ({decision['difference']:+.3f}"
        in page.texts["p"]
    )
    for system, numbers in card["counts"].items():
        assert f"{system}: {numbers['units']['answered']} units answered" in page.texts["li"]
    assert f"{card['spend']['calls']} calls" in page.texts["li"]
    assert card["decision"]["verdict"] == "better"
    assert "<span>gate</span> <span>fect@1</span>" in text


def test_plots_show_the_proof_and_the_search_and_none_is_empty(folder: Path) -> None:
    text = (folder / "page.html").read_text()
    card = json.loads((folder / "compiled/fect/1/card.json").read_text())
    groups = {row["group"] for row in read_jsonl(folder / "compiled/fect/1/proof.jsonl")}
    figures = dict(
        re.findall(r'<figure class="plot">\s*<figcaption>(.*?)</figcaption>(.*?)</figure>', text, re.DOTALL)
    )
    forest = figures["Against what else answers the same rows"]
    for reference in card["references"].values():
        assert reference is None or f"{reference['score']:.3f}" in forest
    assert figures["By group"].count("<tr>") == 1 + min(24, len(groups))
    candidates = read_jsonl(folder / "compiled/fect/1/history.jsonl")
    assert (
        f"of {len([one for one in candidates if one['estimate']])} candidates"
        in figures["Gain against calls"]
    )
    for figure in figures.values():
        assert len(re.findall("<circle|<polyline", figure)) > 1
        assert "nan" not in figure


def test_every_count_opens_the_units_that_it_counts(folder: Path) -> None:
    rows, text = read_jsonl(folder / "compiled/fect/1/proof.jsonl"), (folder / "page.html").read_text()
    data = unpacked(text)
    units = [unit for case in data["cases"] for unit in case["units"]]
    same = Counter[str]()
    counted = Counter[str]()
    for address, words in re.findall(r'<a href="#([^"]*=[^"]*)">([^<]*)</a>', text):
        asked, number = dict(parse_qsl(html.unescape(address))), int(words.split()[0])
        side = 1 + data["systems"].index(asked.get("by", "basic"))
        names = (asked.get("gold"), asked.get("said"))
        opened = [unit for unit in units if asked.get("kind") in (None, unit["became"])]
        opened = [
            unit for unit in opened if "kind" in asked or (unit["names"][0], unit["names"][side]) == names
        ]
        assert len(opened) == number
        if words.isdigit():
            counted[asked["by"]] += number
            same[asked["by"]] += number * (names[0] == names[1])
    for system in ("basic", "compiled"):
        assert counted[system] == len(rows)
        assert same[system] == sum(row["gold"] == row[system]["values"] for row in rows)


def test_the_page_asks_nothing_of_the_network_and_lets_one_script_run(folder: Path) -> None:
    text = (folder / "page.html").read_text()
    assert all(address.startswith(("#", "data:")) for address in Page(text).addresses)
    assert "default-src 'none'" in text
    assert "unsafe-inline'; script-src 'sha256-" in text
    assert not re.findall(r"url\((?!#)", text)


def test_inputs_are_those_of_the_gold_whatever_they_say(folder: Path) -> None:
    data = unpacked((folder / "page.html").read_text())
    said = {row["claim"]: row["conversation"] for row in read_jsonl(folder / "gold.jsonl")}
    for case in data["cases"]:
        inputs = dict(case["inputs"])
        assert said[inputs["claim"]] == inputs["conversation"]


@pytest.mark.parametrize(
    ("name", "samples"), [("reply_score", 1), pytest.param("reply_preference", 3, marks=pytest.mark.slow)]
)
def test_every_kind_of_answer_has_a_report(tmp_path: Path, name: str, samples: int) -> None:
    judge, gold = name.replace("_", "-"), ("--gold", name.replace("_", "-"), "--split", "40/20/40")
    store = ("--store", tmp_path / "compiled")
    search = ("--optimizer", "nearest")  # which changes the prompt, so that there is something to prove
    argv = (f"{DOCS / name}.py:judge", *gold, *store, "--samples", samples, "--force", *search)
    ok("compile", *argv)
    ok("report", judge, *store, "-o", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    card = json.loads((tmp_path / f"compiled/{judge}/1/card.json").read_text())
    became = Counter(unit["became"] for case in unpacked(text)["cases"] for unit in case["units"])
    assert became.total() == card["decision"]["units"]
    assert bool(became.keys() & {"nearer", "no nearer"}) == (card["decision"]["c"] is None)


def test_without_its_gold_the_cases_have_no_inputs_and_that_is_said(folder: Path, tmp_path: Path) -> None:
    (folder / "gold.jsonl").rename(tmp_path / "moved.jsonl")
    done = report(folder)
    named = report(folder, "--gold", tmp_path / "moved.jsonl")
    (tmp_path / "moved.jsonl").rename(folder / "gold.jsonl")
    assert (done.code, named.code) == (0, 0)
    assert "--gold" in done.err
    assert "--gold" not in named.err
    other = tmp_path / "other.jsonl"
    write_jsonl(other, [{**row, "claim": row["claim"] + " indeed"} for row in claims()])
    wrong = report(folder, "--gold", other)
    assert (wrong.code, "holds no case" in wrong.err) == (1, True)


def document(text: str) -> Document:
    words = (Word(text=text, change="added"), Word(text=text + ".", change="removed"))
    case = {
        "id": "1",
        "group": text,
        "source": text,
        "kinds": ["right"],
        "inputs": [[text, text]],
        "units": [{"text": text, "gold": text, "said": [text], "sure": [0.5], "became": "right"}],
        "notes": [],
    }
    found = Cases(systems=("basic",), kinds=KINDS, units={}, cases=[case], note=text)
    parts = (
        table(text, [text, "b"], [[text, "1"]]),
        Changes(title=text, words=words, examples=(text,)),
        table("", ["name", "value"], [[text, text]], layout="facts"),
        table(text, ["gold", "yes"], [[text, 1]], layout="counts", opens=text),
        table("", ["name", "command"], [[text, text]], layout="commands"),
        Changes(title=text, words=(*words, Word(text="of", change="same"))),
        Link(text, {"gold": text}),
        text,
        found,
    )
    sections = (Section("one", text, parts, intro=text), Section("two", text, parts, folded=True))
    about = {"subject": text, "about": text, "headline": text, "lead": (text,), "front": sections[:1]}
    return Document(**about, tone="good", sections=sections)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_becomes_an_element(text: str) -> None:
    words = len(table("", [""], [[text]]).rows[0][0].split(" "))  # of a command each stays in one piece
    plain, found = Page(as_page(document(" ".join(["harmless"] * words)))), Page(as_page(document(text)))
    assert found.tags == plain.tags
    assert all(address.startswith(("#", "data:")) for address in found.addresses)
    assert "49" not in found.texts["h1"]


@pytest.mark.parametrize("size", [300, 30_000])
def test_cases_fit_the_page_and_what_was_cut_is_said(size: int) -> None:
    random = "".join(chr(0x4E00 + (number * 7919 + size) % 20000) for number in range(size))
    cases = [
        {"kinds": ["right"], "units": [], "inputs": [["a", random[place:] + random]]} for place in range(100)
    ]
    whole = Cases(systems=(), kinds=KINDS, units={}, cases=cases)
    packed = pack(whole, largest=400_000)
    assert len(packed.data) <= 400_000
    text = gzip.decompress(base64.b64decode(packed.data)).decode()
    cut = "more letters: see the gold" in text
    assert cut == bool(packed.limit) == (size == 30_000)
    assert pack(whole) == pack(whole)


@given(st.text("ab c\n.", max_size=40), st.text("ab c\n.", max_size=40))
def test_changed_words_give_both_texts_back(before: str, after: str) -> None:
    words = word_changes(before, after)
    assert "".join(word.text for word in words if word.change != "removed") == after
    assert "".join(word.text for word in words if word.change != "added") == before
