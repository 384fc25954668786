"""The HTTP endpoints that control a fake authorization server from another process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

from demo.oauth_provider.faults import Fault
from demo.oauth_provider.http import Json, Request, Response, json_response
from demo.oauth_provider.model import Behaviour
from demo.oauth_provider.tenant import RecordedRequest, Tenant

NOT_FOUND = json_response({"error": "there is nothing here"}, 404)


class Admin:
    def __init__(
        self, tenant: Callable[[str], Tenant], seen: list[RecordedRequest], forget: Callable[[], None]
    ) -> None:
        self._tenant, self._seen, self._forget = tenant, seen, forget

    def respond(self, request: Request) -> Response:
        """Paths begin with `/admin/`."""
        match request.method, request.path.split("/")[2:]:
            case "GET", ["seen"]:
                return json_response([asdict(item) for item in self._seen if _matches(item, request)])
            case "DELETE", ["seen"]:
                self._forget()
                return Response(204)
            case "GET", ["tenants", name]:
                return json_response(self._tenant(name).state())
            case "PATCH", ["tenants", name]:
                return _configure(self._tenant(name), request.fields)
            case "POST", ["tenants", name, action]:
                return _run_action(self._tenant(name), action, request.fields)
            case _:
                return NOT_FOUND


def _matches(seen: RecordedRequest, request: Request) -> bool:
    wanted = request.query
    return seen.tenant == wanted.get("tenant", seen.tenant) and seen.endpoint == wanted.get("endpoint", seen.endpoint)


def _configure(tenant: Tenant, changes: Json) -> Response:
    unknown = changes.keys() - {field.name for field in fields(Behaviour)}
    if unknown:
        return json_response({"error": f"no such behaviour: {', '.join(sorted(unknown))}"}, 422)
    tenant.configure(**changes)
    return json_response(tenant.state())


def _run_action(tenant: Tenant, action: str, arguments: Json) -> Response:
    try:
        return _action(tenant, action, dict(arguments))
    except (TypeError, KeyError) as problem:
        return json_response({"error": str(problem)}, 422)


def _action(tenant: Tenant, action: str, arguments: dict[str, Any]) -> Response:
    match action:
        case "faults":
            endpoint, times = arguments.pop("endpoint"), arguments.pop("times", 1)
            tenant.inject_fault(endpoint, Fault(**arguments), times)
        case "clients":
            tenant.add_client(arguments.pop("id"), **arguments)
        case "expire":
            tenant.expire_tokens(refresh=bool(arguments.get("refresh")))
        case "forget":
            tenant.revoke_grants()
        case "heal":
            tenant.clear_faults()
        case "release":
            tenant.release_held()
        case _:
            return NOT_FOUND
    return Response(204)
