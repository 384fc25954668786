"""The valid combinations of a server's service, authentication, URL and credentials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from api.errors import FieldError, ValidationFailed
from api.kit.egress.policy import EgressPolicy, UrlRefused, check_url
from api.servers import credentials
from api.servers.schemas import ConfigDraft
from api.servers.server import EXTERNAL, AuthType, Exposure, OAuthGrant
from api.servers.slips import url_problem
from integrations import Service, nearest_name

# The credentials of an external server, by authType.
FIELDS = {
    AuthType.NONE: (),
    AuthType.HEADER: ("headerValue", "headers"),
    AuthType.BASIC: ("username", "password"),
    AuthType.OAUTH: ("clientId", "clientSecret", "privateKey", "scope"),
}


@dataclass(frozen=True, slots=True)
class ProposedServer:
    """The properties of a server after the request, as far as the rules need them."""

    service_type: str
    auth_type: AuthType
    url: str | None
    exposure: str
    oauth_grant: str = OAuthGrant.AUTHORIZATION_CODE
    configured: frozenset[str] = frozenset()
    """The names of its credentials."""


class Rules:
    def __init__(self, services: Mapping[str, Service], egress: EgressPolicy) -> None:
        self._services = services
        self._egress = egress

    def has_fixed_url(self, service_type: str) -> bool:
        service = self._services.get(service_type)
        return service is not None and not service.urls

    def check(self, proposed: ProposedServer, config: ConfigDraft | None) -> None:
        """`config` holds the new credentials; None if there are none."""
        errors = [*self._service(proposed)]
        if not errors:
            errors = [*self._url(proposed), *self._exposure(proposed), *_oauth(proposed)]
            if config is not None:
                errors += credentials.check(config, self._takes(proposed), proposed.auth_type, proposed.configured)
        if errors:
            raise ValidationFailed("See `errors` for what to change.", errors=errors)

    def _service(self, proposed: ProposedServer) -> Iterator[FieldError]:
        if proposed.service_type == EXTERNAL:
            return
        service = self._services.get(proposed.service_type)
        if service is None:
            yield FieldError("serviceType", _unknown_service(proposed.service_type, [EXTERNAL, *self._services]))
        elif proposed.auth_type not in service.auth_types:
            yield FieldError("authType", f"{service.title} requires authType `{'` or `'.join(service.auth_types)}`.")

    def _url(self, proposed: ProposedServer) -> Iterator[FieldError]:
        if proposed.service_type == EXTERNAL:
            yield from self._external_url(proposed.url)
            return
        service = self._services[proposed.service_type]
        if service.urls and proposed.url not in service.urls:
            yield FieldError("url", f"For {service.title}, this must be {' or '.join(service.urls)}.")
        elif not service.urls and proposed.url is not None:
            yield FieldError("url", f"{service.title} has a fixed URL: omit this.")

    def _external_url(self, url: str | None) -> Iterator[FieldError]:
        if url is None:
            yield FieldError("url", "Required for an `external` server.")
            return
        try:
            check_url(url, self._egress)
        except UrlRefused as refused:
            yield FieldError("url", url_problem(url, refused.reason))

    @staticmethod
    def _exposure(proposed: ProposedServer) -> Iterator[FieldError]:
        if proposed.service_type != EXTERNAL and proposed.exposure != Exposure.BOTH:
            yield FieldError("exposure", "Only for `external` servers: a service has no generic tool.")

    def _takes(self, proposed: ProposedServer) -> tuple[str, ...]:
        service = self._services.get(proposed.service_type)
        return tuple(field.name for field in service.config_fields) if service else FIELDS[proposed.auth_type]


def _oauth(proposed: ProposedServer) -> Iterator[FieldError]:
    """A configured client has to be complete. `client_credentials` requires such a client."""
    has = proposed.configured
    if proposed.auth_type == AuthType.OAUTH and {"clientSecret", "privateKey"} & has and "clientId" not in has:
        yield FieldError("config.clientId", "Required with `clientSecret` or `privateKey`.")
    if {"clientSecret", "privateKey"} <= has:
        yield FieldError(
            "config.privateKey", "Give either `privateKey` or `clientSecret`, not both; null clears a stored one."
        )
    if proposed.oauth_grant != OAuthGrant.CLIENT_CREDENTIALS:
        return
    if proposed.auth_type != AuthType.OAUTH or proposed.service_type != EXTERNAL:
        yield FieldError("oauthGrant", "`client_credentials` requires authType `oauth` and an `external` server.")
    elif "clientId" not in has or not {"clientSecret", "privateKey"} & has:
        yield FieldError(
            "config.clientId", "`client_credentials` requires `clientId`, and `clientSecret` or `privateKey`."
        )


def _unknown_service(name: str, available: Sequence[str]) -> str:
    nearest = nearest_name(name, available)
    text = f"Unknown service. Available: {', '.join(available)}."
    return f"{text} Did you mean `{nearest}`?" if nearest else text
