"""The release conditions of a feature flag, in words."""

from __future__ import annotations

from collections.abc import Iterator

from integrations.json_object import Json
from integrations.posthog.results import line

OPERATORS = {
    "exact": "is",
    "is_not": "is not",
    "icontains": "contains",
    "not_icontains": "does not contain",
    "regex": "matches",
    "not_regex": "does not match",
    "gt": ">",
    "gte": "≥",
    "lt": "<",
    "lte": "≤",
    "is_date_exact": "is on",
    "is_date_before": "is before",
    "is_date_after": "is after",
    "flag_evaluates_to": "is",
}
"""Words for operators; others are shown with PostHog's own names."""


def filters_of(flag: Json) -> Json:
    filters = flag.get("filters")
    return filters if isinstance(filters, dict) else {}


def conditions(flag: Json) -> Iterator[str]:
    """Release conditions in the order in which PostHog evaluates them."""
    filters = filters_of(flag)
    held_out = (filters.get("holdout") or {}).get("exclusion_percentage")
    if held_out is not None:
        yield f"{held_out}% of all users are held out and get no variant"
    for group in filters.get("groups") or []:
        if isinstance(group, dict):
            yield _condition(
                group, group.get("aggregation_group_type_index", filters.get("aggregation_group_type_index"))
            )


def _condition(group: Json, group_type: int | None) -> str:
    """A condition for users, or for groups such as companies, whose types PostHog numbers."""
    share = group.get("rollout_percentage")
    audience = "users" if group_type is None else f"groups of type {group_type}"
    filters = [_filter(property_) for property_ in group.get("properties") or [] if isinstance(property_, dict)]
    scope = f"of {audience} where {' and '.join(filters)}" if filters else f"of all {audience}"
    variant = f", always variant {group['variant']}" if group.get("variant") else ""
    return f"{100 if share is None else share}% {scope}{variant}"


def _filter(condition: Json) -> str:
    operator, value = str(condition.get("operator") or "exact"), condition.get("value")
    if condition.get("type") == "cohort":
        return str(line(f"{'not ' if operator == 'not_in' else ''}in cohort {condition.get('cohort_name') or value}"))
    operator_text = OPERATORS.get(operator, operator.replace("_", " "))
    value_text = " or ".join(map(str, value)) if isinstance(value, list) else str(value)
    flag = "flag " if condition.get("type") == "flag" else ""
    if operator in ("is_set", "is_not_set"):
        return str(line(f"{flag}{condition.get('key')} {operator_text}"))
    return str(line(f"{flag}{condition.get('key')} {operator_text} {value_text}"))
