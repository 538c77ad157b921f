"""Objects of Python files and of installed packages."""

import importlib
import sys
from pathlib import Path
from typing import TypeGuard

import pytest

from jurist.arguments.names import list_module_names
from jurist.errors import JudgeError, OptimizerError, UnknownJudgeError
from jurist.exports import PLUGIN_EXPORTERS
from jurist.optimizers.registry import PLUGIN_OPTIMIZERS
from jurist.programs.catalogue import PLUGIN_JUDGES, find
from jurist.programs.gold_readers import PLUGIN_READERS
from jurist.programs.plugins import PluginKind, split_file_name


class Recipe:
    """A thing that packages bring in these tests."""

    def __init__(self, name: str) -> None:
        self.name = name


def _is_recipe(value: object) -> TypeGuard[Recipe]:
    return type(value).__name__ == "Recipe"  # a file of its own defines its own class


RECIPES = PluginKind(
    group="jurist.recipes", noun="optimizer", expected="a Recipe", accepts=_is_recipe, error=OptimizerError
)
SOURCE = "class Recipe:\n    def __init__(self, name):\n        self.name = name\n"


def install(folder: Path, package: str, entries: dict[str, str], group: str = "jurist.recipes") -> None:
    """Write an installed package with entry points."""
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder of installed packages that is on the path."""
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    return tmp_path


def test_a_name_of_an_installed_package_is_its_object(site: Path) -> None:
    (site / "acme_soups.py").write_text(f"{SOURCE}soup = Recipe('soup')\n")
    install(site, "acme-soups", {"soup": "acme_soups:soup", "broth": "acme_soups:nothing"})
    assert RECIPES.installed_names() == ["broth", "soup"]
    assert "acme_soups" not in sys.modules  # a list of names imports no package
    found = RECIPES.from_package("soup")
    assert found is not None
    assert found.name == "soup"
    assert RECIPES.from_package("stew") is None


@pytest.mark.parametrize(
    ("source", "value", "problem"),
    [
        (None, "acme_bad:soup", "ModuleNotFoundError: No module named 'acme_bad'"),
        ("import no_such_module", "acme_bad:soup", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("x = 1", "acme_bad:soup", "AttributeError: module 'acme_bad' has no attribute 'soup'"),
        ("soup = 1 / 0", "acme_bad:soup", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "acme_bad:soup", "SystemExit: 3"),
        ("soup = 7", "acme_bad:soup", "it is of type int, not a Recipe"),
        (f"{SOURCE}soup = Recipe('stew')", "acme_bad:soup", "the optimizer itself is called 'stew'"),
    ],
)
def test_a_bad_plugin_is_said_in_one_line(site: Path, source: str | None, value: str, problem: str) -> None:
    sys.modules.pop("acme_bad", None)
    if source is not None:
        (site / "acme_bad.py").write_text(source)
    install(site, "acme-bad", {"soup": value})
    with pytest.raises(OptimizerError) as caught:
        RECIPES.from_package("soup")
    assert str(caught.value).startswith(f"soup = {value} (jurist.recipes of acme-bad): {problem}; ")
    assert "acme-bad" in caught.value.hint
    assert "\n" not in str(caught.value)


def test_two_packages_cannot_bring_one_name(site: Path) -> None:
    install(site, "acme-one", {"soup": "one:soup"})
    install(site, "acme-two", {"soup": "two:soup"})
    with pytest.raises(OptimizerError, match="acme-one and acme-two each bring an optimizer called 'soup'"):
        RECIPES.from_package("soup")


def test_an_object_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "soups.py"
    file.write_text(f"{SOURCE}soup = Recipe('soup')\n")
    assert RECIPES.from_file(file, "soup").name == "soup"
    assert RECIPES.from_file(file).name == "soup"  # the only one
    with pytest.raises(OptimizerError, match=r"'stew' is not in it; did you mean|use one of soup"):
        RECIPES.from_file(file, "stew")
    with pytest.raises(OptimizerError, match="is of type type, not a Recipe"):
        RECIPES.from_file(file, "Recipe")
    with pytest.raises(OptimizerError, match=r"no such file; did you mean"):
        RECIPES.from_file(tmp_path / "soup.py")


def test_an_installed_judge_is_found_by_its_name(site: Path) -> None:
    (site / "acme_judges.py").write_text(
        "from typing import Literal\nimport dspy, jurist\n"
        "class Polite(dspy.Signature):\n"
        '    """Say whether the text is polite."""\n'
        "    text: str = dspy.InputField()\n"
        "    label: Literal['yes', 'no'] = dspy.OutputField()\n"
        "polite = jurist.Judge(name='polite', signature=Polite, positive=frozenset({'yes'}))\n"
    )
    install(site, "acme-judges", {"polite": "acme_judges:polite"}, PLUGIN_JUDGES.group)
    assert find("polite").name == "polite"
    with pytest.raises(UnknownJudgeError, match="did you mean polite"):
        find("polit")
    install(site, "acme-others", {"fect": "nowhere:fect"}, PLUGIN_JUDGES.group)
    assert find("fect").name == "fect"  # a plugin never replaces a judge that comes with jurist


@pytest.mark.parametrize("name", ["fect", "a:b", "folder/file.txt:judge"])
def test_other_names_mean_no_file(name: str) -> None:
    assert split_file_name(name) == (None, "")


def test_names_that_mean_a_file() -> None:
    assert split_file_name("a/b.py:c") == (Path("a/b.py"), "c")
    assert split_file_name("b.py") == (Path("b.py"), "")


def test_errors_of_a_judge_stay_of_their_kind(tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match="no such file"):
        find(str(tmp_path / "none.py:judge"))


# -- modules of jurist ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "package"),
    [
        (PLUGIN_EXPORTERS, "exports.targets"),
        (PLUGIN_OPTIMIZERS, "optimizers.named"),
        (PLUGIN_READERS, "programs.readers"),
    ],
)
def test_a_module_is_called_like_what_it_brings(kind: PluginKind[object], package: str) -> None:
    objects = kind.load_modules(package)
    assert list(objects) == list_module_names(package)
    assert [getattr(value, "name", None) for value in objects.values()] == list(objects)


def test_a_module_that_brings_nothing_of_the_kind_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"bootstrap\.py: optimizer is not a Recipe"):
        RECIPES.load_modules("optimizers.named")
