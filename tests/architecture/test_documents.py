"""The documents are complete, lead nowhere wrong, and every block of them that can be run is run by a test."""

import ast
import json
import re
from collections.abc import Mapping

import pytest
import yaml

from tests.documents import INDEX, PROJECT, README, Document, code_in, decisions, documents, guide, guides

E2E = "tests/e2e/test_first_start.py"
# Of each document that has blocks to run: what only one of them holds, and the test that runs that block.
RUN_BY: Mapping[str, Mapping[str, str]] = {
    "README.md": {
        "make run": E2E,
        "make demo": E2E,
        "mcp_weather_get_weather": "tests/docs/test_quick_start.py",
        "/oauth/authorize": "tests/docs/test_quick_start.py",
    },
    "docs/api.md": {
        "api() {": "tests/docs/test_api_guide.py",
        '"scope": "invoke"': "tests/docs/test_api_guide.py",
        "OPERATOR=": "tests/docs/test_api_guide.py",
        "headers.txt": "tests/docs/test_api_guide.py",
        "If-Match": "tests/docs/test_api_guide.py",
        "Idempotency-Key": "tests/docs/test_api_guide.py",
        "kind=config": "tests/docs/test_api_guide.py",
    },
    "docs/servers.md": {
        "api() {": "tests/docs/test_servers_guide.py",
        "billing.example.com": "tests/docs/test_servers_guide.py",
    },
    "docs/connect.md": {
        "api() {": "tests/docs/test_connect_guide.py",
        "oauth/authorize": "tests/docs/test_connect_guide.py",
        "oauth/status": "tests/docs/test_connect_guide.py",
        "client_credentials": "tests/docs/test_connect_guide.py",
        "oauth/connect": "tests/docs/test_connect_guide.py",
    },
    "docs/services.md": {
        "api() {": "tests/docs/test_connect_guide.py",
        "oauth/authorize": "tests/docs/test_connect_guide.py",
        "phx_demo": "tests/docs/test_connect_guide.py",
    },
    "docs/tools.md": {"api() {": "tests/docs/test_tools_guide.py"},
    "docs/keys-and-backups.md": {
        "plugboard backup backup": "tests/docs/test_keys_guide.py",
        "plugboard serve": "tests/docs/test_keys_guide.py",
        "plugboard store copy": "tests/docs/test_keys_guide.py",
        "plugboard keys rotate": "tests/docs/test_keys_guide.py",
        "openssl rand": "tests/docs/test_keys_guide.py",
    },
    "docs/operating.md": {
        "first admin key": "tests/docs/test_operating_guide.py",
        "PLUGBOARD_STORE=postgres": E2E,
        "PLUGBOARD_STORE=dynamodb": E2E,
        "/readyz": "tests/docs/test_operating_guide.py",
        "/metrics": "tests/docs/test_operating_guide.py",
    },
}
# Blocks of these are compared with the code in test_figures.py; a picture or what cannot be run here is `text`.
COMPARED = {"nginx", "caddyfile", "ini", "yaml"}
LANGUAGES = {"sh", "python", "json", "text", *COMPARED}
ANYWHERE = re.compile(r"https?://|mailto:")
USED_IN = {"README.md": "tests/docs/test_quick_start.py", "docs/tools.md": "tests/docs/test_tools_guide.py"}


def source(path: str) -> str:
    return (PROJECT / path).read_text(encoding="utf-8")


def runnable() -> list[Document]:
    return [README, *guides()]


@pytest.mark.parametrize("document", runnable(), ids=lambda document: document.path)
def test_every_shell_block_is_run_by_a_test(document: Document) -> None:
    run = RUN_BY.get(document.path, {})
    unused = [f"{sign!r} in {test}" for sign, test in run.items() if sign not in source(test)]

    assert sorted(document.block("sh", sign) for sign in run) == sorted(document.blocks_in("sh"))
    assert unused == []


@pytest.mark.parametrize("document", runnable(), ids=lambda document: document.path)
def test_every_python_block_is_run_by_a_test(document: Document) -> None:
    for block in document.blocks_in("python"):
        ast.parse(block)
        assert 'blocks_in("python")' in source(USED_IN[document.path])


@pytest.mark.parametrize("document", runnable(), ids=lambda document: document.path)
def test_every_block_has_a_tested_language(document: Document) -> None:
    assert {language for language, _ in document.blocks} <= LANGUAGES
    for block in document.blocks_in("json"):
        json.loads(block)
    for block in document.blocks_in("yaml"):
        yaml.safe_load(block)


def test_the_functions_of_the_shell_are_the_same_everywhere() -> None:
    written = {
        line
        for document in runnable()
        for block in document.blocks_in("sh")
        for line in block.splitlines()
        if re.match(r"\w+\(\) ", line)
    }

    assert len(written) == len({line.partition("(")[0] for line in written}) == 2


@pytest.mark.parametrize("document", [*documents(), *decisions()], ids=lambda document: document.path)
def test_every_link_resolves(document: Document) -> None:
    assert [link for link in document.links if not ANYWHERE.match(link) and not resolves(document, link)] == []


@pytest.mark.parametrize("document", [*documents(), *decisions()], ids=lambda document: document.path)
def test_every_path_that_a_document_names_exists(document: Document) -> None:
    named = re.findall(r"`((?:api|integrations|infra|tests|docs|bench|\.ci)/[\w./-]+)`", document.text)

    assert [path for path in named if not (PROJECT / path).exists()] == []


def resolves(document: Document, link: str) -> bool:
    path, _, anchor = link.partition("#")
    file = (document.folder / path).resolve() if path else PROJECT / document.path
    if not anchor:
        return file.exists()
    return anchor in Document(str(file.relative_to(PROJECT))).anchors


@pytest.mark.parametrize("link", ["missing.md", "tools.md#missing", "#missing", "../docs/missing/"])
def test_a_broken_link_is_detected(link: str) -> None:
    assert not resolves(guide("connect"), link)
    assert resolves(guide("connect"), "tools.md#limits")


@pytest.mark.parametrize("index", [README, INDEX], ids=lambda document: document.path)
def test_both_indexes_list_every_guide(index: Document) -> None:
    linked = {(index.folder / link.partition("#")[0]).resolve() for link in index.links if not ANYWHERE.match(link)}
    missing = [guide.path for guide in guides() if guide != INDEX and (PROJECT / guide.path).resolve() not in linked]

    assert missing == []


def test_no_two_headings_of_a_document_are_the_same() -> None:
    doubled = [
        document.path for document in documents() if document.path != "CHANGELOG.md" and duplicates(document.headings)
    ]

    assert doubled == []


def duplicates(texts: list[str]) -> bool:
    return len(set(texts)) < len(texts)


def test_every_target_of_make_that_a_document_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", source("Makefile"), re.MULTILINE))
    named = {
        (document.path, target)
        for document in documents()
        for code in [*code_in(document.text), *(block for _, block in document.blocks)]
        for target in re.findall(r"^(?:[A-Z_]+=\S+ )*make ([a-z-]+)", code, re.MULTILINE)
    }

    assert ("README.md", "run") in named
    assert {item for item in named if item[1] not in targets} == set()


def test_every_row_of_a_table_has_the_same_width() -> None:
    crooked = [
        f"{document.path}: {line[:60]}"
        for document in documents()
        for table in re.findall(r"(?:^\|.*\|$\n?)+", document.prose, re.MULTILINE)
        for line in table.splitlines()
        if line.count("|") - line.count("\\|") != table.partition("\n")[0].count("|")
    ]

    assert crooked == []
