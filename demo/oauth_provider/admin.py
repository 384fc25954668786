"""The HTTP endpoints that control a fake authorization server from another process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

from demo.oauth_provider.faults import Fault
from demo.oauth_provider.http import Answer, Json, Request, said
from demo.oauth_provider.model import Behaviour
from demo.oauth_provider.tenant import Seen, Tenant

NOT_THERE = said({"error": "there is nothing here"}, 404)


class Admin:
    def __init__(self, tenant: Callable[[str], Tenant], seen: list[Seen], forget: Callable[[], None]) -> None:
        self._tenant, self._seen, self._forget = tenant, seen, forget

    def answer(self, request: Request) -> Answer:
        """Paths begin with `/admin/`."""
        match request.method, request.path.split("/")[2:]:
            case "GET", ["seen"]:
                return said([asdict(each) for each in self._seen if _is_asked(each, request)])
            case "DELETE", ["seen"]:
                self._forget()
                return Answer(204)
            case "GET", ["tenants", name]:
                return said(self._tenant(name).told())
            case "PATCH", ["tenants", name]:
                return _behaved(self._tenant(name), request.fields)
            case "POST", ["tenants", name, action]:
                return _done(self._tenant(name), action, request.fields)
            case _:
                return NOT_THERE


def _is_asked(seen: Seen, request: Request) -> bool:
    wanted = request.query
    return seen.tenant == wanted.get("tenant", seen.tenant) and seen.endpoint == wanted.get("endpoint", seen.endpoint)


def _behaved(tenant: Tenant, changes: Json) -> Answer:
    unknown = changes.keys() - {each.name for each in fields(Behaviour)}
    if unknown:
        return said({"error": f"no such behaviour: {', '.join(sorted(unknown))}"}, 422)
    tenant.behave(**changes)
    return said(tenant.told())


def _done(tenant: Tenant, action: str, given: Json) -> Answer:
    try:
        return _action(tenant, action, dict(given))
    except (TypeError, KeyError) as problem:
        return said({"error": str(problem)}, 422)


def _action(tenant: Tenant, action: str, given: dict[str, Any]) -> Answer:
    match action:
        case "faults":
            endpoint, times = given.pop("endpoint"), given.pop("times", 1)
            tenant.fault(endpoint, Fault(**given), times)
        case "clients":
            tenant.add_client(given.pop("id"), **given)
        case "expire":
            tenant.expire(refresh=bool(given.get("refresh")))
        case "forget":
            tenant.forget_grants()
        case "heal":
            tenant.heal()
        case "release":
            tenant.release()
        case _:
            return NOT_THERE
    return Answer(204)
