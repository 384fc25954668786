import json

import pytest

from integrations.errors import StatusRefused, Unreachable, UpstreamTimeout
from integrations.mcp.authorization import Challenge, NotAuthorizable, discover
from integrations.oauth.model import AuthorizationServer, Revocation
from tests.integrations.mcp.authorization.scripted_internet import (
    ISSUER,
    MCP,
    METADATA,
    NOT_FOUND,
    PROTECTED,
    Internet,
    ScriptedPage,
    protected,
    resource_metadata,
    server_metadata,
    unauthorized,
    without,
)

SITE = "https://mcp.example.com"
OWN_METADATA = f"{SITE}/.well-known/oauth-authorization-server"


async def refusal_reason(internet: Internet, url: str = MCP, challenge: Challenge | None = None) -> str:
    with pytest.raises(NotAuthorizable) as caught:
        await discover(internet, url, challenge=challenge)
    assert caught.value.text.endswith(".")
    return caught.value.reason


async def test_a_challenge_leads_to_the_authorization_server() -> None:
    internet = protected(
        {f"{PROTECTED}/team/mcp": resource_metadata(scopes_supported=["files:read"])},
        revocation_endpoint=f"{ISSUER}/revoke",
        authorization_response_iss_parameter_supported=True,
        client_id_metadata_document_supported=True,
        grant_types_supported=["authorization_code", "refresh_token"],
        token_endpoint_auth_methods_supported=["none", "tls_client_auth", "client_secret_post"],
    )

    authorization = await discover(internet, MCP)

    assert authorization.provider == AuthorizationServer(
        authorize_url=f"{ISSUER}/authorize",
        token_url=f"{ISSUER}/token",
        issuer=ISSUER,
        promises_issuer=True,
        resource=MCP,
        revocation=Revocation(f"{ISSUER}/revoke", {"refresh": "token", "access": "token"}),
    )
    assert (authorization.scopes, authorization.resource, authorization.registration_url) == (
        ("files:read",),
        MCP,
        f"{ISSUER}/register",
    )
    assert authorization.takes_metadata_document
    assert authorization.auth_methods == ("client_secret_post", "none")
    assert authorization.grant_types == ("authorization_code", "refresh_token")
    assert authorization.source == "prm"
    assert internet.requested_urls == [f"{PROTECTED}/team/mcp", METADATA]


async def test_absent_metadata_is_not_assumed() -> None:
    authorization = await discover(protected(registration_endpoint=None), MCP)

    assert (authorization.scopes, authorization.registration_url, authorization.takes_metadata_document) == (
        (),
        None,
        False,
    )
    assert (authorization.provider.promises_issuer, authorization.provider.revocation, authorization.grant_types) == (
        False,
        None,
        (),
    )
    assert authorization.auth_methods == ("client_secret_basic",)


async def test_the_metadata_url_of_a_challenge_takes_precedence() -> None:
    place = "https://meta.example.com/custom.json"
    internet = protected({MCP: unauthorized(f'Bearer resource_metadata="{place}"'), place: resource_metadata()})

    await discover(internet, MCP)

    assert internet.requested_urls == [place, METADATA]


async def test_a_known_challenge_needs_no_probe() -> None:
    internet = protected()

    authorization = await discover(internet, MCP, challenge=Challenge(scopes=("files:write",)))

    assert authorization.scopes == ("files:write",)
    assert {method for method, *_ in internet.requests} == {"GET"}


@pytest.mark.parametrize("place", ["http://mcp.example.com/meta", "file:///meta", f"{SITE}/gone", "not a url"])
async def test_without_a_usable_metadata_url_the_well_known_urls_are_tried(place: str) -> None:
    internet = protected()

    authorization = await discover(internet, MCP, challenge=Challenge(place))

    assert authorization.provider.issuer == ISSUER


@pytest.mark.parametrize(
    "gone",
    [
        NOT_FOUND,
        ScriptedPage(body=b"<html>"),
        ScriptedPage(403),
        ScriptedPage(302, headers={"location": MCP}),
        [],
        {},
        {"a": 1},
        ScriptedPage(),
    ],
)
async def test_metadata_is_requested_at_the_path_and_then_at_the_root(gone: ScriptedPage) -> None:
    internet = protected({f"{PROTECTED}/team/mcp": gone, PROTECTED: resource_metadata(SITE)})

    authorization = await discover(internet, MCP)

    assert internet.requested_urls == [f"{PROTECTED}/team/mcp", PROTECTED, METADATA]
    assert authorization.resource == authorization.provider.resource == SITE


@pytest.mark.requirement("OAU-10")
@pytest.mark.parametrize("resource", [SITE, f"{SITE}/", f"{SITE}/team/", "HTTPS://mcp.example.com/team/mcp"])
async def test_the_published_resource_identifier_is_requested(resource: str) -> None:
    authorization = await discover(protected({f"{PROTECTED}/team/mcp": resource_metadata(resource)}), MCP)

    assert authorization.resource == authorization.provider.resource == resource


@pytest.mark.requirement("OAU-10")
@pytest.mark.parametrize("resource", ["https://evil.example.com/mcp", f"{SITE}/other", "http://mcp.example.com/", "x"])
async def test_metadata_of_another_resource_ends_the_discovery(resource: str) -> None:
    internet = protected({f"{PROTECTED}/team/mcp": resource_metadata(resource), PROTECTED: resource_metadata(SITE)})

    assert await refusal_reason(internet) == "foreign_resource"
    assert internet.requested_urls == [f"{PROTECTED}/team/mcp"]


@pytest.mark.parametrize(
    ("issuer", "places"),
    [
        (ISSUER, ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]),
        (
            f"{ISSUER}/tenant/1",
            [
                "/.well-known/oauth-authorization-server/tenant/1",
                "/.well-known/openid-configuration/tenant/1",
                "/tenant/1/.well-known/openid-configuration",
            ],
        ),
    ],
)
async def test_metadata_of_an_authorization_server_is_requested_in_the_specified_order(
    issuer: str, places: list[str]
) -> None:
    urls = [f"{ISSUER}{place}" for place in places]
    resource = {f"{PROTECTED}/team/mcp": resource_metadata(MCP, issuer)}

    for number, url in enumerate(urls, 1):
        internet = without(protected(resource | {url: server_metadata(issuer)}), METADATA if url != METADATA else "")
        assert (await discover(internet, MCP)).provider.issuer == issuer
        assert internet.requested_urls[1:] == urls[:number]
    internet = without(protected(resource), METADATA)
    assert await refusal_reason(internet) == "unreadable"
    assert internet.requested_urls[1:] == urls


@pytest.mark.requirement("OAU-04")
@pytest.mark.parametrize("claimed", ["https://honest.example.com", f"{ISSUER}//", f"{ISSUER}/x", ISSUER.upper()])
async def test_an_issuer_must_match_its_metadata_to_the_byte(claimed: str) -> None:
    internet = protected(issuer=claimed)

    assert await refusal_reason(internet) == "other_issuer"


async def test_a_trailing_slash_of_an_issuer_is_tolerated_and_its_metadata_spelling_is_kept() -> None:
    authorization = await discover(protected(issuer=f"{ISSUER}/"), MCP)

    assert authorization.provider.issuer == f"{ISSUER}/"


async def test_metadata_of_another_issuer_does_not_hide_the_right_one() -> None:
    tenant = f"{ISSUER}/tenant"
    answers_everything = {f"{METADATA}/tenant": server_metadata(ISSUER)}
    right = {f"{tenant}/.well-known/openid-configuration": server_metadata(tenant)}
    resource = {f"{PROTECTED}/team/mcp": resource_metadata(MCP, tenant)}

    authorization = await discover(protected(answers_everything | right | resource), MCP)

    assert authorization.provider.token_url == f"{tenant}/token"


@pytest.mark.requirement("OAU-03")
@pytest.mark.parametrize("methods", [None, [], ["plain"], "S256", [["S256"]], ["s256"]])
async def test_an_authorization_server_without_pkce_is_refused(methods: object) -> None:
    assert await refusal_reason(protected(code_challenge_methods_supported=methods)) == "no_pkce"


@pytest.mark.requirement("OAU-08")
@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint"])
@pytest.mark.parametrize(
    "url", [None, "", 7, "javascript:alert(1)", "file:///bin/sh", "http://as.example.com/x", "https://u:p@h/", "//as"]
)
async def test_an_endpoint_that_is_no_https_url_is_refused(name: str, url: object) -> None:
    assert await refusal_reason(protected({METADATA: server_metadata() | {name: url}})) == "bad_endpoint"


@pytest.mark.requirement("OAU-08")
@pytest.mark.parametrize(
    "query",
    [
        "client_id=theirs",
        "tenant=a&state=",
        "redirect_uri=https://evil.example.com",
        "a=b;scope=all",
        "%63lient_id=theirs",
        "code_challenge_method=plain",
        "resource=https://other.example.com",
        "Response_Type=token",
        "request_uri=https://evil.example.com/request",
        "response_mode=fragment",
        "code_challenge",
    ],
)
async def test_an_authorization_endpoint_with_parameters_of_a_request_is_refused(query: str) -> None:
    """None may be included more than once (RFC 6749 section 3.1)."""
    metadata = server_metadata() | {"authorization_endpoint": f"https://as.example.com/authorize?{query}"}

    assert await refusal_reason(protected({METADATA: metadata})) == "bad_query"


@pytest.mark.requirement("OAU-08")
async def test_an_authorization_endpoint_may_have_parameters_of_its_own() -> None:
    url = "https://as.example.com/authorize?tenant=acme&client=x&state_code=1"

    authorization = await discover(protected({METADATA: server_metadata() | {"authorization_endpoint": url}}), MCP)

    assert authorization.provider.authorize_url == url


@pytest.mark.requirement("OAU-08")
async def test_an_optional_endpoint_with_an_invalid_url_is_left_out() -> None:
    authorization = await discover(
        protected(registration_endpoint="http://as.example.com/r", revocation_endpoint="x"), MCP
    )

    assert (authorization.registration_url, authorization.provider.revocation) == (None, None)


@pytest.mark.requirement("OAU-09")
async def test_a_discovered_server_keeps_all_its_endpoints() -> None:
    before = await discover(protected(revocation_endpoint=f"{ISSUER}/revoke"), MCP)
    after = await discover(protected(token_endpoint="https://evil.example.com/token"), MCP)

    assert before.provider.token_url == f"{ISSUER}/token"
    assert after.provider != before.provider


async def test_the_first_usable_authorization_server_is_chosen() -> None:
    second = "https://second.example.com"
    several = resource_metadata(MCP, "http://plain.example.com", f"{ISSUER}?tenant=1", ISSUER, second)
    more = {
        f"{PROTECTED}/team/mcp": several,
        f"{second}/.well-known/oauth-authorization-server": server_metadata(second),
    }

    assert (await discover(protected(more), MCP)).provider.issuer == ISSUER
    assert (await discover(protected(more, code_challenge_methods_supported=None), MCP)).provider.issuer == second


@pytest.mark.parametrize("servers", [[], ["http://as.example.com"], "https://as.example.com", [7], None])
async def test_metadata_without_a_usable_authorization_server_is_refused(servers: object) -> None:
    internet = protected({f"{PROTECTED}/team/mcp": {"resource": MCP, "authorization_servers": servers}})

    assert await refusal_reason(internet) == "no_server"


async def test_a_server_with_many_authorization_servers_and_no_metadata_costs_ten_requests() -> None:
    names = [f"https://as{number}.example.com/tenant" for number in range(50)]
    place = f"{SITE}/meta"
    more = {MCP: unauthorized(f'Bearer resource_metadata="{place}"'), PROTECTED: resource_metadata(SITE, *names)}
    internet = without(protected(more), f"{PROTECTED}/team/mcp")

    assert await refusal_reason(internet) == "unreadable"
    assert len(internet.requests) == 10


@pytest.mark.parametrize(
    "trouble", [ScriptedPage(503), ScriptedPage(500), ScriptedPage(429), UpstreamTimeout("."), Unreachable(".")]
)
async def test_a_failure_of_a_named_location_is_an_error(
    trouble: ScriptedPage | UpstreamTimeout | Unreachable,
) -> None:
    place, second = f"{SITE}/meta", "https://second.example.com"
    elsewhere = {f"{second}/.well-known/oauth-authorization-server": server_metadata(second)}
    both = {f"{PROTECTED}/team/mcp": resource_metadata(MCP, ISSUER, second)}

    for internet in (
        protected({place: trouble, MCP: unauthorized(f'Bearer resource_metadata="{place}"')}),
        protected({METADATA: trouble} | elsewhere | both),
        protected({MCP: trouble}),
    ):
        with pytest.raises((StatusRefused, UpstreamTimeout, Unreachable)):
            await discover(internet, MCP)


async def test_a_failure_of_one_location_matters_only_if_all_lack_the_document() -> None:
    down = {f"{PROTECTED}/team/mcp": ScriptedPage(500)}

    assert (await discover(protected(down | {PROTECTED: resource_metadata(SITE)}), MCP)).resource == SITE
    with pytest.raises(StatusRefused) as caught:
        await discover(protected(down), MCP)
    assert caught.value.status == 500


async def test_missing_metadata_named_by_a_challenge_is_an_error() -> None:
    internet = Internet(
        {MCP: unauthorized(f'Bearer resource_metadata="{SITE}/meta"'), OWN_METADATA: server_metadata(SITE)}
    )

    assert await refusal_reason(internet) == "unreadable"
    assert OWN_METADATA not in internet.requested_urls


@pytest.mark.parametrize("size", [262_144, 262_145])
async def test_metadata_is_limited_to_256_kib(size: int) -> None:
    text = json.dumps(server_metadata()).encode()
    internet = protected({METADATA: ScriptedPage(body=text.ljust(size))})

    if size > 262_144:
        assert await refusal_reason(internet) == "unreadable"
    else:
        assert (await discover(internet, MCP)).provider.issuer == ISSUER


@pytest.mark.parametrize("name", ["https://mcp.example.com", "https://mcp.example.com/"])
async def test_a_server_without_metadata_of_its_own_is_its_own_authorization_server(name: str) -> None:
    internet = Internet({MCP: unauthorized(), OWN_METADATA: server_metadata(SITE) | {"issuer": name}})

    authorization = await discover(internet, MCP, challenge=None)

    assert (authorization.source, authorization.resource, authorization.provider.issuer) == ("2025-03-26", MCP, name)
    assert authorization.provider.token_url == f"{SITE}/token"


@pytest.mark.requirement("OAU-04")
async def test_a_server_as_its_own_issuer_cannot_name_another() -> None:
    internet = Internet({MCP: unauthorized(), OWN_METADATA: server_metadata("https://honest.example.com")})

    assert await refusal_reason(internet) == "other_issuer"


async def test_without_metadata_the_default_endpoints_of_2025_03_26_are_used() -> None:
    authorization = await discover(Internet({f"{MCP}?key=k": unauthorized()}), f"{MCP}?key=k")

    assert authorization.provider == AuthorizationServer(
        f"{SITE}/authorize", f"{SITE}/token", issuer=SITE, resource=MCP
    )
    assert (authorization.registration_url, authorization.auth_methods) == (
        f"{SITE}/register",
        ("client_secret_basic",),
    )
    assert authorization.provider.pkce


async def test_an_ambiguous_url_gets_no_request() -> None:
    internet = Internet({})

    assert await refusal_reason(internet, "https://user@mcp.example.com/") == "unreadable"
    assert internet.requests == []
