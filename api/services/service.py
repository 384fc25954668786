"""The services of `integrations`, and whether the operator has configured them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from api.services.schemas import ConfigFieldView, ServiceView, ToolView
from integrations import Service


class ServiceList:
    def __init__(self, services: Mapping[str, Service], oauth_apps: Collection[str], public_url: str) -> None:
        self._services = services
        self._oauth_apps = oauth_apps
        self._public_url = public_url

    def views(self) -> list[ServiceView]:
        return [self._view(service) for service in self._services.values()]

    def _view(self, service: Service) -> ServiceView:
        oauth = service.oauth
        return ServiceView(
            service_type=service.name,
            title=service.title,
            description=service.description,
            auth_types=list(service.auth_types),
            urls=list(service.urls),
            config_fields=[ConfigFieldView(**field.model_dump()) for field in service.config_fields],
            scopes=list(oauth.scopes) if oauth else [],
            tools=[ToolView(**tool.model_dump()) for tool in service.tools],
            configured=oauth is None or service.env_prefix in self._oauth_apps,
            needs=[service.client_id_variable, service.client_secret_variable] if oauth else [],
            redirect_uri=f"{self._public_url}/api/mcp/oauth/{service.name}/callback" if oauth else None,
            docs_url=service.docs_url,
            console_url=service.console_url,
        )
