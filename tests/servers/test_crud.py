from tests.harness import WEATHER, Workspace


def test_a_stored_server_is_returned_without_its_credentials(any_workspace: Workspace) -> None:
    answer = any_workspace.admin.post(any_workspace.servers, json=WEATHER)

    assert answer.status_code == 201
    made = answer.json()
    assert answer.headers["Location"] == f"{any_workspace.servers}/{made['id']}"
    assert answer.headers["ETag"] == '"1"'
    assert made == {
        "id": made["id"],
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
        "createdAt": made["createdAt"],
        "updatedAt": made["createdAt"],
        "version": 1,
    }
    assert any_workspace.admin.get(answer.headers["Location"]).json() == made
    assert any_workspace.admin.get(any_workspace.servers).json() == [made]
