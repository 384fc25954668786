"""Who may import whom: kit ← http, errors ← access ← audit ← features ← toolbox ← what wires them together."""

import ast
from collections.abc import Mapping
from functools import cache

import pytest

from tests.architecture.modules import PROJECT, Module, bullet_list, cycles, imported_modules, imports, modules

FEATURES = ("api_keys", "workspaces", "servers", "connections", "agents", "services", "system")
LEVELS = {
    "api.kit": 0,
    "api.errors": 1,
    "api.http": 1,
    "api.upstream_http": 1,
    "api.access": 2,
    "api.audit": 3,
    **{f"api.{feature}": 4 for feature in FEATURES},
    "api.toolbox": 5,
    "api.main": 6,
}
# The public modules of each feature: the only ones that other features and the toolbox import. What they import from
# such a module is defined in it: a public module does not hand on what is in the others.
PUBLIC = {
    "api.audit": {"journal", "events", "call_log"},
    "api.servers": {"service", "server", "records", "credential_binding"},
    "api.agents": {"service", "agent", "tool_rules"},
    "api.connections": {"tokens.access_tokens", "tokens.errors"},
}
ONLY_SERVICE = {"service"}
# What every service shares, and a service's folder may import beside itself: the loose files, and the model of OAuth.
SHARED_BY_SERVICES = {
    "integrations.oauth.model",
    *(f"integrations.{file.stem}" for file in (PROJECT / "integrations").glob("*.py") if file.stem != "__init__"),
}


def folder_of(name: str) -> str:
    """`api.servers` for `api.servers.routes`; `api.errors` for itself."""
    return ".".join(name.split(".")[:2])


def objection(importer: str, imported: str) -> str | None:
    """Why the one may not import the other."""
    for rule in (_integrations_objection, _level_objection, _privacy_objection):
        if why := rule(importer, imported):
            return f"{importer} imports {imported}: {why}"
    return None


def _integrations_objection(importer: str, imported: str) -> str | None:
    inside, asks_inside = importer.startswith("integrations"), imported.startswith("integrations")
    if inside and imported.startswith("api"):
        return "integrations know nothing of the API"
    if asks_inside and not inside and imported != "integrations":
        return "integrations have one door: `from integrations import …`"
    if inside and asks_inside and importer.count(".") and folder_of(importer) != folder_of(imported):
        return None if imported in SHARED_BY_SERVICES else "a service's folder imports only what every service shares"
    return None


def _level_objection(importer: str, imported: str) -> str | None:
    if not (importer.startswith("api.") and imported.startswith("api.")):
        return None
    if not {folder_of(importer), folder_of(imported)} <= LEVELS.keys():
        return "its folder has no level yet: give it one"
    higher = LEVELS[folder_of(imported)] > LEVELS[folder_of(importer)]
    return "that is a level above it" if higher else None


def _is_foreign(importer: str, imported: str) -> bool:
    mine, other = LEVELS.get(folder_of(importer), 0), LEVELS.get(folder_of(imported), 0)
    return (
        mine in (4, 5)
        and folder_of(importer) != folder_of(imported)
        and (other == 4 or folder_of(imported) == "api.audit")
    )


def _privacy_objection(importer: str, imported: str) -> str | None:
    if not _is_foreign(importer, imported):
        return None
    public = PUBLIC.get(folder_of(imported), ONLY_SERVICE)
    if imported.removeprefix(f"{folder_of(imported)}.") in public:
        return None
    return f"a feature uses another through its public modules only: {bullet_list(public)}"


@cache
def edges() -> dict[str, set[str]]:
    project = modules("api", "integrations")
    known = {item.name for item in project}
    return {item.name: imported_modules(item, known) for item in project}


def test_no_module_imports_a_higher_level_or_a_private_module() -> None:
    objections = {why for one, others in edges().items() for other in others if (why := objection(one, other))}

    assert not objections, bullet_list(objections)


def reexported(importer: Module, public: Mapping[str, Module]) -> set[str]:
    """What the module imports from a public module of another feature that is not defined there."""
    return {
        f"{importer.name} imports {alias.name} from {node.module}, which does not define it"
        for node in ast.walk(importer.tree)
        if isinstance(node, ast.ImportFrom) and node.module in public and _is_foreign(importer.name, node.module)
        for alias in node.names
        if alias.name not in definitions(public[node.module])
    }


def definitions(module: Module) -> set[str]:
    names: set[str] = set()
    for node in module.tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
    return names


def test_no_public_module_reexports_another() -> None:
    public = {module_.name: module_ for module_ in modules("api")}
    names = {text for value in public.values() for text in reexported(value, public)}

    assert not names, bullet_list(names)


def test_a_reexport_is_detected() -> None:
    service = Module("api.servers.service", "service.py", "from api.servers.repository import server_key\nclass S: ...")
    importer = Module("api.toolbox.x", "x.py", "from api.servers.service import S, server_key")

    assert reexported(importer, {service.name: service}) == {
        "api.toolbox.x imports server_key from api.servers.service, which does not define it"
    }


def test_every_public_module_exists_and_is_used_by_another_feature() -> None:
    foreign = {other for one, others in edges().items() for other in others if _is_foreign(one, other)}

    assert {f"{feature}.{name}" for feature, names in PUBLIC.items() for name in names} == {
        item for item in foreign if folder_of(item) in PUBLIC
    }


def test_every_folder_has_its_level() -> None:
    rooms = {folder_of(module_.name) for module_ in modules("api")} - {"api"}

    assert rooms == LEVELS.keys()


def test_no_folders_import_each_other_in_a_circle() -> None:
    between: dict[str, set[str]] = {}
    for one, others in edges().items():
        between.setdefault(folder_of(one), set()).update({folder_of(other) for other in others} - {folder_of(one)})

    assert cycles(between) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert cycles(edges()) == []


def test_imports_are_written_from_the_top() -> None:
    """Also inside of functions: an import that has to hide there is a circle."""
    hidden = {
        f"{module_.path}:{node.lineno}"
        for module_ in modules("api", "integrations")
        for node in ast.walk(module_.tree)
        if isinstance(node, ast.Import | ast.ImportFrom) and node.col_offset
    }

    assert not hidden, bullet_list(hidden)


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("api.kit.storage.store", "api.errors"),
        ("api.kit.storage.store", "api.http.request"),
        ("api.errors", "api.access.api_key"),
        ("api.http.openapi.generate", "api.access.guards"),
        ("api.access.authenticator", "api.audit.journal"),
        ("api.audit.journal", "api.servers.service"),
        ("api.servers.service", "api.main.app"),
        ("api.servers.service", "api.main.settings"),
        ("api.agents.service", "api.servers.repository"),
        ("api.agents.routes", "api.servers.schemas"),
        ("api.connections.repository", "api.servers.repository"),
        ("api.toolbox.credentials.oauth", "api.connections.repository"),
        ("api.servers.service", "api.audit.repository"),
        ("api.servers.rules", "integrations.manifest"),
        ("api.no_level_yet.service", "api.kit.storage.store"),
        ("api.toolbox.service", "api.agents.repository"),
        ("api.agents.service", "api.toolbox.tool_names"),
        ("integrations", "api.kit.clock"),
        ("integrations.notion.tools", "api.kit.clock"),
        ("integrations.notion.tools", "integrations.slack.tools"),
        ("integrations.notion.tools", "integrations"),
    ],
)
def test_a_forbidden_import_is_detected(importer: str, imported: str) -> None:
    assert objection(importer, imported)


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("api.main.app", "api.servers.routes"),
        ("api.agents.service", "api.servers.service"),
        ("api.agents.service", "api.audit.journal"),
        ("api.connections.repository", "api.servers.records"),
        ("api.toolbox.credentials.oauth", "api.connections.tokens.access_tokens"),
        ("api.toolbox.service", "api.agents.service"),
        ("api.audit.journal", "api.audit.repository"),
        ("api.servers.rules", "integrations"),
        ("integrations.notion.tools", "integrations.manifest"),
        ("integrations.mcp.client", "integrations.errors"),
        ("integrations.notion.tools", "integrations.notion.hooks"),
        ("integrations", "integrations.manifest"),
    ],
)
def test_an_allowed_import_is_accepted(importer: str, imported: str) -> None:
    assert objection(importer, imported) is None


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import a.b.c", {"a.b.c"}),
        ("import a.b as c", {"a.b"}),
        ("from a.b import c", {"a.b", "a.b.c"}),
        ("from . import c", {"a.b", "a.b.c"}),
        ("from .. import c", {"a", "a.c"}),
        ("from .c import d", {"a.b.c", "a.b.c.d"}),
        ("def f():\n    import a.b.c", {"a.b.c"}),
        ("if True:\n    from a import c", {"a", "a.c"}),
    ],
)
def test_every_form_of_import_is_detected(source: str, expected: set[str]) -> None:
    assert imports(Module("a.b.x", "a/b/x.py", source)) == expected


def test_an_import_from_a_package_resolves_to_its_module() -> None:
    source = Module("a.x", "a/x.py", "from b import c, d")

    assert imported_modules(source, {"a.x", "b", "b.c"}) == {"b.c"}
    assert imported_modules(source, {"a.x", "b"}) == {"b"}


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"a"}}, [["a", "b"]]),
        ({"c": {"b"}, "b": {"a"}, "a": {"c"}}, [["a", "c", "b"]]),
    ],
)
def test_a_circle_is_detected(between: dict[str, set[str]], expected: list[list[str]]) -> None:
    assert cycles(between) == expected


def test_the_parsed_files_are_the_project() -> None:
    assert (PROJECT / "api" / "main" / "app.py").exists()
    assert len(edges()) > 80
