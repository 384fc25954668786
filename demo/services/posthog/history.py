"""The activity and status of a flag, and the members of the organization."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from demo.oauth_provider.http import Request
from demo.services.posthog.data import KATHERINE

Json = dict[str, Any]

ADMIN = 8
IN_USE = "Flag is not fully rolled out and may still be active"
UNUSED = "Flag has not been evaluated recently"


def activity(request: Request, flag: Json) -> Json:
    """The activity, paged by number; an offset is ignored."""
    page, limit = int(request.query.get("page", 1)), int(request.query.get("limit", 10))
    history = [_change(flag, version) for version in range(flag["version"], 0, -1)]
    url = f"https://elsewhere.posthog.example{request.path}?page={page + 1}&limit={limit}"
    shown = history[(page - 1) * limit : page * limit]
    following = url if page * limit < len(history) else None
    return {"results": shown, "next": following, "previous": None, "total_count": len(history)}


def _change(flag: Json, version: int) -> Json:
    """A change; the newest is at the last change of the flag, each earlier one a day before."""
    at = datetime.fromisoformat(flag["updated_at"]) - timedelta(days=flag["version"] - version)
    changed = {"type": "FeatureFlag", "action": "changed", "field": "version", "before": version - 1, "after": version}
    return {
        "id": f"019a0000-0000-7000-9000-{version:012d}",
        "activity": "updated" if version > 1 else "created",
        "scope": "FeatureFlag",
        "item_id": str(flag["id"]),
        "user": {name: KATHERINE[name] for name in ("first_name", "email")},
        "detail": {"name": flag["key"], "version": version, "changes": [changed] if version > 1 else []},
        "created_at": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def status(flag: Json) -> Json:
    is_stale = flag["status"] == "STALE"
    return {"status": "stale" if is_stale else "active", "reason": UNUSED if is_stale else IN_USE}


def members() -> list[Json]:
    joined = {"joined_at": "2025-03-01T09:00:00Z", "updated_at": "2025-03-01T09:00:00Z"}
    return [{"id": "018c0f2e-2222-0000-0000-000000000001", "user": KATHERINE, "level": ADMIN, **joined}]
