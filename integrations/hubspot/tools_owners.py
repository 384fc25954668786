"""The tools for owners: the people of the account to whom records are assigned."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from integrations.hubspot.client import NOT_FOUND, OWNERS, HubSpotApi
from integrations.hubspot.labels import MOST_OWNERS, next_cursor, person, results, short_text
from integrations.hubspot.lookup import MAX_PAGES, all_owners
from integrations.hubspot.params import PAGING_ALIASES, Cursor, Limit, offset, reject_search_fields
from integrations.hubspot.parsing import is_email, is_number
from integrations.hubspot.results import Owner, Owners
from integrations.json_object import Json
from integrations.service_client import ToolFailed, too_large_hint
from integrations.similar_names import bare_name
from integrations.text import objects
from integrations.tool import Params, tool

ASK_FOR_LESS = "Use a smaller `limit`."
MAX_TEAMS = 50
SEARCH_FIELDS = ("query", "name", "q", "text", "search", "term")


def _id(value: object) -> str:
    text = str(value).strip()
    if not (is_number(text) or is_email(text)):
        raise ValueError("must be a number or an email address; `hubspot_search_owners` finds owners by name")
    return text


def _email(value: str) -> str:
    if value and not is_email(value):
        raise ValueError("must be an email address; `hubspot_search_owners` finds owners by name")
    return value


class OwnerPage(Params):
    aliases: ClassVar = PAGING_ALIASES
    limit: Limit = 100
    after: Cursor = ""
    email: Annotated[str, AfterValidator(_email)] = Field(
        default="", description="Only the owner with this email address."
    )
    archived: bool = Field(default=False, description="List owners who have left instead.")

    @model_validator(mode="before")
    @classmethod
    def _reject_search_fields(cls, args: object) -> object:
        return reject_search_fields(args, SEARCH_FIELDS, "hubspot_search_owners")


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
    def _accept_user_id(cls, args: object) -> object:
        """Accept a user id under its own name."""
        if not isinstance(args, dict):
            return args
        user_ids = {name: value for name, value in args.items() if value and bare_name(str(name)) in ("userid", "user")}
        rest = {name: value for name, value in args.items() if name not in user_ids}
        return {**rest, "ownerId": next(iter(user_ids.values())), "idProperty": "userId"} if user_ids else args


class OwnerSearch(Params):
    aliases: ClassVar = PAGING_ALIASES | dict.fromkeys(("email", *SEARCH_FIELDS), "query")
    query: str = Field(
        min_length=1, max_length=300, description="Part of the name, or an email address.", examples=["Grace"]
    )
    limit: Limit = 50
    after: Annotated[Cursor, AfterValidator(offset)] = ""
    archived: bool = Field(default=False, description="Search among owners who have left.")


@tool("List owners")
async def hubspot_list_owners(api: HubSpotApi, params: OwnerPage) -> Owners:
    """List the owners of the HubSpot account: the people to whom contacts, companies and deals are assigned.

    Returns id, name, email address, user id and teams of each owner. The id is the `hubspot_owner_id` of records, and
    the searches accept it as `owner`. `email` selects the owner with exactly that address; hubspot_search_owners finds
    owners by name. `archived: true` lists owners who have left the account.
    At most 100 per page; while there is a `nextCursor`, pass it as `after` and keep the other arguments.
    """
    query = {
        "limit": params.limit,
        "after": params.after or None,
        "email": params.email or None,
        "archived": params.archived or None,
    }
    with too_large_hint(ASK_FOR_LESS):
        body = await api.get(OWNERS, query)
    return Owners(owners=list(map(_owner, results(body)[: params.limit])), next_cursor=next_cursor(body))


@tool("Read an owner")
async def hubspot_get_owner(api: HubSpotApi, params: OneOwner) -> Owner:
    """Read one owner by id (the `hubspot_owner_id` of records), by user id, or by email address.

    Returns id, name, email address, user id and teams. To see the owner's records, pass the id as `owner` to
    hubspot_search_contacts, hubspot_search_companies or hubspot_search_deals. `archived: true` reads an owner who has
    left the account; records keep the id of such an owner.
    """
    archived = params.archived or None
    if is_email(params.owner_id):
        owners = results(await api.get(OWNERS, {"email": params.owner_id, "limit": 1, "archived": archived}))
        if not owners:
            raise ToolFailed("upstream_refused", _not_found_text(params))
        return _owner(owners[0])
    id_property = params.id_property if params.id_property != "id" else None
    try:
        return _owner(await api.get(f"{OWNERS}/{params.owner_id}", {"idProperty": id_property, "archived": archived}))
    except ToolFailed as failed:
        if failed.text != NOT_FOUND:
            raise
        raise ToolFailed("upstream_refused", _not_found_text(params)) from failed


@tool("Search owners")
async def hubspot_search_owners(api: HubSpotApi, params: OwnerSearch) -> Owners:
    """Find owners of the HubSpot account by part of their name, or by email address.

    Returns the same fields as hubspot_list_owners, and the number of matches. HubSpot has no search for owners, so this
    tool reads all of them, at most 5,000. While there is a `nextCursor`, pass it as `after` and keep the other
    arguments. Pass the id as `owner` to hubspot_search_contacts, hubspot_search_companies or hubspot_search_deals.
    """
    words = params.query.casefold().split()
    email = params.query if is_email(params.query) else None
    owners = [owner async for owner in all_owners(api, email=email, archived=params.archived)]
    matches = [owner for owner in owners if all(word in _search_text(owner) for word in words)]
    start = int(params.after or 0)
    end = start + params.limit
    notes = [] if matches else ["No owner has this name. `hubspot_list_owners` lists all owners."]
    if len(owners) >= MAX_PAGES * MOST_OWNERS:
        notes.append(f"Only the first {MAX_PAGES * MOST_OWNERS:,} owners were searched.")
    following = str(end) if end < len(matches) else None
    return Owners(owners=list(map(_owner, matches[start:end])), total=len(matches), next_cursor=following, notes=notes)


def _search_text(owner: Json) -> str:
    return f"{person(owner)} {short_text(owner.get('email'))}".casefold()


def _owner(item: Json) -> Owner:
    return Owner(
        id=short_text(item.get("id")),
        name=person(item),
        email=short_text(item.get("email")) or None,
        user_id=short_text(item.get("userId") or item.get("userIdIncludingInactive")) or None,
        teams=[short_text(team.get("name")) for team in objects(item.get("teams"))[:MAX_TEAMS]],
        archived=True if item.get("archived") else None,
    )


def _not_found_text(params: OneOwner) -> str:
    kind = "user" if params.id_property == "userId" else "owner"
    sentence = f"HubSpot has no {kind} {params.owner_id}{' who has left' if params.archived else ''}."
    hint = "" if params.archived else " `archived: true` reads owners who have left."
    return f"{sentence}{hint} `hubspot_search_owners` finds owners by name."
