import copy
import io
import json
import logging
import pickle
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass

import msgspec
import pydantic
import pytest

from api.kit.crypto.secret import HIDDEN, Secret

CANARY = "canary-7f3a9c-do-not-show"

pytestmark = pytest.mark.requirement("ENC-13")


@dataclass(frozen=True)
class Login:
    name: str
    password: Secret


class LoginModel(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    password: Secret


def test_only_reveal_gives_out_the_value() -> None:
    secret = Secret(CANARY)

    assert secret.reveal() == CANARY.encode()
    assert secret.reveal_text() == CANARY
    assert len(secret) == len(CANARY)


@pytest.mark.parametrize(
    "show",
    [
        str,
        repr,
        ascii,
        format,
        "{}".format,
        "{!r:>40}".format,
        lambda secret: f"{secret} {secret!r} {secret:>10}",
        lambda secret: "%s %r" % (secret, secret),  # noqa: UP031  # logging formats this way
        lambda secret: str([secret, {"a": secret}, (secret,)]),
        lambda secret: repr(Login("ada", secret)),
        lambda secret: repr(asdict(Login("ada", secret))),
        lambda secret: repr(LoginModel(password=secret)),
        lambda secret: repr(LoginModel(password=secret).model_dump()),
        lambda secret: json.dumps({"a": secret}, default=str),
        lambda secret: msgspec.json.encode({"a": secret}, enc_hook=str).decode(),
        lambda secret: repr(dir(secret)),
    ],
)
def test_whatever_shows_a_secret_shows_stars(show: Callable[[Secret], str]) -> None:
    shown = show(Secret(CANARY))

    assert CANARY not in shown
    assert HIDDEN in shown or "reveal" in shown


@pytest.mark.parametrize(
    "carry",
    [
        *(lambda secret, protocol=protocol: pickle.dumps(secret, protocol) for protocol in range(6)),
        lambda secret: pickle.dumps(Login("ada", secret)),
        lambda secret: secret.__getstate__(),
        json.dumps,
        msgspec.json.encode,
        msgspec.msgpack.encode,
        msgspec.to_builtins,
        bytes,
        list,
        vars,
        "".join,
        lambda secret: LoginModel(password=secret).model_dump_json(),
        pydantic.TypeAdapter(object).dump_json,
    ],
)
def test_a_secret_does_not_leave_the_process(carry: Callable[[Secret], object]) -> None:
    with pytest.raises((TypeError, pydantic.errors.PydanticUserError, ValueError)) as raised:
        carry(Secret(CANARY))

    assert CANARY not in str(raised.value)


def test_a_log_line_shows_stars() -> None:
    lines = io.StringIO()
    logger = logging.Logger("a logger of this test alone")  # noqa: LOG001
    logger.addHandler(logging.StreamHandler(lines))

    logger.warning("%s %r", Secret(CANARY), [Secret(CANARY)], exc_info=ValueError(Secret(CANARY)))

    assert HIDDEN in lines.getvalue()
    assert CANARY not in lines.getvalue()


def test_a_traceback_with_local_variables_shows_stars() -> None:
    def fail(password: Secret) -> None:
        login = Login("ada", password)
        raise ValueError(login.name)

    with pytest.raises(ValueError, match="ada") as failed:
        fail(Secret(CANARY))

    shown = "".join(traceback.TracebackException.from_exception(failed.value, capture_locals=True).format())
    assert "password = ***" in shown
    assert CANARY not in shown


def test_a_copy_is_the_same_secret() -> None:
    login = Login("ada", Secret(CANARY))

    assert copy.copy(login.password) is login.password
    assert copy.deepcopy(login).password is login.password


def test_secrets_are_compared_by_value_and_never_hashed() -> None:
    assert Secret("a") == Secret(b"a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    with pytest.raises(TypeError):
        hash(Secret("a"))
