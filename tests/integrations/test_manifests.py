import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from integrations import ManifestError, Service, services
from integrations.manifest import ManifestModel, load_service, load_services
from tests.integrations.sixth_service import SMALL, write_service

HERE = Path(__file__).parents[2] / "integrations"
SERVICES = list(services().values())

HUBSPOT_TOOLS = (
    "list_contacts get_contact search_contacts list_companies get_company search_companies "
    "list_deals get_deal search_deals list_owners get_owner search_owners"
)
HUBSPOT_SCOPES = (
    "crm.objects.contacts.read crm.objects.companies.read crm.objects.deals.read crm.objects.owners.read oauth"
)
POSTHOG_TOOLS = (
    "list_projects get_project query list_events list_event_definitions list_property_definitions list_insights "
    "get_insight list_dashboards get_dashboard list_annotations list_feature_flags get_feature_flag list_experiments "
    "get_experiment list_persons get_person list_cohorts get_cohort list_surveys get_survey get"
)


def error_text(tmp_path: Path, text: str) -> str:
    path = write_service(tmp_path, text)
    with pytest.raises(ManifestError) as raised:
        load_service(path)
    assert str(path) in str(raised.value)
    return str(raised.value)


def test_every_folder_with_a_manifest_is_a_service() -> None:
    assert list(services()) == sorted(path.parent.name for path in HERE.glob("*/manifest.toml"))
    assert {"hubspot", "linear", "notion", "posthog", "slack"} <= services().keys()
    assert services() is services()


def test_a_sixth_service_needs_only_a_folder(tmp_path: Path) -> None:
    for service in SERVICES:
        shutil.copytree(HERE / service.name, tmp_path / service.name)
    write_service(tmp_path, SMALL)
    (tmp_path / "mcp").mkdir()  # a folder without a manifest is no service
    assert list(load_services(tmp_path)) == sorted([*services(), "sixth"])


def test_a_minimal_manifest_has_defaults(tmp_path: Path) -> None:
    service = load_service(write_service(tmp_path, SMALL))
    assert service.oauth is not None
    assert (service.oauth.scope, service.oauth.expires_in, service.oauth.revoke) == ("", None, None)
    assert (service.urls, service.config_fields) == ((), ())


def fields_of(model: type[ManifestModel]) -> set[str]:
    """The keys that manifests may have, of every block; pydantic refuses any other."""
    return set(model.model_fields).union(*(fields_of(block) for block in model.__subclasses__()))


def names_read(folder: str) -> set[str]:
    """Attributes, and the fields of views, which are read from an object by their names."""
    trees = [
        ast.parse(path.read_text(encoding="utf-8"))
        for path in (HERE.parent / folder).rglob("*.py")
        if path.name != "manifest.py"
    ]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)}
    return attributes | {
        node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def test_every_field_of_a_manifest_is_read_by_the_product() -> None:
    read = names_read("integrations") | names_read("api")

    assert {"rotates", "quality"} & read == set(), "the test tells facts that are read from those that are not"
    assert fields_of(ManifestModel) - read == set()


def test_importing_the_package_reads_no_manifest() -> None:
    code = "import integrations; assert integrations.services.cache_info().currsize == 0"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=HERE.parent)


def test_integrations_import_nothing_of_the_product() -> None:
    for path in HERE.rglob("*.py"):
        assert not re.search(r"^\s*(from|import) api\b", path.read_text(encoding="utf-8"), re.MULTILINE), path


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('name = "sixth"\n', "", "name: Field required"),
        ('name = "sixth"\n', 'name = "Sixth"\n', "name: "),
        ('name = "sixth"\n', 'name = "seventh"\n', "tools: every name must begin with seventh_"),
        ('title = "Sixth"', 'title = ""', "title: "),
        ('title = "Sixth"', "title = 6", "title: "),
        ('title = "Sixth"', 'title = "Sixth"\ncolour = "red"', "colour: Extra inputs"),
        ('["oauth"]', "[]", "auth_types: "),
        ('["oauth"]', '["basic"]', "auth_types.0: "),
        ('["oauth"]', '["oauth", "header"]', "config_fields: required with the auth type header, and only then"),
        ('auth_types = ["oauth"]', 'auth_types = "oauth"', "auth_types: "),
        ('api_base_url = "https://api.sixth.example.com"', "", "api_base_url: set either this or urls"),
        ('base_url = "https://api.sixth.example.com"', 'base_url = "http://a.com"', "api_base_url: "),
        ('base_url = "https://api.sixth.example.com"', 'base_url = "https://a.com/"', "api_base_url: "),
        ('api_base_url = "', 'urls = ["https://a.com"]\napi_base_url = "', "api_base_url: set either this or urls"),
        ('"https://sixth.example.com/token"', '"https://user@sixth.example.com/token"', "oauth.token_url: "),
        ('"https://sixth.example.com/token"', '"https://sixth.example.com/to ken"', "oauth.token_url: "),
        ('client_auth = "basic"', 'client_auth = "none"', "oauth.client_auth: "),
        ("pkce = true", 'pkce = "yes"', "oauth.pkce: "),
        ("pkce = true", "pkce = 1", "oauth.pkce: "),
        ("pkce = true", "pkce = true\nexpires_in = 0", "oauth.expires_in: "),
        ("pkce = true", 'pkce = true\nscopes = ["a", 1]', "oauth.scopes.1: "),
        ("pkce = true", 'pkce = true\nscope_separator = "+"', "oauth.scope_separator: "),
        ("pkce = true", "pkce = true\nauthorize_params = { owner = 1 }", "oauth.authorize_params.owner: "),
        ('name = "sixth_read"', 'name = "read"', "tools.0.name: "),
        ('name = "sixth_read"', 'name = "sixth_Read"', "tools.0.name: "),
        ('name = "sixth_read"', 'name = "seventh_read"', "tools: every name must begin with sixth_"),
        ('name = "sixth_read"', f'name = "sixth_{"a" * 34}"', "tools.0.name: "),
        ("writes = false", "", "tools.0.writes: Field required"),
        ('description = "Read one."', "", "tools.0.description: Field required"),
    ],
)
def test_a_manifest_with_an_invalid_field_is_refused_by_file_and_field(
    tmp_path: Path, old: str, new: str, field: str
) -> None:
    assert old in SMALL
    assert f" {field}" in error_text(tmp_path, SMALL.replace(old, new, 1)).replace("Value error, ", "")


def test_a_manifest_without_its_oauth_block_is_refused(tmp_path: Path) -> None:
    head, _, rest = SMALL.partition("[oauth]")
    text = head + rest[rest.index("[[tools]]") :]
    assert "oauth: required with the auth type oauth, and only then" in error_text(tmp_path, text)


def test_a_manifest_with_a_tool_twice_is_refused(tmp_path: Path) -> None:
    tool = SMALL[SMALL.index("[[tools]]") :]
    assert "tools: two tools have the same name" in error_text(tmp_path, SMALL + tool)


def test_a_revocation_names_a_token(tmp_path: Path) -> None:
    text = SMALL.replace(
        "[[tools]]",
        '[oauth.revoke]\nurl = "https://a.com/r"\nclient_auth = "none"\nbody = "form"\ntokens = {}\n\n[[tools]]',
    )
    assert " oauth.revoke.tokens: " in error_text(tmp_path, text)


def test_an_invalid_toml_file_is_refused(tmp_path: Path) -> None:
    assert "at line 1" in error_text(tmp_path, "name = \ntitle = 1")


def test_a_service_named_unlike_its_folder_is_refused(tmp_path: Path) -> None:
    path = write_service(tmp_path, SMALL, name="seventh")
    with pytest.raises(ManifestError, match="name: sixth differs from the name of its folder"):
        load_service(path)


def test_the_type_of_remote_servers_cannot_be_a_service(tmp_path: Path) -> None:
    text = SMALL.replace('"sixth"', '"external"').replace("sixth_read", "external_read")
    assert "name: external is reserved" in error_text(tmp_path, text)


def test_the_names_of_variables_follow_from_the_services_name(tmp_path: Path) -> None:
    text = SMALL.replace('"sixth"', '"big-sixth"').replace("sixth_read", "big_sixth_read")
    service = load_service(write_service(tmp_path, text, name="big-sixth"))
    assert service.env_prefix == "BIG_SIXTH"
    assert service.client_id_variable == "BIG_SIXTH_OAUTH_CLIENT_ID"
    assert services()["notion"].client_secret_variable == "NOTION_OAUTH_CLIENT_SECRET"
    assert services()["posthog"].variable("API_BASE_URL") == "POSTHOG_API_BASE_URL"


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_every_tool_is_described_in_one_sentence(service: Service) -> None:
    for tool in service.tools:
        assert re.fullmatch(r"[A-Z][^.]*\.", tool.description.replace("phx_", "")), tool
        assert len(f"{tool.name}_{'s' * 24}") <= 64


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_every_readme_names_what_the_manifest_needs(service: Service) -> None:
    text = (HERE / service.name / "README.md").read_text(encoding="utf-8")
    for url in service.urls:
        assert url in text
    if service.oauth:
        needed = {
            service.client_id_variable,
            service.client_secret_variable,
            *service.oauth.scopes,
            service.console_url,
        }
        needed.add(f"{{OAUTH_REDIRECT_BASE_URL}}/api/mcp/oauth/{service.name}/callback")
        assert {word for word in needed if word not in text} == set()


@pytest.mark.parametrize(
    ("name", "tools"),
    [
        (
            "notion",
            "read search create* update* query_database create_database_page* update_database_page* append_blocks*",
        ),
        ("linear", "list_teams list_projects list_issues get_issue search_issues"),
        (
            "hubspot",
            HUBSPOT_TOOLS,
        ),
        ("slack", "list_channels get_channel_history post_message*"),
        (
            "posthog",
            POSTHOG_TOOLS,
        ),
    ],
)
def test_the_tools_of_every_service_are_these(name: str, tools: str) -> None:
    texts = [f"{tool.name}{'*' if tool.writes else ''}" for tool in services()[name].tools]
    assert texts == [f"{name}_{tool}" for tool in tools.split()]


@pytest.mark.parametrize(
    ("name", "authorize", "token", "revoke", "how"),
    [
        (
            "notion",
            "https://api.notion.com/v1/oauth/authorize",
            "https://api.notion.com/v1/oauth/token",
            "https://api.notion.com/v1/oauth/revoke",
            ("basic", "json", "", False, None, {"owner": "user"}),
        ),
        (
            "linear",
            "https://linear.app/oauth/authorize",
            "https://api.linear.app/oauth/token",
            "https://api.linear.app/oauth/revoke",
            ("body", "form", "read", True, 86399, {"actor": "app"}),
        ),
        (
            "hubspot",
            "https://app.hubspot.com/oauth/authorize",
            "https://api.hubapi.com/oauth/2026-09/token",
            "https://api.hubapi.com/oauth/2026-09/token/revoke",
            (
                "body",
                "form",
                HUBSPOT_SCOPES,
                False,
                1800,
                {},
            ),
        ),
        (
            "slack",
            "https://slack.com/oauth/v2/authorize",
            "https://slack.com/api/oauth.v2.access",
            "https://slack.com/api/auth.revoke",
            (
                "basic",
                "form",
                "channels:read,channels:history,groups:read,groups:history,chat:write",
                False,
                None,
                {},
            ),
        ),
    ],
)
def test_the_connection_facts_of_every_service_are_these(
    name: str, authorize: str, token: str, revoke: str, how: tuple[object, ...]
) -> None:
    oauth = services()[name].oauth
    assert oauth is not None
    assert oauth.revoke is not None
    assert (oauth.authorize_url, oauth.token_url, oauth.revoke.url) == (authorize, token, revoke)
    text = (oauth.client_auth, oauth.token_body, oauth.scope, oauth.pkce, oauth.expires_in)
    assert (*text, oauth.authorize_params) == how


def test_posthog_needs_a_secret_key_and_one_of_two_addresses() -> None:
    posthog = services()["posthog"]
    (key,) = posthog.config_fields
    assert posthog.auth_types == ("header",)
    assert posthog.urls == ("https://us.posthog.com", "https://eu.posthog.com")
    assert (posthog.oauth, posthog.api_base_url) == (None, None)
    assert (key.name, key.secret, key.placeholder) == ("apiKey", True, "phx_…")
