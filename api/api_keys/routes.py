"""`/api/workspaces/{ws}/api-keys`: the routes of API keys."""

from __future__ import annotations

from collections.abc import Callable

from litestar import Response
from litestar.params import FromPath, JSONBody
from pydantic import TypeAdapter

from api.access.guards import RequiresScope
from api.access.idempotency.creates import IdempotencyChanges, IdempotentCreate
from api.access.principal import Scope
from api.access.repository import ApiKeyRecord
from api.api_keys.schemas import ApiKeyDraft, ApiKeyView, NewApiKeyView
from api.api_keys.service import ApiKeyService
from api.errors import LastAdminKey, TooManyRecords, ValidationFailed
from api.http.dependencies import IfMatch, Injected
from api.http.openapi import examples
from api.http.operations import (
    IDEMPOTENCY_KEY,
    IF_MATCH,
    OperationDoc,
    Parameter,
    SuccessResponse,
    delete,
    documented,
    get,
    post,
)
from api.http.pagination import PAGES, PAGING, Paging
from api.http.query import choice_parameter, query_choice, query_text, text_parameter
from api.http.request import AnyRequest, query_bool
from api.http.responses import StoredResponse, created, item
from api.http.selection import select
from api.kit.crypto.secret import Secret

API_KEYS = "/api/workspaces/{workspace_id:str}/api-keys"
API_KEY = f"{API_KEYS}/{{key_id:str}}"
TAG = "API keys"
MANY = TypeAdapter(list[ApiKeyView])
LAST = Parameter("last", "`true`: also if the key is the workspace's last admin key.", {"type": "boolean"})
SCOPES = [scope.value for scope in Scope if scope is not Scope.OPERATOR]
FILTERS = (
    text_parameter("q", "Only keys with this text in their name, in any case."),
    choice_parameter("scope", "Only keys with this scope.", SCOPES),
)


def key_filter(request: AnyRequest) -> Callable[[ApiKeyRecord], bool] | None:
    """None if the request has no filter."""
    text, scope = query_text(request, "q"), query_choice(request, "scope", SCOPES)
    if text is None and scope is None:
        return None
    part = (text or "").casefold()
    return lambda record: part in record.name.casefold() and scope in (None, record.scope)


@get(
    API_KEYS,
    guards=[RequiresScope(Scope.ADMIN)],
    opt=documented(
        OperationDoc(
            "listApiKeys",
            TAG,
            "List API keys",
            f"Without their secrets, which are not stored. In order of creation. {PAGES}",
            SuccessResponse.many(MANY, examples.KEY),
            parameters=[*PAGING, *FILTERS],
        )
    ),
)
async def list_api_keys(
    request: AnyRequest, api_keys: Injected[ApiKeyService], paging: Injected[Paging]
) -> Response[bytes]:
    listing = api_keys.listing(paging.after)
    page = await select(paging, listing.page, listing.position, key_filter(request))
    used = await api_keys.last_uses(page.items)
    views = [ApiKeyView.of(record, used.get(record.id)) for record in page.items]
    return paging.answer(views, MANY, page.last).response()


@post(
    API_KEYS,
    guards=[RequiresScope(Scope.ADMIN)],
    opt=documented(
        OperationDoc(
            "createApiKey",
            TAG,
            "Create an API key",
            "The key is shown only in this response; only a keyed hash of it is stored.",
            SuccessResponse.created(NewApiKeyView, {**examples.KEY, "apiKey": examples.API_KEY}),
            {"name": "CI", "scope": "invoke", "agentIds": [examples.AGENT_ID]},
            [IDEMPOTENCY_KEY],
            [TooManyRecords, ValidationFailed],
        )
    ),
)
async def create_api_key(
    data: JSONBody[ApiKeyDraft], api_keys: Injected[ApiKeyService], idempotent_create: Injected[IdempotentCreate]
) -> Response[bytes]:

    def response_to(record: ApiKeyRecord, key: Secret) -> StoredResponse:
        return created(NewApiKeyView.with_key(record, key), record.version, f"{idempotent_create.path}/{record.id}")

    async def work(receipt: IdempotencyChanges) -> StoredResponse:
        return response_to(*await api_keys.create(data, lambda record, key: receipt(response_to(record, key))))

    return (await idempotent_create.run(work)).response()


@get(
    API_KEY,
    guards=[RequiresScope(Scope.ADMIN)],
    opt=documented(
        OperationDoc(
            "getApiKey",
            TAG,
            "Get an API key",
            "Without its secret, which is not stored.",
            SuccessResponse.item(ApiKeyView, examples.KEY),
        )
    ),
)
async def get_api_key(key_id: FromPath[str], api_keys: Injected[ApiKeyService]) -> Response[bytes]:
    record = await api_keys.get(key_id)
    used = await api_keys.last_uses([record])
    return item(ApiKeyView.of(record, used.get(record.id)), record.version).response()


@delete(
    API_KEY,
    status_code=204,
    guards=[RequiresScope(Scope.ADMIN)],
    opt=documented(
        OperationDoc(
            "revokeApiKey",
            TAG,
            "Revoke an API key",
            "The key stops working with the next request, in every process. Refused for the last admin key that has "
            "not expired, unless `last=true`.",
            SuccessResponse.no_content(),
            parameters=[LAST, IF_MATCH],
            problems=[LastAdminKey, ValidationFailed],
        )
    ),
)
async def revoke_api_key(
    request: AnyRequest, key_id: FromPath[str], api_keys: Injected[ApiKeyService], if_match: IfMatch = None
) -> None:
    await api_keys.revoke(key_id, if_match, last=query_bool(request, LAST.name))


ROUTES = [list_api_keys, create_api_key, get_api_key, revoke_api_key]
