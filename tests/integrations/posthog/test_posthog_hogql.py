import re
from time import process_time

import pytest

from integrations.posthog.hogql_syntax import MOST_ROWS, NOT_A_READ, NOT_CLOSED, NOT_ONE, Query, quote_literal


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("SELECT 1", None),
        ("select event from events limit 20", 20),
        ("SELECT event FROM events LIMIT 10, 20", 20),
        ("SELECT event FROM events LIMIT 90000", MOST_ROWS),
        ("SELECT event FROM (SELECT event FROM events LIMIT 5)", None),
        ("SELECT event FROM events WHERE event = 'no LIMIT 5'", None),
        ('SELECT "limit" FROM events', None),
        ("SELECT `limit` FROM events", None),
        ("SELECT event FROM events -- LIMIT 5", None),
        ("SELECT event FROM events /* LIMIT 5 */", None),
        ("SELECT event FROM events LIMIT 1 BY person_id", None),
        ("SELECT event FROM events LIMIT 1, 2 BY person_id", None),
        ("SELECT event FROM events LIMIT 1 BY person_id LIMIT 7", 7),
        ("WITH a AS (SELECT 1 LIMIT 3) SELECT * FROM a", None),
        ("(SELECT 1) UNION ALL (SELECT 2)", None),
        ("SELECT properties.limit FROM events", None),
        ("SELECT count() AS limit FROM events", None),
        ("SELECT event FROM events ORDER BY limit", None),
        ("SELECT event FROM events LIMIT 1e3", 1_000),
        ("SELECT limit, event FROM events LIMIT 4", 4),
    ],
)
def test_the_limit_of_a_query_is_parsed(text: str, limit: int | None) -> None:
    query = Query.read(text)

    assert query.limit == limit
    assert query.has_limit is (limit is not None)


def test_a_query_of_repeated_limits_is_parsed_quickly() -> None:
    began = process_time()
    Query.read("SELECT 1 " + "limit 1 " * 6_000)

    assert process_time() - began < 0.5


def test_a_limit_that_is_no_number_is_recognised() -> None:
    query = Query.read("SELECT event FROM events LIMIT {most}")

    assert (query.limit, query.has_limit) == (None, True)
    assert query.within(5) == "SELECT event FROM events LIMIT {most}"


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("SELECT 1", "SELECT 1\nLIMIT 5"),
        ("SELECT 1 ; -- and no more\n", "SELECT 1\nLIMIT 5"),
        ("SELECT event FROM events LIMIT 9 ;", "SELECT event FROM events LIMIT 9"),
        ("SELECT * EXCEPT (uuid) FROM events", "SELECT * EXCEPT (uuid) FROM events\nLIMIT 5"),
        ("SELECT 1 UNION ALL SELECT 2", "SELECT * FROM (\nSELECT 1 UNION ALL SELECT 2\n) LIMIT 5"),
        ("SELECT 1 EXCEPT SELECT 2", "SELECT * FROM (\nSELECT 1 EXCEPT SELECT 2\n) LIMIT 5"),
        ("(SELECT 1) INTERSECT (SELECT 2)", "SELECT * FROM (\n(SELECT 1) INTERSECT (SELECT 2)\n) LIMIT 5"),
        ("SELECT 'a UNION SELECT b'", "SELECT 'a UNION SELECT b'\nLIMIT 5"),
    ],
)
def test_a_query_without_a_limit_gets_one(text: str, sent: str) -> None:
    assert Query.read(text).within(5) == sent


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", NOT_A_READ),
        ("-- nothing", NOT_A_READ),
        ("INSERT INTO events VALUES (1)", NOT_A_READ),
        ("ALTER TABLE events DELETE WHERE 1", NOT_A_READ),
        ("SELECT 1; DROP TABLE events", NOT_ONE),
        ("SELECT (1", NOT_CLOSED),
        ("SELECT 1)", NOT_CLOSED),
        ("SELECT 'it", NOT_CLOSED),
        ("SELECT 1 /* for ever", NOT_CLOSED),
    ],
)
def test_a_text_that_is_no_query_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        Query.read(text)


@pytest.mark.parametrize(
    ("text", "written"),
    [("ada", "'ada'"), ("o'neil", "'o\\'neil'"), ("\\' OR 1 = 1", "'\\\\\\' OR 1 = 1'")],
)
def test_a_text_cannot_leave_its_quotes(text: str, written: str) -> None:
    assert quote_literal(text) == written
    assert Query.read(f"SELECT {written}").limit is None
