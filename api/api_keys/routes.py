"""`/api/workspaces/{ws}/api-keys`: the requests about API keys."""

from __future__ import annotations

from litestar import Response
from pydantic import TypeAdapter

from api.access.context import Scope
from api.access.guards import Needs
from api.access.idempotency.creates import Once, Receipt
from api.access.repository import KeyRecord
from api.api_keys.schemas import ApiKeyDraft, ApiKeyView, NewApiKeyView
from api.api_keys.service import ApiKeyService
from api.errors import Invalid
from api.http.dependencies import AnyRequest, provided
from api.http.openapi import examples
from api.http.operations import IDEMPOTENCY_KEY, IF_MATCH, Doc, Reply, delete, documented, get, post
from api.http.pagination import PAGING, Paging
from api.http.request_body import read_body
from api.http.responses import Answer, created
from api.kit.crypto.secret import Secret

API_KEYS = "/api/workspaces/{workspace_id:str}/api-keys"
API_KEY = f"{API_KEYS}/{{key_id:str}}"
TAG = "API keys"
MANY = TypeAdapter(list[ApiKeyView])


@get(
    API_KEYS,
    guards=[Needs(Scope.ADMIN)],
    opt=documented(
        Doc(
            "listApiKeys",
            TAG,
            "List the API keys",
            "Without their secrets, which are not stored.",
            Reply.many(MANY, examples.KEY),
            parameters=PAGING,
        )
    ),
)
async def list_api_keys(request: AnyRequest) -> Response[bytes]:
    api_keys = provided(request, ApiKeyService)
    paging = provided(request, Paging)
    found = await api_keys.page(paging.one_more, paging.after)
    used = await api_keys.last_uses(found)

    def view(record: KeyRecord) -> ApiKeyView:
        return ApiKeyView.of(record, used.get(record.id))

    return paging.answer(found, view, MANY, lambda record: record.id).response()


@post(
    API_KEYS,
    guards=[Needs(Scope.ADMIN)],
    opt=documented(
        Doc(
            "createApiKey",
            TAG,
            "Make an API key",
            "The key is in this answer and never again: what is stored is a keyed hash.",
            Reply.made(NewApiKeyView, {**examples.KEY, "apiKey": examples.API_KEY}),
            ApiKeyDraft,
            {"name": "CI", "scope": "invoke", "agentIds": [examples.AGENT_ID]},
            [IDEMPOTENCY_KEY],
            [Invalid],
        )
    ),
)
async def create_api_key(request: AnyRequest) -> Response[bytes]:
    draft = await read_body(request, ApiKeyDraft)
    api_keys = provided(request, ApiKeyService)
    once = provided(request, Once)

    def answer(record: KeyRecord, key: Secret) -> Answer:
        return created(NewApiKeyView.made(record, key), record.version, f"{once.path}/{record.id}")

    async def work(receipt: Receipt) -> Answer:
        return answer(*await api_keys.create(draft, lambda record, key: receipt(answer(record, key))))

    return (await once.run(work)).response()


@delete(
    API_KEY,
    status_code=204,
    guards=[Needs(Scope.ADMIN)],
    opt=documented(
        Doc(
            "revokeApiKey",
            TAG,
            "Revoke an API key",
            "It stops working with the very next request, everywhere.",
            Reply.gone(),
            parameters=[IF_MATCH],
        )
    ),
)
async def revoke_api_key(request: AnyRequest) -> None:
    key_id = request.path_params["key_id"]
    api_keys = provided(request, ApiKeyService)
    await api_keys.revoke(key_id, request.headers.get("if-match"))


ROUTES = [list_api_keys, create_api_key, revoke_api_key]
