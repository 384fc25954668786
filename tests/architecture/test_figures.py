"""Every figure that a document names is the figure in the code."""

import configparser
import re
from inspect import signature
from math import log2

import pytest
import uvicorn
import yaml

from api.access.api_key import BASE62, KEY_PATTERN, SECRET_LENGTH
from api.access.idempotency.records import KEPT_SECONDS, KEY_FORM
from api.agents.schemas import MAX_SERVERS, MAX_TOOL_NAMES
from api.api_keys.schemas import ApiKeyDraft
from api.audit.call_log import MAX_WAITING
from api.connections.consent.state import LIFE_SECONDS
from api.connections.revocation import queue
from api.connections.tokens.policy import RefreshPolicy
from api.http.middleware import ACCEPTED_ID
from api.http.pagination import DEFAULT_LIMIT, MAX_LIMIT
from api.http.request import BODY_SECONDS, MAX_BODY_BYTES
from api.http.server.protocol import MAX_HEAD_BYTES, LimitedHttpProtocol
from api.http.server.send_watch import LEAST_BYTES
from api.kit.egress.custom_headers import MAX_HEADERS
from api.kit.egress.policy import FIRST_UNPRIVILEGED_PORT, WIDEST_IPV4, WIDEST_IPV6
from api.kit.http_client.response_parser import USUAL_CHUNK
from api.kit.redaction import SHORTEST_SECRET
from api.kit.strict_json import MAX_DEPTH, MAX_VALUES
from api.main.commands import DRAIN_SECONDS
from api.main.settings import MAX_WORKERS, USUAL_CONNECTIONS, USUAL_PORT
from api.servers.schemas import ServerDraft
from api.servers.slugs import MAX_SLUG
from api.toolbox.calling.bulkheads import Bulkheads
from api.toolbox.calling.circuit_breakers import FAILURES_TO_OPEN, FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS
from api.toolbox.json_schema.normalise import MAX_BYTES as MAX_SCHEMA
from api.toolbox.listing.client_formats import OPENAI_DESCRIPTION
from api.toolbox.output.results import MAX_BLOCKS, MAX_MEDIA, MAX_STRUCTURED, MAX_TEXT
from api.toolbox.service import LIST_SECONDS
from api.toolbox.tool_names import NAME_PATTERN
from api.toolbox.toolsets.listed_tool import LONGEST_TOOL
from api.toolbox.toolsets.registry import IDLE_SECONDS
from api.toolbox.toolsets.tool_catalog import FRESH_SECONDS, LONGEST_TEXT, USABLE_SECONDS
from api.upstream_http import LIMITS
from bench import comparisons, plan
from integrations.mcp import header_mirroring
from integrations.mcp.tools import MAX_BYTES, MAX_TOOLS
from tests.documents import PROJECT, README, Document, guide, numbers_in

MB = 2**20
MINUTE, HOUR = 60, 3600
CALLS = [value.default for value in signature(Bulkheads).parameters.values()]
TIMEOUT = ServerDraft.model_fields["timeout_seconds"]
TIMEOUTS = [1, 30, TIMEOUT.default]
MAX_AGENTS = ApiKeyDraft.model_json_schema()["properties"]["agentIds"]["anyOf"][0]["maxItems"]
KEEP_ALIVE = signature(uvicorn.Config).parameters["timeout_keep_alive"].default

README_LIMITS = {
    "One call": TIMEOUTS,
    "Calls in progress": CALLS,
    "Request body, upstream's answer": [MAX_BODY_BYTES / MB, LIMITS.decoded / MB],
    "Servers of one agent": [MAX_SERVERS],
}
README_SPEED = {
    "calls a tool, 32 calls at a time": [comparisons.CALL_ON_SQLITE],
    "calls a tool, one call at a time": [comparisons.CALL_WAITS],
    "lists 400 tools": [comparisons.WARM_LIST],
    "calls a tool, lists tools or reads a server": [comparisons.MORE_STORED],
}
TOOLS_LIMITS = {
    "One call": TIMEOUTS,
    "Calls in progress": CALLS,
    "Failures in a row": [FAILURES_TO_OPEN, 500, FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS / MINUTE],
    "Arguments": [MAX_BODY_BYTES / MB, MAX_DEPTH, MAX_VALUES],
    "An argument that a server takes": [header_mirroring.MAX_VALUE, header_mirroring.MAX_HEADERS],
    "An upstream's answer": [LIMITS.decoded / MB, LIMITS.chunks, USUAL_CHUNK],
    "Text of a result": [MAX_TEXT],
    "`structuredContent`": [MAX_STRUCTURED],
    "Images, sounds and files": [MAX_MEDIA / 10**6, 64],
    "Parts of a result": [MAX_BLOCKS],
    "Tools of a server": [MAX_TOOLS, MAX_BYTES / MB],
    "One tool": [LONGEST_TOOL],
    "A tool's schema": [MAX_SCHEMA / 10**3],
    "A tool's description": [LONGEST_TEXT, OPENAI_DESCRIPTION],
}


@pytest.mark.parametrize(
    ("document", "title", "limits"),
    [
        (README, "Limits", README_LIMITS),
        (README, "Speed", README_SPEED),
        (guide("tools"), "Limits", TOOLS_LIMITS),
    ],
    ids=["README", "README speed", "tools"],
)
def test_documented_limits_are_those_of_the_code(
    document: Document, title: str, limits: dict[str, list[float]]
) -> None:
    rows = document.table(title)

    assert len(rows) == len(limits)
    for (what, *_, figure), (beginning, expected) in zip(rows, limits.items(), strict=True):
        assert what.startswith(beginning)
        assert numbers_in(figure)[: len(expected)] == pytest.approx(expected, abs=0.005), what


def test_documented_measurements_are_within_their_limits() -> None:
    for what, *_, figure in README.table("Speed"):
        if "measured" in figure:
            limit, measured = numbers_in(figure)
            assert measured <= limit, what


def test_documented_numbers_of_servers_are_those_of_the_bench() -> None:
    *_, (what, _, than, _) = README.table("Speed")

    assert numbers_in(what) + numbers_in(than) == [plan.FULL.stored, plan.FEW]


def test_the_documented_time_of_a_call_is_that_of_the_contract() -> None:
    schema = ServerDraft.model_json_schema(by_alias=True)["properties"]["timeoutSeconds"]

    assert [schema["minimum"], schema["maximum"], schema["default"]] == TIMEOUTS


def seconds(number: float) -> str:
    return f"{number:g} seconds"


def repetitions(pattern: str) -> list[str]:
    """The two numbers of `{8,64}` in a pattern."""
    return re.findall(r"\d+", re.findall(r"\{(\d+,\d+)\}", pattern)[0])


# Small numbers that are written as words.
WORDS = {1: "one", 5: "five", 6: "six", 10: "ten"}
WEEKS = {7 * 24 * 60 * MINUTE: "a week"}


# What each document says in a sentence, with the figure from the code.
SENTENCES = {
    "api": [
        f"`{KEY_PATTERN.pattern}`",
        f"limited to at most {MAX_AGENTS} agents",
        f"within {KEPT_SECONDS // 3600} hours",
        f"`limit` is 1 to {MAX_LIMIT} ({DEFAULT_LIMIT} if not given)",
        "{} to {} letters, digits".format(*repetitions(ACCEPTED_ID.pattern.decode())),
        f"at most {MAX_BODY_BYTES // MB} MB",
        "{} to {} visible ASCII characters".format(*repetitions(KEY_FORM.pattern)),
    ],
    "servers": [
        f"1 to {MAX_SLUG} of `a-z`",
        f"up to {MAX_HEADERS} further headers",
        f"from {FIRST_UNPRIVILEGED_PORT} up",
        f"A credential of {WORDS[SHORTEST_SECRET]} or more characters",
    ],
    "connect": [f"works once, for {WORDS[LIFE_SECONDS // MINUTE]} minutes", f"tries for {WEEKS[queue.KEPT_SECONDS]}"],
    "tools": [
        f"`{NAME_PATTERN}`",
        f"answers within {seconds(LIST_SECONDS)}",
        f"has at most {MAX_SERVERS} servers, and an entry at most {MAX_TOOL_NAMES} names",
        f"and {WORDS[FRESH_SECONDS // MINUTE]} minutes if the server does not say",
        f"For {WORDS[USABLE_SECONDS // HOUR]} more hour",
    ],
    "errors": [f"within {seconds(BODY_SECONDS)}", f"more than {MAX_HEAD_BYTES // 1024} KB"],
    "configuration": [
        f"1 to {MAX_WORKERS}",
        f"`/{WIDEST_IPV4}` for IPv4 and `/{WIDEST_IPV6}` for IPv6",
        f"from {FIRST_UNPRIVILEGED_PORT} up",
    ],
    "operating": [
        f"idle connection after {seconds(KEEP_ALIVE)}",
        f"a call within {seconds(TIMEOUTS[1])}",
        f"bodies up to {MAX_BODY_BYTES // MB} MB",
        f"heads up to {MAX_HEAD_BYTES // 1024} KB, within {seconds(LimitedHttpProtocol.head_seconds)}",
        f"a body within {seconds(BODY_SECONDS)}",
        f"reads less than {LEAST_BYTES // 1024} KB in {seconds(LimitedHttpProtocol.send_seconds)}",
        f"accepts {USUAL_CONNECTIONS:,} connections",
        f"for up to {seconds(DRAIN_SECONDS)}",
        f"at most {MAX_WAITING:,} of them",
        f"for about {WORDS[IDLE_SECONDS // MINUTE]} minutes after",
    ],
    "security": [f"{int(SECRET_LENGTH * log2(len(BASE62)))} random bits"],
}


@pytest.mark.parametrize("name", SENTENCES)
def test_figures_in_sentences_are_those_of_the_code(name: str) -> None:
    text = " ".join(guide(name).text.split())

    assert [sentence for sentence in SENTENCES[name] if sentence not in text] == []


def proxy(language: str, directive: str) -> str:
    """What the example sets the directive to."""
    (value,) = re.findall(
        rf"^\s*{directive} (.+?);?$", guide("operating").block(language, "plugboard.example.com"), re.MULTILINE
    )
    return str(value)


@pytest.mark.parametrize(
    ("language", "idle", "wait"),
    [
        ("nginx", "keepalive_timeout", "proxy_read_timeout"),
        ("caddyfile", "keepalive", "response_header_timeout"),
    ],
)
def test_the_proxy_examples_match_plugboards_limits(language: str, idle: str, wait: str) -> None:
    assert numbers_in(proxy(language, idle))[0] < KEEP_ALIVE
    assert numbers_in(proxy(language, wait))[0] > TIMEOUTS[1]
    assert f"127.0.0.1:{USUAL_PORT}" in guide("operating").block(language, "plugboard.example.com")


def test_nginx_admits_larger_bodies_than_plugboard() -> None:
    """Caddy has no limit: it answers 502 where a body is over its limit."""
    size = re.fullmatch(r"(\d+)m", proxy("nginx", "client_max_body_size"))

    assert size
    assert int(size[1]) * MB > MAX_BODY_BYTES


def test_the_systemd_unit_waits_long_enough() -> None:
    unit = configparser.ConfigParser()
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(guide("operating").block("ini", "[Service]"))
    service = unit["Service"]

    assert int(service["TimeoutStopSec"]) >= DRAIN_SECONDS + RefreshPolicy().give_up_seconds
    assert service["Environment"] == f"PLUGBOARD_DATA_DIR=/var/lib/{service['StateDirectory']}"
    assert service["ExecStart"].removeprefix(service["WorkingDirectory"]) == "/.venv/bin/plugboard serve"


def test_the_container_waits_long_enough() -> None:
    service = yaml.safe_load((PROJECT / "infra/compose.yaml").read_text(encoding="utf-8"))["services"]["plugboard"]

    assert numbers_in(service["stop_grace_period"])[0] >= DRAIN_SECONDS + RefreshPolicy().give_up_seconds


def test_the_documented_metrics_port_is_the_one_that_is_scraped() -> None:
    operating = guide("operating")
    scraping = yaml.safe_load(operating.block("yaml", "scrape_configs"))
    (job,) = scraping["scrape_configs"]
    ports = set(re.findall(r"PLUGBOARD_METRICS_PORT=(\d+)", operating.section("Metrics")))

    assert job["static_configs"][0]["targets"] == [f"127.0.0.1:{port}" for port in ports]
    (rules,) = scraping["rule_files"]
    assert (PROJECT / rules.removeprefix("/opt/plugboard/")).is_file()
