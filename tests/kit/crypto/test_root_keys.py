import base64
import os
import re
import secrets
import stat
import traceback
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.root_keys import CombinedRootKeys, InvalidRootKeys, LocalRootKeys, UnknownRootKey, create_key_file
from api.kit.crypto.secret import Secret

PROJECT = Path(__file__).parents[3]
CONTEXT = {"app": "plugboard", "owner": "WS#w", "purpose": "data-key", "version": "1"}


def random_key() -> str:
    return base64.b64encode(secrets.token_bytes(32)).decode()


def entry(key: bytes, root_id: str = "k1") -> Secret:
    return Secret(f"{root_id}:{base64.b64encode(key).decode()}")


async def test_a_data_key_opens_with_the_root_key_that_wrapped_it() -> None:
    roots = LocalRootKeys.parse(Secret(f"k1:{random_key()}"))

    data_key, wrapped = await roots.new_data_key(CONTEXT)

    assert len(data_key) == 32
    assert wrapped.root_id == "k1"
    assert data_key.reveal() not in wrapped.blob
    assert await roots.unwrap(wrapped, CONTEXT) == data_key


async def test_two_data_keys_are_never_the_same() -> None:
    roots = LocalRootKeys.parse(Secret(f"k1:{random_key()}"))

    created = [(await roots.new_data_key(CONTEXT))[0].reveal() for _ in range(100)]

    assert len({*created}) == 100


@pytest.mark.parametrize("changed", [{"owner": "WS#other"}, {"version": "2"}, {"purpose": "x"}, {"more": "x"}])
@pytest.mark.requirement("ENC-01")
async def test_a_data_key_does_not_open_for_another_owner_or_version(changed: dict[str, str]) -> None:
    roots = LocalRootKeys.parse(Secret(f"k1:{random_key()}"))
    _, wrapped = await roots.new_data_key(CONTEXT)

    with pytest.raises(CannotOpen):
        await roots.unwrap(wrapped, CONTEXT | changed)


async def test_the_first_key_seals_and_every_key_reads() -> None:
    old, new = random_key(), random_key()
    before = LocalRootKeys.parse(Secret(f"old:{old}"))
    after = LocalRootKeys.parse(Secret(f"new:{new},old:{old}"))
    data_key, wrapped = await before.new_data_key(CONTEXT)

    assert await after.unwrap(wrapped, CONTEXT) == data_key
    assert (await after.wrap(data_key, CONTEXT)).root_id == after.id == "new"
    assert after.ids == {"new", "old"}


async def test_the_error_names_the_missing_root_key() -> None:
    _, wrapped = await LocalRootKeys.parse(Secret(f"gone:{random_key()}")).new_data_key(CONTEXT)

    with pytest.raises(UnknownRootKey, match="'gone'"):
        await LocalRootKeys.parse(Secret(f"k1:{random_key()}")).unwrap(wrapped, CONTEXT)


async def test_a_root_key_under_another_ones_id_does_not_open() -> None:
    key = random_key()
    _, wrapped = await LocalRootKeys.parse(Secret(f"a:{random_key()}")).new_data_key(CONTEXT)

    with pytest.raises(CannotOpen):
        await LocalRootKeys.parse(Secret(f"a:{key}")).unwrap(wrapped, CONTEXT)


def test_both_alphabets_of_base64_and_space_around_are_read() -> None:
    key = b"\xfb\xef\xff" + secrets.token_bytes(29)
    standard, urlsafe = base64.b64encode(key).decode(), base64.urlsafe_b64encode(key).decode()

    assert standard != urlsafe
    assert LocalRootKeys.parse(Secret(f"a:{standard}, b:{urlsafe}\n")).ids == {"a", "b"}


REFUSED = {
    "nothing": (Secret(""), "id:key"),
    "no id": (Secret(random_key()), "id:key"),
    "no key": (Secret("k1:"), "id:key"),
    "a strange id": (entry(secrets.token_bytes(32), "k 1"), "A-Z a-z 0-9 _ -"),
    "an id beyond ASCII": (entry(secrets.token_bytes(32), "clé"), "A-Z a-z 0-9 _ -"),
    "a long id": (entry(secrets.token_bytes(32), "k" * 33), "1 to 32"),
    "a comma at the end": (Secret(f"k1:{random_key()},"), "root key 2"),
    "not base64": (Secret("k1:" + "!" * 44), "openssl rand -base64 32"),
    "no padding": (Secret("k1:" + random_key().rstrip("=")), "openssl rand -base64 32"),
    "bytes that are no text": (Secret(b"k1:\xff\xfe"), "openssl rand -base64 32"),
    "31 bytes": (entry(secrets.token_bytes(31)), "31 bytes where 32"),
    "33 bytes": (entry(secrets.token_bytes(33)), "33 bytes where 32"),
    "hexadecimal": (Secret("k1:" + secrets.token_hex(32)), "48 bytes where 32"),
    "zeros": (entry(bytes(32)), "openssl rand -base64 32"),
    "ones": (entry(b"\xff" * 32), "pattern"),
    "0 to 31": (entry(bytes(range(32))), "openssl rand -base64 32"),
    "255 to 224": (entry(bytes(range(255, 223, -1))), "pattern"),
    "every seventh": (entry(bytes(number * 7 % 256 for number in range(32))), "pattern"),
    "sixteen bytes twice": (entry(secrets.token_bytes(16) * 2), "pattern"),
    "few distinct bytes": (entry(bytes([1, 250, 9, 177] * 8)), "pattern"),
    "sixteen bytes in no order": (
        entry(bytes.fromhex("d5d4ceccd0ced4cccfd1d6d0ccd4d1ccd6d7d4d6ccd3d6d2cfc9ced1d6d7cfd5")),
        "pattern",
    ),
    "text": (entry(b"correct horse battery staple, ok"), "text"),
    "hexadecimal text": (entry(secrets.token_hex(16).encode()), "text"),
    "changeme in base64": (Secret("k1:" + "changeme" * 5 + "chaA"[:3] + "="), "pattern"),
    "the key of NIST's examples": (
        entry(bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")),
        "published sample",
    ),
    "the key of Fernet's documentation": (
        Secret("k1:cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4="),
        "published sample",
    ),
    "the same id twice": (Secret(f"a:{random_key()},a:{random_key()}"), "its own id"),
}


@pytest.mark.requirement("ENC-06")
@pytest.mark.parametrize("what", REFUSED)
def test_a_root_key_that_is_not_random_is_refused_and_never_shown(what: str) -> None:
    value, advice = REFUSED[what]

    with pytest.raises(InvalidRootKeys, match=re.escape(advice)) as raised:
        LocalRootKeys.parse(value)

    shown = "".join(traceback.TracebackException.from_exception(raised.value, capture_locals=True).format())
    for part in value.reveal().decode(errors="replace").split(","):
        key = part.partition(":")[2] or part
        assert not key or key not in shown


@pytest.mark.requirement("ENC-06")
def test_random_keys_are_not_taken_for_weak_ones() -> None:
    text = ",".join(f"k{number}:{random_key()}" for number in range(20_000))

    assert len(LocalRootKeys.parse(Secret(text)).ids) == 20_000


@pytest.mark.requirement("ENC-06")
def test_every_example_root_key_of_the_project_is_refused() -> None:
    shown = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{1,32}:[A-Za-z0-9+/_-]{43}=")
    pages = [
        page
        for pattern in ("*.md", "docs/**/*.md", "infra/**/*", ".env*", "Makefile", "web/**/*", "bench/**/*")
        for page in PROJECT.glob(pattern)
        if page.is_file()
    ]
    samples = {sample for page in pages for sample in shown.findall(page.read_text(errors="replace"))}
    samples.add("sample:" + base64.b64encode(bytes(range(32))).decode())

    for sample in samples:
        with pytest.raises(InvalidRootKeys):
            LocalRootKeys.parse(Secret(sample))


def test_a_key_ring_shows_ids_only() -> None:
    key = random_key()

    assert repr(LocalRootKeys.parse(Secret(f"k1:{key},k2:{random_key()}"))) == "LocalRootKeys(k1, k2)"


async def test_a_wrapped_key_is_not_shown() -> None:
    _, wrapped = await LocalRootKeys.parse(Secret(f"k1:{random_key()}")).new_data_key(CONTEXT)

    assert repr(wrapped) == "WrappedKey(root_id='k1')"


async def test_a_key_file_is_created_once_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "root.key"

    assert create_key_file(path) is True
    data_key, wrapped = await LocalRootKeys.from_file(path).new_data_key(CONTEXT)
    assert create_key_file(path) is False

    assert await LocalRootKeys.from_file(path).unwrap(wrapped, CONTEXT) == data_key


def test_a_key_file_is_for_its_owner_alone_and_no_draft_is_left(tmp_path: Path) -> None:
    create_key_file(tmp_path / "root.key")
    create_key_file(tmp_path / "root.key")

    assert [(item.name, stat.S_IMODE(item.stat().st_mode)) for item in tmp_path.iterdir()] == [("root.key", 0o600)]


def make_and_read(path: Path) -> tuple[bool, str]:
    return create_key_file(path), LocalRootKeys.from_file(path).id


def test_processes_that_race_for_the_key_file_get_the_same_key(tmp_path: Path) -> None:
    with ProcessPoolExecutor(4, mp_context=get_context("forkserver")) as processes:
        result = list(processes.map(make_and_read, [tmp_path / "root.key"] * 40))

    assert [created for created, _ in result].count(True) == 1
    assert len({root_id for _, root_id in result}) == 1


def test_two_key_files_never_have_the_same_id(tmp_path: Path) -> None:
    ids = [make_and_read(tmp_path / str(number))[1] for number in range(20)]

    assert len({*ids}) == 20


async def test_a_key_file_holds_one_entry_a_line_and_the_first_seals(tmp_path: Path) -> None:
    path = tmp_path / "root.key"
    path.touch(0o600)
    path.write_text(f"new:{random_key()}\n\nold:{random_key()}\n")

    roots = LocalRootKeys.from_file(path)

    assert (roots.id, roots.ids) == ("new", {"new", "old"})


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o622, 0o644])
def test_a_key_file_that_others_can_reach_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "root.key"
    create_key_file(path)
    path.chmod(mode)

    with pytest.raises(InvalidRootKeys, match=f"chmod 600 {path}"):
        LocalRootKeys.from_file(path)


def test_a_key_file_that_is_missing_empty_or_no_file_is_refused_by_name(tmp_path: Path) -> None:
    empty, directory, pipe = tmp_path / "empty", tmp_path / "directory", tmp_path / "pipe"
    empty.touch(0o600)
    directory.mkdir(0o700)
    (tmp_path / "bad").touch(0o600)
    (tmp_path / "bad").write_text("k1:short\n")
    os.mkfifo(pipe, 0o600)

    for name, reason in {
        "missing": "No such file",
        "empty": "no root key",
        "directory": "not a file",
        "pipe": "not a file",
        "bad": "not base64",
    }.items():
        with pytest.raises(InvalidRootKeys, match=f"{name}: .*{reason}"):
            LocalRootKeys.from_file(tmp_path / name)


def test_a_key_file_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidRootKeys, match="cannot be created"):
        create_key_file(tmp_path / "missing" / "root.key")


async def test_data_keys_can_move_from_one_kind_of_root_to_another() -> None:
    file, other = (LocalRootKeys.parse(Secret(f"{name}:{random_key()}")) for name in ("file", "other"))
    data_key, wrapped = await file.new_data_key(CONTEXT)
    both = CombinedRootKeys(other, file)

    assert await both.unwrap(wrapped, CONTEXT) == data_key
    assert (await both.wrap(data_key, CONTEXT)).root_id == both.id == "other"
    assert (await both.new_data_key(CONTEXT))[1].root_id == "other"
    assert both.ids == {"other", "file"}


async def test_combined_root_keys_refuse_duplicate_and_unknown_ids() -> None:
    one, same, third = (LocalRootKeys.parse(Secret(f"{name}:{random_key()}")) for name in ("a", "a", "c"))
    _, wrapped = await third.new_data_key(CONTEXT)

    with pytest.raises(InvalidRootKeys, match="its own id"):
        CombinedRootKeys(one, same)
    with pytest.raises(UnknownRootKey):
        await CombinedRootKeys(one).unwrap(wrapped, CONTEXT)
