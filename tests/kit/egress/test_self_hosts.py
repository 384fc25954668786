from dataclasses import replace

import pytest

from api.kit.egress.policy import EgressPolicy, UrlRefused, check_url
from api.kit.egress.resolver import Resolver
from api.kit.http_client.client import HttpClient
from api.kit.transport_errors import AddressBlocked
from api.main.postgres_url import parse_postgres_url
from api.main.settings import Settings

pytestmark = pytest.mark.requirement("EGR-15")

SERVED = Settings(
    port=8400,
    public_url="https://plugboard.example.com",
    dynamodb_endpoint="http://10.0.0.7:8000",
    postgres=parse_postgres_url("postgresql://plugboard:canary@10.0.0.9,db.example.com:6432/plugboard"),
    egress=EgressPolicy.parse("127.0.0.0/8, ::1, localhost, 10.0.0.0/8"),
)


@pytest.mark.parametrize(
    "url",
    [
        "https://plugboard.example.com/mcp",
        "https://PLUGBOARD.example.com.:8443/mcp",
        "http://127.0.0.1:8400/api/workspaces",
        "http://localhost:8400/",
        "http://[::1]:8400/",
        "http://10.0.0.7:8000/",
        "http://10.0.0.9:5432/",
        "https://db.example.com:6432/",
        "https://dynamodb.eu-west-1.amazonaws.com/",
        "https://streams.dynamodb.eu-west-1.amazonaws.com/",
        "https://123456789012.ddb.dynamodb.eu-west-1.amazonaws.com/",
        "https://kms.us-east-1.amazonaws.com/",
        "https://kms-fips.us-gov-west-1.amazonaws.com/",
        "https://sts.amazonaws.com/",
        "https://kms.cn-north-1.amazonaws.com.cn/",
        "https://dynamodb.eu-west-1.api.aws/",
    ],
)
def test_the_service_itself_cannot_be_an_upstream(url: str) -> None:
    with pytest.raises(UrlRefused, match="Plugboard itself"):
        check_url(url, SERVED.reachable)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:3001/mcp",
        "http://10.0.0.8:8400/mcp",
        "https://www.example.com/mcp",
        "https://abc123.execute-api.eu-west-1.amazonaws.com/mcp",
        "https://kms.example.com/mcp",
        "https://mykms.lambda-url.eu-west-1.on.aws/",
    ],
)
def test_other_hosts_beside_the_service_can_be_upstreams(url: str) -> None:
    assert check_url(url, SERVED.reachable).url == url


async def test_a_name_that_resolves_to_the_service_itself_is_not_dialled() -> None:
    names = Resolver(lambda _: ["127.0.0.1"])
    egress = replace(SERVED, egress=EgressPolicy.parse("127.0.0.0/8, mcp.example.com")).reachable
    outbound = HttpClient(egress, names=names)
    target = check_url("http://mcp.example.com:8400/", egress)

    try:
        with pytest.raises(AddressBlocked):
            async with outbound.request("GET", target, {}, pool="p", seconds=5):
                pass
    finally:
        await outbound.close()
