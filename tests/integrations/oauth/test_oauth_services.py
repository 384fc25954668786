import json
from pathlib import Path
from urllib.parse import quote

import pytest

from integrations import Service, services
from integrations.manifest import load_service
from integrations.oauth.model import Account, OAuthClient, Revocation, Tokens
from integrations.oauth.service_oauth import account_of, authorization_server_of, client_auth_of
from integrations.oauth.token_endpoint import authorize_url
from tests.fakes.raw_upstream import Responder, closing_after, responding
from tests.integrations.oauth.token_endpoint import responding_json, token_endpoint
from tests.integrations.sixth_service import SMALL, write_service

SIXTH = f"""{SMALL}
[oauth.account]
id = "who.number"
name = "who.name"
workspace = "place"
url = "link"
"""


def sixth(folder: Path, hooks: str | None = None) -> Service:
    path = write_service(folder, SIXTH)
    if hooks is not None:
        path.with_name("hooks.py").write_text(hooks, encoding="utf-8")
    return load_service(path)


async def account(service: Service, responder: Responder, **told: object) -> Account:
    async with token_endpoint(responder) as here:
        base = here.server.url("").rstrip("/")
        result = await account_of(service, here.http, base, Tokens("the-token", answer=told))
        assert all(visit.headers["authorization"] == "Bearer the-token" for visit in here.server.requests)
    return result


@pytest.mark.parametrize(
    ("name", "auth", "encoding", "separator", "pkce", "revocation"),
    [
        (
            "notion",
            "client_secret_basic",
            "json",
            " ",
            False,
            Revocation("https://api.notion.com/v1/oauth/revoke", {"access": "token"}, "json"),
        ),
        (
            "linear",
            "client_secret_post",
            "form",
            ",",
            True,
            Revocation(
                "https://api.linear.app/oauth/revoke",
                {"refresh": "refresh_token", "access": "access_token"},
                with_client=False,
            ),
        ),
        (
            "hubspot",
            "client_secret_post",
            "form",
            " ",
            False,
            Revocation("https://api.hubapi.com/oauth/2026-09/token/revoke", {"refresh": "token"}),
        ),
        (
            "slack",
            "client_secret_basic",
            "form",
            ",",
            False,
            Revocation("https://slack.com/api/auth.revoke", {"access": "token"}, with_client=False),
        ),
    ],
)
def test_a_service_has_the_endpoints_of_its_manifest(
    name: str, auth: str, encoding: str, separator: str, pkce: bool, revocation: Revocation
) -> None:
    service = services()[name]
    provider = authorization_server_of(service, {})

    assert client_auth_of(service) == auth
    assert (provider.token_encoding, provider.scope_separator, provider.pkce) == (encoding, separator, pkce)
    assert provider.revocation == revocation
    assert list(provider.revocation.tokens) == list(revocation.tokens)
    assert service.oauth
    assert provider.errors == service.oauth.errors
    assert (provider.resource, provider.issuer, provider.promises_issuer) == (None, None, False)


def test_an_operator_can_override_every_endpoint() -> None:
    overrides = {"AUTHORIZE_URL": "http://127.0.0.1/a", "TOKEN_URL": "http://127.0.0.1/t", "REVOKE_URL": "http://r/"}

    provider = authorization_server_of(services()["slack"], overrides)

    assert (provider.authorize_url, provider.token_url) == ("http://127.0.0.1/a", "http://127.0.0.1/t")
    assert provider.revocation
    assert provider.revocation.url == "http://r/"


def test_an_operator_cannot_add_a_revocation_endpoint(tmp_path: Path) -> None:
    assert authorization_server_of(sixth(tmp_path), {"REVOKE_URL": "http://r/"}).revocation is None


def test_a_service_with_api_keys_has_no_authorization_server() -> None:
    with pytest.raises(ValueError, match="posthog has no OAuth"):
        authorization_server_of(services()["posthog"], {})


FROM_US = "response_type=code&client_id=id&redirect_uri=r&state=s"
HUBSPOT_OBJECTS = "+".join(f"crm.objects.{kind}.read" for kind in ("contacts", "companies", "deals", "owners"))
SLACK_SCOPES = "channels:read,channels:history,groups:read,groups:history,chat:write"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("notion", f"https://api.notion.com/v1/oauth/authorize?owner=user&{FROM_US}"),
        ("linear", f"https://linear.app/oauth/authorize?actor=app&{FROM_US}&scope=read"),
        ("slack", f"https://slack.com/oauth/v2/authorize?{FROM_US}&scope={quote(SLACK_SCOPES)}"),
        ("hubspot", f"https://app.hubspot.com/oauth/authorize?{FROM_US}&scope={HUBSPOT_OBJECTS}+oauth"),
    ],
)
def test_the_authorization_url_of_a_service_matches_its_documentation(name: str, expected: str) -> None:
    service = services()[name]
    assert service.oauth
    client, scopes = OAuthClient("id", client_auth_of(service), secret="s"), service.oauth.scopes

    url = authorize_url(
        authorization_server_of(service, {}), client, redirect_uri="r", state="s", scopes=scopes, verifier=None
    )

    assert url == expected


async def test_the_token_response_of_notion_and_slack_names_the_account() -> None:
    owner = {"type": "user", "user": {"name": "Ada"}}
    notion = await account(services()["notion"], responding(), bot_id="b", workspace_name="Acme", owner=owner)
    slack = await account(services()["slack"], responding(), team={"id": "T1", "name": "Acme"})

    assert notion == Account("b", "Ada", "Acme")
    assert slack == Account("T1", workspace="Acme")


async def test_the_account_of_linear_is_requested() -> None:
    expected = {"viewer": {"name": "Our app"}, "organization": {"id": "o", "name": "Acme", "urlKey": "acme"}}

    assert await account(services()["linear"], responding_json({"data": expected})) == Account(
        "o", "Our app", "Acme", "https://linear.app/acme"
    )


async def test_the_account_of_hubspot_is_requested_by_token() -> None:
    expected = {"portalId": 123, "uiDomain": "app-eu1.hubspot.com"}
    there = "https://app-eu1.hubspot.com/contacts/123"

    assert await account(services()["hubspot"], responding_json(expected), hub_id=7) == Account("123", url=there)
    assert await account(services()["hubspot"], responding_json({**expected, "portalName": "Acme"})) == Account(
        "123", workspace="Acme", url=there
    )


@pytest.mark.parametrize("name", ["linear", "hubspot"])
@pytest.mark.parametrize(
    "responder",
    [
        closing_after(),
        responding(b"", "500 Internal Server Error"),
        responding(b"<html>"),
        responding(b"[" * 100_000),
        responding_json(None),
        responding_json([]),
        responding_json({"data": None}),
        responding_json({"data": {"viewer": None, "organization": {}}, "errors": [{"message": "no"}]}),
        responding_json({"portalId": "1", "uiDomain": 2}),
    ],
)
async def test_a_grant_without_account_details_is_valid(name: str, responder: Responder) -> None:
    assert await account(services()[name], responder, hub_id=7) == Account("7" if name == "hubspot" else None)


async def test_a_manifest_alone_can_describe_the_account(tmp_path: Path) -> None:
    fields = {"who": {"number": 7, "name": "Ada"}, "place": "Acme", "link": "https://acme.example/"}

    assert await account(sixth(tmp_path), responding(), **fields) == Account(
        "7", "Ada", "Acme", "https://acme.example/"
    )


@pytest.mark.parametrize("odd", [None, {}, [], True, 1.5, "", " \t", "\u202e\u200b\x00"])
async def test_an_account_name_that_is_no_text_is_not_shown(tmp_path: Path, odd: object) -> None:
    fields = {"who": {"number": odd, "name": odd}, "place": odd, "link": odd}

    assert await account(sixth(tmp_path), responding(), **fields) == Account()
    assert await account(services()["notion"], responding(), owner=odd) == Account()


async def test_an_account_name_is_short_and_clean(tmp_path: Path) -> None:
    fields = {"who": {"name": "\u202eAda\x1b[31m\nof \ud800Acme "}, "place": "x" * 5000, "link": "javascript:alert(1)"}

    result = await account(sixth(tmp_path), responding(), **fields)

    assert result == Account(name="Ada[31m of Acme", workspace="x" * 200)


ASKING = """
import json
from integrations.oauth.model import Account

async def account(http, api_base_url, access_token):
    async with http.request("GET", f"{api_base_url}/me", {"Authorization": f"Bearer {access_token}"}) as reply:
        return Account(name=json.loads(await reply.read())["name"])
"""


async def test_a_hook_beside_a_manifest_can_read_account_details(tmp_path: Path) -> None:
    service = sixth(tmp_path, ASKING)

    assert await account(service, responding_json({"name": "Ada"}), place="Acme") == Account(
        name="Ada", workspace="Acme"
    )
    assert await account(service, responding_json({"name": ["Ada"]}), place="Acme") == Account(workspace="Acme")


@pytest.mark.parametrize(
    "hooks",
    [
        "",
        "import no_such_module",
        "async def account(http, api_base_url, access_token): return {}['a']",
        "async def account(http, api_base_url, access_token): return None.name",
        "async def account(http, api_base_url, access_token): return None",
        "async def account(http, api_base_url, access_token): return 'Acme'",
        "async def account(http): return None",
        ASKING,
    ],
)
async def test_a_failing_hook_loses_only_account_details(tmp_path: Path, hooks: str) -> None:
    assert await account(sixth(tmp_path, hooks), responding_json({}), place="Acme") == Account(workspace="Acme")


def test_no_hook_runs_before_a_grant_exists(tmp_path: Path) -> None:
    service = sixth(tmp_path, f"open({json.dumps(str(tmp_path / 'run'))}, 'w')")

    authorization_server_of(service, {})

    assert not (tmp_path / "run").exists()
