import asyncio
import datetime as dt
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from api.kit.egress.policy import EgressPolicy, check_url
from api.kit.egress.resolver import Resolver
from api.kit.http_client.client import HttpClient, public_trust
from api.kit.transport_errors import ConnectionFailed, TransportTimeout
from tests.fakes.raw_upstream import RawUpstream, echoing, upstream

NAME = "api.example.com"
HERE = EgressPolicy.parse("127.0.0.0/8")
OPEN = EgressPolicy.parse(NAME)


@pytest.fixture(params=[pytest.param("asyncio", marks=pytest.mark.slow), "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    created = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
        .not_valid_after(dt.datetime(2120, 1, 1, tzinfo=dt.UTC))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(created.public_bytes(serialization.Encoding.PEM) + private)
    return file


def served_with(certificate: Path, names: list[str | None]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.sni_callback = lambda _, name, __: names.append(name)
    return context


def trusting(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(certificate)
    return context


async def get(there: RawUpstream, name: str, trust: ssl.SSLContext) -> str:
    out = HttpClient(HERE, names=Resolver(lambda _: ["127.0.0.1"]), trust=trust)
    target = check_url(there.url(host=name, scheme="https"), OPEN)
    try:
        async with out.request("GET", target, {}, pool="a", seconds=5) as reply:
            return (await reply.read()).decode()
    finally:
        await out.close()


@pytest.mark.requirement("EGR-06")
async def test_the_certificate_must_match_the_name_and_not_the_address(certificate: Path) -> None:
    names: list[str | None] = []
    async with upstream(echoing(), tls=served_with(certificate, names)) as there:
        text = await get(there, NAME, trusting(certificate))

    assert f"host: {NAME}:{there.port}" in text
    assert names == [NAME]


@pytest.mark.requirement("EGR-06")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
async def test_a_certificate_for_another_name_is_refused(certificate: Path) -> None:
    async with upstream(echoing(), tls=served_with(certificate, [])) as there:
        with pytest.raises(ConnectionFailed) as caught:
            await get(there, "other.example.com", trusting(certificate))

    assert (caught.value.sent, there.requests) == (False, [])
    assert "Certificate" in caught.value.cause


@pytest.mark.requirement("EGR-09")
async def test_environment_variables_add_no_trusted_certificate(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged = certificate.parent / "keys.log"
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("SSL_CERT_DIR", str(certificate.parent))
    monkeypatch.setenv("SSLKEYLOGFILE", str(logged))
    async with upstream(echoing(), tls=served_with(certificate, [])) as there:
        with pytest.raises(ConnectionFailed):
            await get(there, NAME, public_trust())

    assert there.requests == []
    assert not logged.exists()


def test_public_certificates_are_verified_by_name() -> None:
    trust = public_trust()

    assert (trust.verify_mode, trust.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert trust.minimum_version >= ssl.TLSVersion.TLSv1_2


@pytest.mark.requirement("REL-12")
async def test_a_handshake_that_stalls_ends_with_the_deadline(certificate: Path) -> None:
    async with upstream(echoing()) as there:  # waits for a head that never ends, where a handshake is due
        out = HttpClient(HERE, names=Resolver(lambda _: ["127.0.0.1"]), trust=trusting(certificate))
        target = check_url(there.url(host=NAME, scheme="https"), OPEN)
        with pytest.raises(TransportTimeout) as caught:
            async with out.request("GET", target, {}, pool="a", seconds=0.3):
                pass
        await out.close()

    assert not caught.value.sent


async def test_a_server_that_closes_during_the_handshake_is_unreachable(certificate: Path) -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    with pytest.raises(ConnectionFailed) as caught:
        await get(RawUpstream(server.sockets[0].getsockname()[1]), NAME, trusting(certificate))
    server.close()

    assert not caught.value.sent
