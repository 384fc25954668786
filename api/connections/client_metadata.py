"""`/client-metadata.json`: the OAuth Client ID Metadata Document, which replaces registration."""

from __future__ import annotations

import re

from litestar import Response
from litestar.params import FromPath
from pydantic import TypeAdapter

from api.access.guards import Public
from api.connections.authorization_request import CLIENT_NAME, DOCUMENT, SUFFIX_LENGTH, document_url
from api.connections.dependencies import PublicUrls
from api.connections.schemas import CLIENT_METADATA, ClientMetadataView
from api.errors import NotFound
from api.http.dependencies import Injected
from api.http.operations import OperationDoc, SuccessResponse, documented, get
from api.http.responses import OK, StoredResponse, encode
from api.servers.server import EXTERNAL

FOR_ALL = "authorization servers read it, and it is the same for all of them"
_NAME = re.compile(rf"([0-9a-f]{{{SUFFIX_LENGTH}}})\.json")


def _doc(name: str, summary: str) -> OperationDoc:
    return OperationDoc(
        name,
        "Connections",
        summary,
        "The OAuth Client ID Metadata Document. Its own URL is the client id.",
        SuccessResponse(200, "The document.", TypeAdapter(ClientMetadataView), CLIENT_METADATA),
    )


@get(f"{DOCUMENT}.json", guards=[Public(FOR_ALL)], opt=documented(_doc("getClientMetadata", "Get the client metadata")))
async def client_metadata(public_urls: Injected[PublicUrls]) -> Response[bytes]:
    return _document(public_urls, None)


@get(
    f"{DOCUMENT}/{{document:str}}",
    guards=[Public(FOR_ALL)],
    opt=documented(_doc("getClientMetadataByIssuer", "Get the client metadata for one authorization server")),
)
async def client_metadata_by_issuer(document: FromPath[str], public_urls: Injected[PublicUrls]) -> Response[bytes]:
    name = _NAME.fullmatch(document)
    if not name:
        raise NotFound("This path does not exist. All paths are listed at /docs.")
    return _document(public_urls, name[1])


def _document(public: PublicUrls, suffix: str | None) -> Response[bytes]:
    metadata = ClientMetadataView(
        client_id=document_url(public.url, suffix),
        client_name=CLIENT_NAME,
        client_uri=public.url,
        redirect_uris=[public.callback(EXTERNAL, suffix)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",  # noqa: S106  a method, and no password
        application_type="web",
    )
    return StoredResponse(OK, encode(metadata)).response()


ROUTES = [client_metadata, client_metadata_by_issuer]
