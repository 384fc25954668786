"""The URL of a PostgreSQL database as an operator writes it."""

import ssl
from pathlib import Path

import pytest

from api.kit.crypto.secret import Secret
from api.kit.storage.postgres.address import PostgresHost, TlsMode
from api.main.postgres_url import InvalidPostgresUrl, parse_postgres_url
from api.main.settings import InvalidSetting, Settings

CANARY = "canary-password"
URL = f"postgresql://plugboard:{CANARY}@db.example.com/plugboard"


def test_a_url_names_user_password_hosts_and_database() -> None:
    address = parse_postgres_url("postgres://plug%40board:p%2Fw@a.example.com:6432,[2001:db8::1],b/my%20data")

    assert address.hosts == (
        PostgresHost("a.example.com", 6432),
        PostgresHost("2001:db8::1", 5432),
        PostgresHost("b", 5432),
    )
    assert (address.user, address.database) == ("plug@board", "my data")
    assert address.password == Secret("p/w")


def test_a_url_may_name_a_unix_socket() -> None:
    address = parse_postgres_url("postgresql://plugboard@/plugboard?host=/run/postgresql")

    assert address.hosts == (PostgresHost("/run/postgresql", 5432),)
    assert address.ssl_context(address.hosts[0]) is None


@pytest.mark.parametrize(
    ("place", "query", "expected"),
    [
        ("db.example.com", "", TlsMode.VERIFY_FULL),
        ("10.0.0.1", "", TlsMode.VERIFY_FULL),
        ("localhost", "", TlsMode.DISABLE),
        ("127.0.0.1:6432", "", TlsMode.DISABLE),
        ("[::1]", "", TlsMode.DISABLE),
        ("localhost,db.example.com", "", TlsMode.VERIFY_FULL),
        ("db.example.com", "?sslmode=require", TlsMode.REQUIRE),
        ("db.example.com", "?sslmode=disable", TlsMode.DISABLE),
        ("localhost", "?sslmode=verify-ca", TlsMode.VERIFY_CA),
    ],
)
def test_a_connection_to_another_machine_is_verified_unless_the_url_says_otherwise(
    place: str, query: str, expected: TlsMode
) -> None:
    assert parse_postgres_url(f"postgresql://u:p@{place}/d{query}").tls is expected


@pytest.mark.parametrize(
    ("mode", "verifies", "checks_name"),
    [("require", ssl.CERT_NONE, False), ("verify-ca", ssl.CERT_REQUIRED, False), ("", ssl.CERT_REQUIRED, True)],
)
def test_the_tls_mode_decides_what_is_verified(mode: str, verifies: ssl.VerifyMode, *, checks_name: bool) -> None:
    address = parse_postgres_url(f"{URL}?sslmode={mode}" if mode else URL)
    context = address.ssl_context(address.hosts[0])

    assert context is not None
    assert (context.verify_mode, context.check_hostname) == (verifies, checks_name)
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert address.ssl_context(address.hosts[0]) is context


@pytest.mark.parametrize(
    "url",
    [
        "",
        CANARY,
        f"mysql://u:{CANARY}@h/d",
        f"postgresql://u:{CANARY}@h",
        f"postgresql://u:{CANARY}@/d",
        f"postgresql://:{CANARY}@h/d",
        f"postgresql://u:{CANARY}@h:0/d",
        f"postgresql://u:{CANARY}@h:99999/d",
        f"postgresql://u:{CANARY}@h,/d",
        f"postgresql://u:{CANARY}@[h/d",
        f"postgresql://u:{CANARY}@h/d#x",
        f"postgresql://u:{CANARY}@h/d/e",
        f"postgresql://u:{CANARY}@h/d?sslmode=prefer",
        f"postgresql://u:{CANARY}@h/d?sslmode=",
        f"postgresql://u:p@h/d?options={CANARY}",
        f"postgresql://u:{CANARY}@h/d?host=/run",
        f"postgresql://u:{CANARY}@/d?host=other",
    ],
)
def test_an_invalid_url_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(InvalidPostgresUrl) as refused:
        parse_postgres_url(url)
    with pytest.raises(InvalidSetting) as invalid:
        Settings.from_environment({"PLUGBOARD_STORE": "postgres", "PLUGBOARD_POSTGRES_URL": url})

    assert CANARY not in f"{refused.value!r} {invalid.value!r} {invalid.value.__cause__!r}"
    assert str(invalid.value).startswith("PLUGBOARD_POSTGRES_URL: ")


def test_the_password_is_never_shown(tmp_path: Path) -> None:
    authorities = tmp_path / "ca.pem"
    authorities.write_text("")
    settings = Settings.from_environment(
        {
            "PLUGBOARD_STORE": "postgres",
            "PLUGBOARD_POSTGRES_URL": URL,
            "PLUGBOARD_POSTGRES_CA": str(authorities),
            "PLUGBOARD_POSTGRES_CONNECTIONS": "25",
        }
    )

    assert settings.postgres is not None
    assert settings.postgres.authorities == authorities
    assert settings.postgres_connections == 25
    assert CANARY not in f"{settings!r} {settings} {settings.postgres!r}"


@pytest.mark.parametrize(
    "variables",
    [
        {"PLUGBOARD_POSTGRES_CA": "/nonexistent/ca.pem"},
        {"PLUGBOARD_POSTGRES_CONNECTIONS": "0"},
        {"PLUGBOARD_POSTGRES_CONNECTIONS": "101"},
        {"PLUGBOARD_STORE": "postgres"},
    ],
)
def test_an_invalid_setting_of_postgresql_is_refused(variables: dict[str, str]) -> None:
    with pytest.raises(InvalidSetting):
        Settings.from_environment(variables)


def test_a_password_that_is_not_encoded_gets_the_remedy() -> None:
    with pytest.raises(InvalidPostgresUrl, match="Percent-encode `@`, `/` and `:` in the password"):
        parse_postgres_url("postgresql://u:pass/word@db.example.com/plugboard")
