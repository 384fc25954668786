import pytest

from integrations.paging import paging_aliases
from integrations.tool import Params


class Page(Params):
    aliases = paging_aliases(cursor="start_cursor", size="page_size")
    start_cursor: str | None = None
    page_size: int = 50


class Events(Params):
    aliases = paging_aliases(cursor="cursor", size="limit", counts=True)
    after: str | None = None
    cursor: str | None = None
    limit: int = 50


@pytest.mark.parametrize("size", ["limit", "first", "count", "pageSize", "per_page", "maxResults"])
@pytest.mark.parametrize("cursor", ["cursor", "nextCursor", "start_cursor", "pageToken", "after"])
def test_paging_names_of_other_services_are_accepted(cursor: str, size: str) -> None:
    assert Page.model_validate({cursor: "c2", size: 7}) == Page(start_cursor="c2", page_size=7)


def test_an_offset_is_a_cursor_only_where_cursors_count() -> None:
    assert Events.model_validate({"skip": 20}).cursor == "20"
    assert "offset" not in Page.aliases


def test_a_parameter_of_that_name_is_no_alias() -> None:
    assert Events.model_validate({"after": "7d"}) == Events(after="7d")


def test_only_declared_parameters_get_aliases() -> None:
    assert set(paging_aliases(size="limit").values()) == {"limit"}
    assert set(paging_aliases(cursor="after").values()) == {"after"}
