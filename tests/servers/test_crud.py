from tests.harness import WEATHER, Workspace


def test_a_stored_server_is_returned_without_its_credentials(any_workspace: Workspace) -> None:
    response = any_workspace.admin.post(any_workspace.servers, json=WEATHER)

    assert response.status_code == 201
    created = response.json()
    assert response.headers["Location"] == f"{any_workspace.servers}/{created['id']}"
    assert response.headers["ETag"] == '"1"'
    assert created == {
        "id": created["id"],
        "name": "Weather API",
        "slug": "weather-api",
        "description": "",
        "url": "https://api.weather.example.com/mcp",
        "authType": "header",
        "serviceType": "external",
        "enabled": True,
        "timeoutSeconds": 30,
        "exposure": "both",
        "configured": ["headerValue"],
        "createdAt": created["createdAt"],
        "updatedAt": created["createdAt"],
        "version": 1,
    }
    assert any_workspace.admin.get(response.headers["Location"]).json() == created
    assert any_workspace.admin.get(any_workspace.servers).json() == [created]
