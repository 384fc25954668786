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

LESS = "Ask for fewer at once with a smaller `limit`."
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
    archived: bool = Field(default=False, description="List those who have left instead.")

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
        description="The owner's id, as in the property `hubspot_owner_id` of records; or their email address.",
        examples=["7001"],
    )
    id_property: Literal["id", "userId"] = Field(
        default="id", description="`userId` where the number is that of a user, which is another one."
    )
    archived: bool = Field(default=False, description="Read an owner who has left.")

    @model_validator(mode="before")
    @classmethod
    def _by_user(cls, given: object) -> object:
        """A user's id may come by its own name."""
        if not isinstance(given, dict):
            return given
        users = {name: value for name, value in given.items() if value and bare_name(str(name)) in ("userid", "user")}
        rest = {name: value for name, value in given.items() if name not in users}
        return {**rest, "ownerId": next(iter(users.values())), "idProperty": "userId"} if users else given


class OwnerSearch(Params):
    aliases: ClassVar = PAGED | dict.fromkeys(("email", *SEARCHED), "query")
    query: str = Field(
        min_length=1, max_length=300, description="A part of the name, or an email address.", examples=["Grace"]
    )
    limit: Limit = 50
    after: Annotated[Cursor, AfterValidator(place)] = ""
    archived: bool = Field(default=False, description="Search among those who have left.")


@tool("List owners")
async def hubspot_list_owners(api: HubSpotApi, ask: OwnerPage) -> Owners:
    """List the owners of the HubSpot account: the people to whom contacts, companies and deals are assigned.

    Each comes with id, name, email address, user id and teams. The id is what records have as `hubspot_owner_id`, and
    what the searches take as `owner`. `email` gives the owner with exactly that address; by name,
    hubspot_search_owners finds them. Those who have left are listed with `archived: true`.
    At most 100 a page; while there is a `nextCursor`, pass it as `after` and leave the rest as it was.
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
    """Read one owner, by the id that records have as `hubspot_owner_id`, by user id, or by email address.

    Gives id, name, email address, user id and teams. To see what is theirs, give hubspot_search_contacts,
    hubspot_search_companies or hubspot_search_deals the id as `owner`. Who has left the account is read with
    `archived: true`; their records keep their id.
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
    """Find owners of the HubSpot account by a part of their name, or by email address.

    Gives what hubspot_list_owners gives, and how many there are. HubSpot cannot search owners itself, so all of them
    are looked through, 5,000 at most. While there is a `nextCursor`, pass it as `after` and leave the rest as it was.
    Then give hubspot_search_contacts, hubspot_search_companies or hubspot_search_deals the id as `owner`.
    """
    words = ask.query.casefold().split()
    email = ask.query if is_email(ask.query) else None
    there = [each async for each in everybody(api, email=email, archived=ask.archived)]
    found = [each for each in there if all(word in _described(each) for word in words)]
    start = int(ask.after or 0)
    end = start + ask.limit
    notes = [] if found else ["No owner is called that. `hubspot_list_owners` tells who there is."]
    if len(there) >= MOST_PAGES * MOST_OWNERS:
        notes.append(f"Only the first {MOST_PAGES * MOST_OWNERS:,} owners were looked through.")
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
    also = "" if ask.archived else " `archived: true` reads those who have left."
    return f"{there}{also} `hubspot_search_owners` finds owners by name."
