import pytest

from integrations.mcp.authorization import Challenge, NotAuthorizable, discover
from tests.integrations.mcp.authorization.scripted_internet import ISSUER, MCP, PROTECTED, protected, resource_metadata

OFFLINE = {"scopes_supported": ["files:read", "offline_access"]}


@pytest.mark.parametrize(
    ("challenged", "supported", "requested"),
    [
        (("files:write",), ["files:read"], ("files:write",)),
        (None, ["files:read", "files:write", "files:read"], ("files:read", "files:write")),
        ((), ["files:read"], ("files:read",)),
        (None, None, ()),
        (None, [], ()),
        (None, "files:read", ()),
        (None, ["files:read", 7, "", "a b", 'a"b', "é", "x" * 201], ("files:read",)),
    ],
)
async def test_scopes_are_those_of_the_challenge_or_else_of_the_resource(
    challenged: tuple[str, ...] | None, supported: object, requested: tuple[str, ...]
) -> None:
    internet = protected({f"{PROTECTED}/team/mcp": resource_metadata(scopes_supported=supported)})

    assert (await discover(internet, MCP, challenge=Challenge(scopes=challenged))).scopes == requested


@pytest.mark.parametrize(
    ("supported", "server", "requested"),
    [
        (["files:read"], OFFLINE, ("files:read", "offline_access")),
        (["files:read", "offline_access"], OFFLINE, ("files:read", "offline_access")),
        (["files:read"], {"scopes_supported": ["files:read"]}, ("files:read",)),
        (["files:read"], {}, ("files:read",)),
        (None, OFFLINE, ()),
        (["files:read"], OFFLINE | {"grant_types_supported": ["authorization_code"]}, ("files:read",)),
        ([str(number) for number in range(200)], OFFLINE, (*map(str, range(99)), "offline_access")),
    ],
)
async def test_offline_access_is_requested_if_supported(
    supported: object, server: dict[str, object], requested: tuple[str, ...]
) -> None:
    internet = protected({f"{PROTECTED}/team/mcp": resource_metadata(scopes_supported=supported)}, **server)

    assert (await discover(internet, MCP)).scopes == requested


async def test_client_credentials_need_neither_pkce_nor_an_authorization_endpoint() -> None:
    machines = protected(
        {f"{PROTECTED}/team/mcp": resource_metadata(scopes_supported=["files:read"])},
        authorization_endpoint=None,
        code_challenge_methods_supported=None,
        grant_types_supported=["client_credentials"],
        token_endpoint_auth_methods_supported=["private_key_jwt", "client_secret_basic"],
        **OFFLINE,
    )

    authorization = await discover(machines, MCP, grant="client_credentials")

    assert (authorization.provider.authorize_url, authorization.provider.token_url) == ("", f"{ISSUER}/token")
    assert authorization.scopes == ("files:read",)
    assert authorization.auth_methods == ("client_secret_basic", "private_key_jwt")
    with pytest.raises(NotAuthorizable):
        await discover(machines, MCP)
