import traceback
from collections.abc import Mapping
from pathlib import Path

import pytest

from api.main.settings import InvalidSetting, Settings

SECRET = "canary-of-a-root-key"


def settings(**environment: str) -> Settings:
    return Settings.from_environment(environment)


def test_every_setting_has_a_default() -> None:
    assert settings() == Settings(
        host="127.0.0.1",
        port=8400,
        data_dir=Path("var"),
        store="sqlite",
        table="plugboard",
        public_url="http://127.0.0.1:8400",
        workers=1,
    )


def test_every_variable_is_read() -> None:
    parsed = settings(
        PLUGBOARD_HOST="::1",
        PLUGBOARD_PORT="80",
        PLUGBOARD_DATA_DIR="/data",
        PLUGBOARD_STORE="dynamodb",
        PLUGBOARD_TABLE="my-table.1",
        PLUGBOARD_DYNAMODB_ENDPOINT="http://127.0.0.1:8000/",
        PLUGBOARD_ROOT_KEY=SECRET,
        PLUGBOARD_KMS_KEY_ID="alias/plugboard",
        OAUTH_REDIRECT_BASE_URL="https://plugboard.example.com/base/",
        PLUGBOARD_EGRESS_ALLOW="internal.example.com, 10.1.0.0/16",
        PLUGBOARD_WORKERS="4",
        PLUGBOARD_MAX_CONNECTIONS="500",
        PLUGBOARD_METRICS_PORT="9400",
        PLUGBOARD_METRICS_HOST="10.0.0.2",
        PLUGBOARD_TRUSTED_PROXIES="10.0.0.1",
        PLUGBOARD_CACHE_MB="512",
        PLUGBOARD_WORKSPACE_CACHE_MB="32",
        NOTION_OAUTH_CLIENT_ID="id",
        NOTION_OAUTH_CLIENT_SECRET="secret",
        SLACK_OAUTH_CLIENT_ID="id without a secret",
    )

    assert (parsed.host, parsed.port, parsed.data_dir, parsed.store) == ("::1", 80, Path("/data"), "dynamodb")
    assert (parsed.table, parsed.dynamodb_endpoint) == ("my-table.1", "http://127.0.0.1:8000")
    assert parsed.root_key is not None
    assert parsed.root_key.reveal_text() == SECRET
    assert (parsed.kms_key_id, parsed.public_url) == ("alias/plugboard", "https://plugboard.example.com/base")
    assert str(parsed.egress) == "internal.example.com, 10.1.0.0/16"
    assert (parsed.workers, parsed.trusted_proxies, parsed.oauth_apps.keys()) == (4, "10.0.0.1", {"NOTION"})
    assert (parsed.metrics_host, parsed.metrics_port, parsed.max_connections) == ("10.0.0.2", 9400, 500)
    assert parsed.cache_limits == (512_000_000, 32_000_000)


def test_an_empty_variable_counts_as_unset() -> None:
    names = (
        "HOST",
        "PORT",
        "DATA_DIR",
        "STORE",
        "TABLE",
        "ROOT_KEY",
        "KMS_KEY_ID",
        "EGRESS_ALLOW",
        "WORKERS",
        "MAX_CONNECTIONS",
        "METRICS_PORT",
        "METRICS_HOST",
        "CACHE_MB",
        "WORKSPACE_CACHE_MB",
    )

    assert settings(**{f"PLUGBOARD_{name}": " " for name in names}) == settings()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("PLUGBOARD_PORT", text) for text in ("x", "-1", "65536", "80.0", "٨٠", "0x50", "8400 8401")),
        *(("PLUGBOARD_MAX_CONNECTIONS", text) for text in ("0", "1000001", "many")),
        *(("PLUGBOARD_WORKERS", text) for text in ("0", "65", "two")),
        *(("PLUGBOARD_METRICS_PORT", text) for text in ("on", "-1", "65536", "127.0.0.1:9400")),
        *(("PLUGBOARD_CACHE_MB", text) for text in ("0", "64MB", "1000001")),
        ("PLUGBOARD_WORKSPACE_CACHE_MB", "-1"),
        *(("PLUGBOARD_STORE", text) for text in ("foo", "SQLite", "postgresql")),
        *(("PLUGBOARD_TABLE", text) for text in ("a", "two words", "x" * 256)),
        *(("PLUGBOARD_DYNAMODB_ENDPOINT", text) for text in ("localhost:8000", "ftp://x", "http://")),
        *(("OAUTH_REDIRECT_BASE_URL", text) for text in ("plugboard.example.com", "https://x/?a=b", "https://x/#f")),
        *(("OAUTH_REDIRECT_BASE_URL", text) for text in ("http://[::1", "https://x:99999", "https://x:port")),
        *(
            ("PLUGBOARD_TRUSTED_PROXIES", text)
            for text in ("*", "proxy.example.com", "10.0.0.1/8", "10.0.0.1 10.0.0.2")
        ),
        *(("PLUGBOARD_EGRESS_ALLOW", text) for text in ("10.0.0.0/33", "0.0.0.0/0", "a b", "https://x")),
    ],
)
def test_an_invalid_variable_is_refused_by_name(name: str, text: str) -> None:
    with pytest.raises(InvalidSetting) as raised:
        settings(**{name: text})

    assert str(raised.value).startswith(f"{name}: ")
    assert str(raised.value).count(name) == 1


def test_no_setting_shows_a_secret() -> None:
    parsed = settings(PLUGBOARD_ROOT_KEY=SECRET)

    assert SECRET not in f"{parsed!r} {parsed}"


def test_an_error_shows_no_other_secret() -> None:
    environment: Mapping[str, str] = {"PLUGBOARD_ROOT_KEY": SECRET, "PLUGBOARD_PORT": "x"}
    with pytest.raises(InvalidSetting) as raised:
        Settings.from_environment(environment)

    assert SECRET not in "".join(traceback.format_exception(raised.value))


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        settings().port = 1  # type: ignore[misc]
