"""What `docs/services.md` says of the services' tools."""

import msgspec

from api.toolbox.listing.client_formats import as_anthropic
from api.toolbox.toolsets.service_tools import service_tools
from integrations import load_toolkit, services
from tests.documents import code_in, guide, numbers_in

SERVICES = guide("services")


def test_the_table_lists_every_service_with_its_requirements() -> None:
    rows = {code_in(row[1])[0]: row for row in SERVICES.table("")}

    assert rows.keys() == services().keys()
    for name, service in services().items():
        title, _, auth_type, needed, tools, _ = rows[name]
        variables = [service.client_id_variable, service.client_secret_variable] if service.oauth else []
        assert title == f"[{service.title}](../integrations/{name}/README.md)"
        assert code_in(auth_type) == list(service.auth_types)
        assert code_in(needed) == variables
        assert int(tools) == len(service.tools)


def test_the_number_and_size_of_all_tools_match_the_guide() -> None:
    toolkits = [load_toolkit(service) for service in services().values()]
    tools = [tool for toolkit in toolkits if toolkit for tool in service_tools(toolkit).tools]
    listed = [as_anthropic(tool.present(f"{tool.name}_acme", "server_1", "acme")) for tool in tools]
    (sentence,) = [line for line in SERVICES.text.splitlines() if line.startswith("All ")]
    number, kilobytes = numbers_in(sentence)

    assert number == len(tools)
    assert abs(kilobytes - len(msgspec.json.encode(listed)) / 1000) < 5
