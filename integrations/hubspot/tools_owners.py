"""The tools for owners: the people of the account to whom records are assigned."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from integrations.hubspot.client import NOT_THERE, OWNERS, HubSpotApi
from integrations.hubspot.labels import MOST_OWNERS, next_cursor, person, results, said
from integrations.hubspot.lookup import MOST_PAGES, everybody
from integrations.hubspot.params import PAGED, Cursor, Limit, not_for_lists, place
from integrations.hubspot.parsing import is_email, is_number
from integrations.hubspot.results import Owner, Owners
from integrations.json_object import Json
from integrations.service_client import ToolFailed, too_large_hint
from integrations.similar_names import bare_name
from integrations.text import objects
from integrations.tool import Params, tool

LESS = "Use a smaller `limit`."
MOST_TEAMS = 50
SEARCHED = ("query", "name", "q", "text", "search", "term")


def _id(given: object) -> str:
    text = str(given).strip()
    if not (is_number(text) or is_email(text)):
        raise ValueError("must be a number or an email address; `hubspot_search_owners` finds owners by name")
    return text


def _email(given: str) -> str:
    if given and not is_email(given):
        raise ValueError("must be an email address; `hubspot_search_owners` finds owners by name")
    return given


class OwnerPage(Params):
    aliases: ClassVar = PAGED
    limit: Limit = 100
    after: Cursor = ""
    email: Annotated[str, AfterValidator(_email)] = Field(
        default="", description="Only the owner with this email address."
    )
    archived: bool = Field(default=False, description="List owners who have left instead.")

    @model_validator(mode="before")
    @classmethod
    def _is_no_search(cls, given: object) -> object:
        return not_for_lists(given, SEARCHED, "hubspot_search_owners")


class OneOwner(Params):
    aliases: ClassVar = {
        **dict.fromkeys(("id", "owner", "email", "hubspotownerid"), "owner_id"),
        "by": "id_property",
    }
    owner_id: Annotated[str, BeforeValidator(_id)] = Field(
        description="The owner's id, as in the property `hubspot_owner_id` of records, or their email address.",
        examples=["7001"],
    )
    id_property: Literal["id", "userId"] = Field(
        default="id", description="Use `userId` if the number is a user id, which differs from the owner id."
    )
    archived: bool = Field(default=False, description="Read an owner who has left.")

    @model_validator(mode="before")
    @classmethod
    def _by_user(cls, given: object) -> object:
        """Accept a user id under its own name."""
        if not isinstance(given, dict):
            return given
        users = {name: value for name, value in given.items() if value and bare_name(str(name)) in ("userid", "user")}
        rest = {name: value for name, value in given.items() if name not in users}
        return {**rest, "ownerId": next(iter(users.values())), "idProperty": "userId"} if users else given


class OwnerSearch(Params):
    aliases: ClassVar = PAGED | dict.fromkeys(("email", *SEARCHED), "query")
    query: str = Field(
        min_length=1, max_length=300, description="Part of the name, or an email address.", examples=["Grace"]
    )
    limit: Limit = 50
    after: Annotated[Cursor, AfterValidator(place)] = ""
    archived: bool = Field(default=False, description="Search among owners who have left.")


@tool("List owners")
async def hubspot_list_owners(api: HubSpotApi, ask: OwnerPage) -> Owners:
    """List the owners of the HubSpot account: the people to whom contacts, companies and deals are assigned.

    Returns id, name, email address, user id and teams of each owner. The id is the `hubspot_owner_id` of records, and
    the searches accept it as `owner`. `email` selects the owner with exactly that address; hubspot_search_owners finds
    owners by name. `archived: true` lists owners who have left the account.
    At most 100 per page; while there is a `nextCursor`, pass it as `after` and keep the other arguments.
    """
    query = {
        "limit": ask.limit,
        "after": ask.after or None,
        "email": ask.email or None,
        "archived": ask.archived or None,
    }
    with too_large_hint(LESS):
        body = await api.get(OWNERS, query)
    return Owners(owners=list(map(_owner, results(body)[: ask.limit])), next_cursor=next_cursor(body))


@tool("Read an owner")
async def hubspot_get_owner(api: HubSpotApi, ask: OneOwner) -> Owner:
    """Read one owner by id (the `hubspot_owner_id` of records), by user id, or by email address.

    Returns id, name, email address, user id and teams. To see the owner's records, pass the id as `owner` to
    hubspot_search_contacts, hubspot_search_companies or hubspot_search_deals. `archived: true` reads an owner who has
    left the account; records keep the id of such an owner.
    """
    archived = ask.archived or None
    if is_email(ask.owner_id):
        found = results(await api.get(OWNERS, {"email": ask.owner_id, "limit": 1, "archived": archived}))
        if not found:
            raise ToolFailed("upstream_refused", _absent(ask))
        return _owner(found[0])
    id_property = ask.id_property if ask.id_property != "id" else None
    try:
        return _owner(await api.get(f"{OWNERS}/{ask.owner_id}", {"idProperty": id_property, "archived": archived}))
    except ToolFailed as failed:
        if failed.text != NOT_THERE:
            raise
        raise ToolFailed("upstream_refused", _absent(ask)) from failed


@tool("Search owners")
async def hubspot_search_owners(api: HubSpotApi, ask: OwnerSearch) -> Owners:
    """Find owners of the HubSpot account by part of their name, or by email address.

    Returns the same fields as hubspot_list_owners, and the number of matches. HubSpot has no search for owners, so this
    tool reads all of them, at most 5,000. While there is a `nextCursor`, pass it as `after` and keep the other
    arguments. Pass the id as `owner` to hubspot_search_contacts, hubspot_search_companies or hubspot_search_deals.
    """
    words = ask.query.casefold().split()
    email = ask.query if is_email(ask.query) else None
    there = [owner async for owner in everybody(api, email=email, archived=ask.archived)]
    found = [owner for owner in there if all(word in _described(owner) for word in words)]
    start = int(ask.after or 0)
    end = start + ask.limit
    notes = [] if found else ["No owner has this name. `hubspot_list_owners` lists all owners."]
    if len(there) >= MOST_PAGES * MOST_OWNERS:
        notes.append(f"Only the first {MOST_PAGES * MOST_OWNERS:,} owners were searched.")
    more = str(end) if end < len(found) else None
    return Owners(owners=list(map(_owner, found[start:end])), total=len(found), next_cursor=more, notes=notes)


def _described(owner: Json) -> str:
    return f"{person(owner)} {said(owner.get('email'))}".casefold()


def _owner(found: Json) -> Owner:
    return Owner(
        id=said(found.get("id")),
        name=person(found),
        email=said(found.get("email")) or None,
        user_id=said(found.get("userId") or found.get("userIdIncludingInactive")) or None,
        teams=[said(team.get("name")) for team in objects(found.get("teams"))[:MOST_TEAMS]],
        archived=True if found.get("archived") else None,
    )


def _absent(ask: OneOwner) -> str:
    what = "user" if ask.id_property == "userId" else "owner"
    there = f"HubSpot has no {what} {ask.owner_id}{' who has left' if ask.archived else ''}."
    also = "" if ask.archived else " `archived: true` reads owners who have left."
    return f"{there}{also} `hubspot_search_owners` finds owners by name."
