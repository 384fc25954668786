"""`/api/workspaces/{ws}/api-keys`: the routes of API keys."""

from __future__ import annotations

from litestar import Response
from litestar.params import FromPath, JSONBody
from pydantic import TypeAdapter

from api.access.guards import RequiresScope
from api.access.idempotency.creates import IdempotencyChanges, IdempotentCreate
from api.access.principal import Scope
from api.access.repository import ApiKeyRecord
from api.api_keys.schemas import ApiKeyDraft, ApiKeyView, NewApiKeyView
from api.api_keys.service import ApiKeyService
from api.errors import ValidationFailed
from api.http.dependencies import IfMatch, Injected
from api.http.openapi import examples
from api.http.operations import IDEMPOTENCY_KEY, IF_MATCH, OperationDoc, SuccessResponse, delete, documented, get, post
from api.http.pagination import PAGING, Paging
from api.http.responses import StoredResponse, created
from api.kit.crypto.secret import Secret

API_KEYS = "/api/workspaces/{workspace_id:str}/api-keys"
API_KEY = f"{API_KEYS}/{{key_id:str}}"
TAG = "API keys"
MANY = TypeAdapter(list[ApiKeyView])


@get(
    API_KEYS,
    guards=[RequiresScope(Scope.ADMIN)],
    opt=documented(
        OperationDoc(
            "listApiKeys",
            TAG,
            "List API keys",
            "Without their secrets, which are not stored.",
            SuccessResponse.many(MANY, examples.KEY),
            parameters=PAGING,
        )
    ),
)
async def list_api_keys(api_keys: Injected[ApiKeyService], paging: Injected[Paging]) -> Response[bytes]:
    records = await api_keys.page(paging.one_more, paging.after)
    used = await api_keys.last_uses(records)

    def view(record: ApiKeyRecord) -> ApiKeyView:
        return ApiKeyView.of(record, used.get(record.id))

    return paging.answer(records, view, MANY, lambda record: record.id).response()


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
            [ValidationFailed],
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


@delete(
    API_KEY,
    status_code=204,
    guards=[RequiresScope(Scope.ADMIN)],
    opt=documented(
        OperationDoc(
            "revokeApiKey",
            TAG,
            "Revoke an API key",
            "The key stops working with the next request, in every process.",
            SuccessResponse.no_content(),
            parameters=[IF_MATCH],
        )
    ),
)
async def revoke_api_key(key_id: FromPath[str], api_keys: Injected[ApiKeyService], if_match: IfMatch = None) -> None:
    await api_keys.revoke(key_id, if_match)


ROUTES = [list_api_keys, create_api_key, revoke_api_key]
