"""The arrows of the house: who may import whom, and what importing loads.

It reads the source as syntax trees, so that imports made for types alone and
those inside functions count as well.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "citestream"

# What each room stands on. A room may import these, and what they stand on.
ARROWS: dict[str, set[str]] = {
    "blocks": set(),
    "closing": set(),
    "disarming": set(),
    "events": set(),
    "exceptions": set(),
    "grammar": set(),
    "refusal": set(),
    "typography": set(),
    # What is not prose, and where its sentences end.
    "regions": {"blocks"},
    "abbreviations": set(),
    "coverage": {"events"},
    "stops": {"abbreviations", "coverage", "regions"},
    "sentences": {"blocks", "stops"},
    "visible": {"grammar", "regions"},
    "mending": {"events", "grammar"},
    # The passages, and the names they have.
    "hits": {"exceptions"},
    "passages": {"exceptions", "disarming", "hits"},
    "labels": {"passages", "typography"},
    # The styles.
    "spelling": {"frames", "grammar", "typography"},
    "patterns": {"exceptions", "grammar", "typography"},
    "canonical": set(),
    "numbered": {"spelling"},
    "named": {"spelling", "patterns"},
    "shapes": {"grammar", "labels"},
    "styles": {"canonical", "exceptions", "named", "numbered", "shapes"},
    "dialect": {"canonical", "labels", "styles"},
    # The filter.
    "near": {"labels", "refusal"},
    "frames": {"exceptions", "typography"},
    "tally": {"passages", "events", "labels", "styles"},
    "writing": {"events", "styles", "tally"},
    "scanner": {"dialect", "styles", "regions", "mending"},
    "short": {"dialect", "events", "mending", "visible", "writing"},
    "block": {"scanner", "short", "mending", "visible", "writing", "near"},
    "filter": {"block", "sentences"},
    # What a sentence claims, beside what it cites.
    "facts": {"typography"},
    "claims": {"facts", "events", "passages"},
    # The doors.
    "protocol": {"events", "passages"},
    "record": {"events"},
    "items": {"exceptions"},
    "sources": {"exceptions"},
    # The gates.
    "policy": {"events", "exceptions", "passages"},
    "withheld": {"events"},
    "corrections": {"events"},
    "shown": {"coverage", "events", "passages"},
    "exposed": {"filter"},
    "gate": {"corrections", "exposed", "filter", "policy", "shown", "withheld"},
    "judge": {"gate"},
    "attempts": {"gate", "judge", "closing"},
    "stream": {"attempts", "filter", "record", "items", "sources", "closing"},
    "wire": {"filter", "gate", "protocol"},
    "sse": {"stream", "protocol", "record"},
    "middleware": {"wire", "gate", "record", "closing"},
    "respond": {"stream"},
    "proxy": {"middleware"},
    "testing": {"filter"},
    "floors": set(),
    "cli": {"claims", "floors", "proxy", "respond", "sse", "testing"},
    # The front door shows the core, and the stream to those who ask for it.
    "__init__": {"filter", "stream"},
    "__main__": {"cli"},
}

# What a room may import that is neither ours nor the standard library's.
# A room that is not named here imports nothing of the kind.
THIRD_PARTY: dict[str, set[str]] = {
    "closing": {"anyio"},
    "judge": {"anyio", "trio"},
    "respond": {"anyio"},
    "sources": {"anyio"},
    "stream": {"anyio"},
    "testing": {"trio"},
    "sse": {"anyio", "sse_starlette", "starlette"},
    "middleware": {"anyio", "starlette"},
    "proxy": {"anyio", "httpx2", "starlette"},
    "cli": {"click"},
}

# The demonstration stands on everything and nothing stands on it, but for the
# command that starts it.
DEMO_IMPORTERS = {"cli"}

# Where users read every attribute. Elsewhere a class says what it is, and the
# members of its enumerations are words that speak for themselves.
READ_BY_USERS = {
    "claims",
    "events",
    "filter",
    "floors",
    "middleware",
    "passages",
    "policy",
    "sse",
    "stream",
    "styles",
    "testing",
}

# Names that say nothing of what is inside.
EMPTY_NAMES = {"base", "common", "helper", "helpers", "misc", "util", "utils"}

FRONT_DOOR = {
    "NO_ANSWER",
    "Citation",
    "CitationFilter",
    "CitationStream",
    "MarkerStyle",
    "Passage",
    "Passages",
    "Summary",
    "Text",
    "check_citations",
    "filter_text",
    "strip_invalid",
}

MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


def room_of(module: str) -> str:
    """Return the room a module of the package belongs to: `citestream.wire.openai` -> `wire`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports_of(path: Path) -> set[str]:
    """Return every module that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: a relative import hides where it points"
            assert node.module is not None
            for alias in node.names:
                submodule = ROOT.joinpath(*node.module.split("."), alias.name)
                is_module = submodule.is_dir() or submodule.with_suffix(".py").exists()
                found.add(f"{node.module}.{alias.name}" if is_module else node.module)
    return found


def below(room: str) -> set[str]:
    """Return all that a room stands on, directly or not."""
    found: set[str] = set()
    todo = [room]
    while todo:
        for lower in ARROWS[todo.pop()] - found:
            found.add(lower)
            todo.append(lower)
    return found


def top(module: str) -> str:
    return module.partition(".")[0]


def test_map_of_the_arrows_has_no_cycle() -> None:
    assert [room for room in ARROWS if room in below(room)] == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_room_imports_only_what_is_below_it(path: Path) -> None:
    room = room_of(name_of(path))
    assert room in ARROWS, "a new room says in ARROWS what it stands on"
    ours = {room_of(module) for module in imports_of(path) if top(module) == "citestream"}
    assert ours - below(room) - {room} == set()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_room_imports_only_the_third_parties_it_names(path: Path) -> None:
    room = room_of(name_of(path))
    foreign = {
        top(module)
        for module in imports_of(path)
        if top(module) not in {*sys.stdlib_module_names, "citestream"}
    }
    if room in DEMO_IMPORTERS:
        foreign.discard("demo")
    assert foreign - THIRD_PARTY.get(room, set()) == set()


def test_modules_import_each_other_in_no_circle() -> None:
    names = {name_of(path): path for path in MODULES}
    graph = {
        name: {module for module in imports_of(path) if module in names and module != name}
        for name, path in names.items()
    }
    # Take away what stands on nothing, again and again: what is left is a circle.
    while free := [name for name, lower in graph.items() if not lower]:
        for name in free:
            del graph[name]
        for lower in graph.values():
            lower.difference_update(free)
    assert graph == {}


def test_rooms_are_named_after_their_purpose() -> None:
    everything = [*PACKAGE.rglob("*"), *(ROOT / "demo").rglob("*"), *(ROOT / "tests").rglob("*")]
    assert [path for path in everything if path.stem.lstrip("_") in EMPTY_NAMES] == []


def loaded_by(statement: str) -> set[str]:
    """Return the third-party packages that a statement loads in a new interpreter."""
    program = (
        "import sys\n"
        # What the environment's own start-up files loaded is not ours.
        "before = set(sys.modules)\n"
        f"{statement}\n"
        "tops = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(tops - set(sys.stdlib_module_names) - {'citestream'}))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


def test_importing_the_package_loads_no_third_party_module() -> None:
    assert loaded_by("import citestream") == set()


def test_stream_is_loaded_when_it_is_asked_for() -> None:
    assert "anyio" in loaded_by("import citestream; citestream.CitationStream")
    assert "starlette" not in loaded_by("from citestream import *")


def test_coverage_measures_the_core() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    core = below("filter") | {"filter"}
    measured = settings["tool"]["coverage"]["run"]["include"]
    assert measured == sorted(
        f"citestream/{room}.py" for room in core if (PACKAGE / f"{room}.py").exists()
    )


def test_every_core_room_loads_no_third_party_module() -> None:
    core = sorted(below("filter") | {"filter"})
    present = [room for room in core if (PACKAGE / f"{room}.py").exists()]
    assert {"events", "exceptions", "filter", "passages", "scanner", "styles"} <= set(present)
    assert loaded_by("; ".join(f"import citestream.{room}" for room in present)) == set()


def test_front_door_shows_the_names_it_promises() -> None:
    import citestream

    names = citestream.__all__
    assert set(names) == FRONT_DOOR
    assert [name for name in names if not hasattr(citestream, name)] == []
    assert set(dir(citestream)) >= FRONT_DOOR


def test_front_door_says_what_it_has_not() -> None:
    import citestream

    with pytest.raises(AttributeError) as caught:
        _ = citestream.Hallucination
    assert str(caught.value) == "module 'citestream' has no attribute 'Hallucination'"


def exported(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names = ast.literal_eval(node.value)
            assert isinstance(names, list)
            return names
    return None


def defined(tree: ast.Module) -> set[str]:
    """Return the names a module has at its top, those a `TYPE_CHECKING` block makes among them."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Assign():
                names |= {ast.unparse(target) for target in node.targets}
            case ast.AnnAssign():
                names.add(ast.unparse(node.target))
            case ast.Import() | ast.ImportFrom():
                names |= {alias.asname or alias.name for alias in node.names}
    return names


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_module_lists_its_names(path: Path) -> None:
    tree = parse(path)
    names = exported(tree)
    assert names is not None, "every module has an __all__"
    assert set(names) - defined(tree) == set()
    assert len(names) == len(set(names))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_module_has_no_star_import(path: Path) -> None:
    stars = [
        node.module
        for node in ast.walk(parse(path))
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]
    assert stars == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_module_says_what_it_is_for_and_what_it_does_not_know(path: Path) -> None:
    docstring = ast.get_docstring(parse(path))
    assert docstring is not None
    sentences = [
        part for part in docstring.replace("\n", " ").replace(";", ".").split(". ") if part
    ]
    assert len(sentences) >= 2, docstring


def undocumented(tree: ast.Module, *, attributes: bool) -> list[str]:
    """Return the public names of a module, and of its public classes, without a docstring."""
    names = set(exported(tree) or ())
    missing = []
    for node, name, documented in named(tree.body):
        if name not in names or is_overload(node):
            continue
        if not documented:
            missing.append(name)
        if isinstance(node, ast.ClassDef):
            missing += [
                f"{name}.{member}"
                for inner, member, described in named(node.body)
                if not member.startswith("_") and not described and not is_overload(inner)
                if attributes or isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
            ]
    return missing


def named(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, str, bool]]:
    """Give what a body names, and whether something is written about it."""
    for node, following in zip_longest(body, body[1:]):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node, node.name, ast.get_docstring(node) is not None
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                yield (
                    node,
                    name,
                    isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant),
                )


def is_overload(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(
        ast.unparse(decorator) == "overload" for decorator in node.decorator_list
    )


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_public_names_are_documented(path: Path) -> None:
    attributes = name_of(path).removeprefix("citestream.") in READ_BY_USERS
    assert undocumented(parse(path), attributes=attributes) == []
