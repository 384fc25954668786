"""Calls of Notion's tools whose texts a person approves, and the faults in their way."""

from __future__ import annotations

import re
from collections.abc import Callable

from demo.oauth_provider.server import Fault
from demo.services.notion.data import (
    ACCOUNTS,
    CUSTOMERS,
    GUIDE,
    LEADS,
    PLAN,
    SALARIES,
    TASKS,
    TASKS_SOURCE,
    WIKI,
    WORKSPACE,
    task_id,
)
from demo.services.notion.rules import error
from demo.services.notion.store import ADA, id_of, rich
from tests.toolkits.contract import Json
from tests.toolkits.notion.connected_notion import (
    APPEND,
    CREATE,
    CREATE_ROW,
    QUERY,
    READ,
    SEARCH,
    UPDATE,
    UPDATE_ROW,
    Notion,
)
from tests.toolkits.scenes import ApprovedTexts, Case, Scene, SceneCall, outlined, runs_counted

PASSES = Fault("slow", seconds=0)
NO_JSON = Fault("html", after=True)
CONFLICT = error(409, "conflict_error", "Conflict occurred while saving. Please try again.")
READS_BEFORE = {CREATE: 0, UPDATE: 0, CREATE_ROW: 1, UPDATE_ROW: 2, APPEND: 0}
"""How many requests come before the one that writes."""
OWN_BLOCKS = [{"type": "divider", "divider": {}}, "## A text among blocks"]
WHOLE_ROW = {
    "Task": "Write the report",
    "status": "done",
    "Due": "2026-12-01/2026-12-05",
    "Tags": ["q4", "New"],
    "Points": "3",
    "Urgent": "yes",
    "Owner": ADA,
    "Notes": "At last.",
    "Blocks": [task_id(1)],
    "Link": "https://acme.example.com",
}
WRONG_ROW = {
    "Task": "x",
    "Stat": "Done",
    "Status": "Doing",
    "Points": "many",
    "No.": 3,
    "Owner": "Ada",
    "Urgent": "so",
}
NOT_SHARED = f"{Scene.EMPTY}: it is not shared"
IN_TRASH = f"{Scene.WRONG}: in the trash"
NO_CURSOR = f"{Scene.WRONG}: a cursor that is none"
CUT, ALONE = id_of("block", "long"), id_of("block", "alone")
FOUR_LEVELS = "- one\n  - two\n    - three\n      - four"


def brief(scene: str) -> str:
    return outlined(runs_counted(scene))


def ids_counted(scene: str) -> str:
    return re.sub(r"[0-9a-f-]{36}(, [0-9a-f-]{36}){5,}", lambda value: f"[{value[0].count(', ') + 1} ids]", scene)


def long_page(notion: Notion) -> None:
    for number in range(90):
        text = f"Line {number} ".ljust(400, "x")
        notion.fake.store.block(PLAN, {"type": "paragraph", "paragraph": {"rich_text": text}})


def crowded(notion: Notion) -> None:
    for number in range(100):
        notion.fake.store.plain_page(id_of("crowd", str(number)), WORKSPACE, f"{'x' * 1500} {number}")


def long_rows(notion: Notion) -> None:
    for number in range(1, 13):
        for name in ("Notes", "Link"):
            stored = notion.fake.store.objects[task_id(number)]["properties"][name]
            stored |= {
                "type": "multi_select",
                "multi_select": [{"name": f"{'x' * 400} {number}"} for number in range(20)],
            }


def long_block(notion: Notion) -> None:
    """With more in it than goes into one answer."""
    block = notion.fake.store.block(GUIDE, {"type": "toggle", "toggle": {"rich_text": "Minutes"}}, of=CUT)
    for number in range(120):
        text = f"Line {number} ".ljust(400, "x")
        notion.fake.store.block(block["id"], {"type": "paragraph", "paragraph": {"rich_text": text}})
    notion.fake.store.children[GUIDE].remove(CUT)
    notion.fake.store.children[GUIDE].insert(0, CUT)


def lone_block(notion: Notion) -> None:
    text = [{"type": "text", "text": {"content": "x" * 2000}}] * 35
    notion.fake.store.block(GUIDE, {"type": "paragraph", "paragraph": {"rich_text": text}}, of=ALONE)


def much_related(notion: Notion) -> None:
    """A page shows 25 of them."""
    every = [{"id": id_of("related", str(number))} for number in range(40)]
    stored = notion.fake.store.objects[task_id(4)]["properties"]["Blocks"]
    stored |= {"relation": every[:25], "has_more": True, "all": every}


def long_note(notion: Notion) -> None:
    stored = notion.fake.store.objects[task_id(3)]["properties"]["Notes"]
    stored["rich_text"] = rich("x" * 5000)


def trashed(of: str) -> Callable[[Notion], None]:
    return lambda notion: notion.fake.store.objects[of].update(in_trash=True)


def without_people(notion: Notion) -> None:
    notion.fake.capabilities.remove("users")


def reading_alone(notion: Notion) -> None:
    notion.fake.capabilities &= {"read"}


def gives_up(notion: Notion) -> None:
    notion.fake.incomplete = True


def conflicting(notion: Notion) -> None:
    """As often as it is tried."""
    notion.fake.next_responses += [CONFLICT] * 3


def cut_midway(notion: Notion) -> None:
    notion.tenant.inject_fault("api", PASSES, times=2)
    notion.tenant.inject_fault("api", Fault("close", after=True))


def lines_counted(scene: str) -> str:
    """In what was asked."""
    return re.sub(r"(Line(\\n\\n)?){20,}", lambda value: f"[{value[0].count('Line'):,} times Line]", scene)


def querying(wanted: Json) -> Json:
    return {"databaseId": TASKS, "filter": wanted, "properties": ["Due", "Owner"]}


READING = Case(
    READ,
    {
        Scene.MEANT: {"pageId": GUIDE},
        f"{Scene.OTHERWISE}: a page of a database": {"pageId": task_id(1)},
        f"{Scene.OTHERWISE}: a page with others in it": {"pageId": WIKI},
        f"{Scene.OTHERWISE}: a database": {"pageId": TASKS},
        f"{Scene.OTHERWISE}: a database with several data sources": {"pageId": CUSTOMERS},
        f"{Scene.OTHERWISE}: a data source": {"pageId": TASKS_SOURCE},
        f"{Scene.OTHERWISE}: a block": {"pageId": id_of("block", GUIDE, "5")},
        f"{Scene.OTHERWISE}: with the ids of blocks": {"pageId": PLAN, "withBlockIds": True},
        f"{Scene.EMPTY}: an empty page": {"pageId": task_id(2)},
        f"{Scene.EMPTY}: a block with nothing in it": {"pageId": id_of("block", GUIDE, "1")},
        NOT_SHARED: {"pageId": SALARIES},
        Scene.WRONG: {"pageId": "the launch plan", "depth": 3},
        NO_CURSOR: {"pageId": PLAN, "startCursor": "2"},
        Scene.HUGE: SceneCall({"pageId": PLAN}, long_page, brief),
        Scene.PAGE: SceneCall({"pageId": PLAN}, transform=brief, follow_pages=True),
        f"{Scene.HUGE}: a long value": SceneCall({"pageId": task_id(3)}, long_note, brief),
        f"{Scene.HUGE}: a long value, whole": SceneCall({"pageId": task_id(3), "full": True}, transform=brief),
        f"{Scene.HUGE}: many related pages": SceneCall({"pageId": task_id(4)}, much_related, ids_counted),
        f"{Scene.HUGE}: a block": SceneCall({"pageId": GUIDE}, long_block, brief),
        f"{Scene.HUGE}: that block": SceneCall({"pageId": CUT}, transform=brief),
        f"{Scene.HUGE}: a block without others in it": SceneCall({"pageId": ALONE}, lone_block, brief),
        f"{Scene.HUGE}: what follows in that block": SceneCall({"pageId": ALONE, "startCursor": "2."}, transform=brief),
        f"{Scene.OTHERWISE}: in the trash": SceneCall({"pageId": task_id(2)}, trashed(task_id(2))),
    },
    failing_arguments={"pageId": PLAN},
)
SEARCHING = Case(
    SEARCH,
    {
        Scene.MEANT: {"query": "launch"},
        Scene.PAGE: SceneCall({"pageSize": 2}, follow_pages=True),
        f"{Scene.OTHERWISE}: only data sources": {"filter": "data_source"},
        Scene.EMPTY: {"query": "zzz"},
        Scene.WRONG: {"filter": "block", "pageSize": 500},
        NO_CURSOR: {"startCursor": "2"},
        Scene.HUGE: SceneCall({"query": "xxx", "pageSize": 100, "full": True}, crowded, brief),
        f"{Scene.OTHERWISE}: Notion gives up": SceneCall({"query": "launch"}, gives_up),
        f"{Scene.EMPTY}: Notion gives up": {"query": "zzz"},
    },
)
QUERYING = Case(
    QUERY,
    {
        Scene.MEANT: {"databaseId": TASKS_SOURCE, "filter": {"Status": "Done"}, "properties": ["due", "Points"]},
        Scene.PAGE: SceneCall({"databaseId": TASKS, "pageSize": 3, "sorts": ["Due"]}, follow_pages=True),
        f"{Scene.OTHERWISE}: several data sources": {"databaseId": CUSTOMERS},
        f"{Scene.OTHERWISE}: one of them": {"databaseId": CUSTOMERS, "dataSourceId": ACCOUNTS},
        f"{Scene.OTHERWISE}: in the form of Notion": {"databaseId": TASKS, "pageSize": 1, "full": True},
        f"{Scene.OTHERWISE}: a span of days": querying({"Due": {"after": "2026-11-20", "before": "2026-12-05"}}),
        f"{Scene.OTHERWISE}: somebody's": querying({"Owner": "Ada"}),
        Scene.EMPTY: {"databaseId": TASKS, "filter": {"Points": 99}},
        NOT_SHARED: {"databaseId": SALARIES},
        Scene.WRONG: {"filter": "Status is Done"},
        f"{Scene.WRONG}: no such property": {"databaseId": TASKS, "filter": {"State": "Done"}},
        f"{Scene.WRONG}: no such option": {"databaseId": TASKS, "filter": {"Status": "Finished"}},
        f"{Scene.WRONG}: no such test": querying({"Due": {"near": "x"}}),
        f"{Scene.WRONG}: no date": querying({"Due": "30 Nov"}),
        f"{Scene.WRONG}: nobody": querying({"Owner": "Linus"}),
        f"{Scene.WRONG}: a page": {"databaseId": WIKI},
        NO_CURSOR: {"databaseId": TASKS, "startCursor": "2"},
        f"{Scene.HUGE}: many related pages": SceneCall(
            {"databaseId": TASKS, "filter": {"No.": 4}}, much_related, ids_counted
        ),
        Scene.HUGE: SceneCall({"databaseId": TASKS, "pageSize": 12}, long_rows, brief),
        f"{Scene.OTHERWISE}: Notion gives up": SceneCall(querying({"Status": "Done"}), gives_up),
        f"{Scene.RIGHTS}: to see who there is": SceneCall(querying({"Owner": "Ada"}), without_people),
    },
    failing_arguments={"databaseId": TASKS_SOURCE},
)
CREATING = Case(
    CREATE,
    {
        Scene.MEANT: {"name": "Minutes", "parent": WIKI, "content": "We met."},
        f"{Scene.OTHERWISE}: at the top of the workspace": {"name": "Private"},
        f"{Scene.OTHERWISE}: in a database": {"name": "Ship it", "parent": TASKS, "properties": {"Status": "done"}},
        f"{Scene.OTHERWISE}: in a database with several data sources": {
            "name": "Lyra",
            "parent": {"database_id": CUSTOMERS},
        },
        f"{Scene.OTHERWISE}: in one of them": {"name": "Lyra", "parent": {"type": "data_source_id", "id": LEADS}},
        NOT_SHARED: {"name": "New", "parent": {"page_id": SALARIES}},
        Scene.WRONG: {"parent": WIKI, "children": [7]},
        f"{Scene.WRONG}: below a block": {"name": "No", "parent": {"block_id": PLAN}},
        f"{Scene.WRONG}: with properties where there are none": {"name": "No", "parent": WIKI, "properties": {"A": 1}},
        f"{Scene.WRONG}: with a parent that is not understood": {"name": "No", "parent": {"here": True}},
        Scene.HUGE: SceneCall(
            {"name": "x" * 1500, "parent": {"page_id": WIKI}, "content": "\n\n".join(["x" * 30_000] * 3)},
            transform=brief,
        ),
        f"{Scene.LOST}: in the middle of long content": SceneCall(
            {"name": "Long", "parent": {"page_id": WIKI}, "content": "\n\n".join(["Line"] * 250)},
            cut_midway,
            lines_counted,
        ),
        IN_TRASH: SceneCall({"name": "New", "parent": PLAN}, trashed(PLAN)),
        f"{Scene.RIGHTS}: to insert": SceneCall({"name": "New", "parent": WIKI}, reading_alone),
    },
    failing_arguments={"name": "New", "parent": {"page_id": WIKI}},
    writes=True,
)
UPDATING = Case(
    UPDATE,
    {
        Scene.MEANT: {"pageId": PLAN, "name": "Launch plan 2"},
        f"{Scene.OTHERWISE}: its properties": {"pageId": task_id(2), "properties": {"Status": "in progress"}},
        f"{Scene.OTHERWISE}: to the trash": {"pageId": task_id(2), "archived": True},
        IN_TRASH: {"pageId": task_id(2), "properties": {"Points": 3}},
        f"{Scene.OTHERWISE}: out of the trash": {"pageId": task_id(2), "in_trash": "false"},
        f"{Scene.OTHERWISE}: its icon": {"pageId": PLAN, "icon": "🚀"},
        NOT_SHARED: {"pageId": SALARIES, "archived": True},
        Scene.WRONG: {"pageId": PLAN},
        f"{Scene.WRONG}: a database": {"pageId": TASKS, "archived": True},
        f"{Scene.WRONG}: the content": {"pageId": PLAN, "content": "# New"},
        f"{Scene.WRONG}: an icon by its name": {"pageId": PLAN, "icon": "rocket"},
        Scene.HUGE: SceneCall({"pageId": task_id(1), "properties": {"Notes": "x" * 40_000}}, long_rows, brief),
        f"{Scene.DOWN}: somebody else changes it": SceneCall({"pageId": PLAN, "name": "Launch plan 3"}, conflicting),
        f"{Scene.RIGHTS}: to update": SceneCall({"pageId": PLAN, "name": "Launch plan 3"}, reading_alone),
    },
    failing_arguments={"pageId": task_id(2), "icon": "🚀"},
    writes=True,
)
CREATING_ROWS = Case(
    CREATE_ROW,
    {
        Scene.MEANT: {"databaseId": TASKS, "properties": WHOLE_ROW, "content": "**Soon.**"},
        f"{Scene.OTHERWISE}: in one of several data sources": {"databaseId": CUSTOMERS, "properties": {"Name": "x"}},
        f"{Scene.OTHERWISE}: with an option that is new": {"databaseId": LEADS, "Name": "Lyra", "Plan": "Team"},
        NOT_SHARED: {"databaseId": SALARIES, "properties": {"Task": "New"}},
        Scene.WRONG: {"databaseId": TASKS_SOURCE, "properties": ["Task", "New"]},
        f"{Scene.WRONG}: values that do not fit": {"databaseId": TASKS, "properties": WRONG_ROW},
        Scene.HUGE: SceneCall(
            {"databaseId": TASKS, "properties": {"Task": "New", "Notes": "x" * 40_000}, "content": "x" * 60_000},
            transform=brief,
        ),
    },
    failing_arguments={"databaseId": TASKS_SOURCE, "properties": {"Task": "New"}},
    writes=True,
)
UPDATING_ROWS = Case(
    UPDATE_ROW,
    {
        Scene.MEANT: {"pageId": task_id(1), "properties": {"Status": "Done", "Points": 8}},
        f"{Scene.OTHERWISE}: without `properties`": {"pageId": task_id(1), "Status": "Done"},
        f"{Scene.OTHERWISE}: emptied": {"pageId": task_id(1), "properties": {"Due": None, "Tags": [], "Owner": None}},
        NOT_SHARED: {"pageId": SALARIES, "properties": {"Points": 1}},
        Scene.WRONG: {"pageId": task_id(1), "properties": {}},
        f"{Scene.WRONG}: no such option": {"pageId": task_id(1), "properties": {"Status": "Doing"}},
        f"{Scene.WRONG}: no such property": {"pageId": task_id(1), "properties": {"Stat": "Done"}},
        f"{Scene.HUGE}: many related pages": SceneCall(
            {"pageId": task_id(4), "properties": {"Points": 1}}, much_related, ids_counted
        ),
        Scene.HUGE: SceneCall({"pageId": task_id(1), "properties": {"Points": 1}}, long_rows, brief),
    },
    failing_arguments={"pageId": task_id(1), "properties": {"Points": 1}},
    writes=True,
)
APPENDING = Case(
    APPEND,
    {
        Scene.MEANT: {"pageId": PLAN, "content": "## Next\n\n- one\n- two"},
        f"{Scene.OTHERWISE}: Notion's own blocks": {"pageId": PLAN, "children": OWN_BLOCKS},
        f"{Scene.EMPTY}: nothing to add": {"pageId": PLAN, "content": " "},
        f"{Scene.EMPTY}: behind a block that is not there": {"pageId": PLAN, "content": "a", "after": task_id(1)},
        NOT_SHARED: {"pageId": SALARIES, "content": "New"},
        Scene.WRONG: {"pageId": PLAN, "children": []},
        f"{Scene.WRONG}: both": {"pageId": PLAN, "content": "a", "children": OWN_BLOCKS},
        f"{Scene.WRONG}: a database": {"pageId": TASKS, "content": "a"},
        f"{Scene.WRONG}: more blocks than there can be": SceneCall(
            {"pageId": PLAN, "content": "\n\n".join(["Line"] * 2001)}, transform=lines_counted
        ),
        f"{Scene.OTHERWISE}: a list that is too deep": {"pageId": PLAN, "content": FOUR_LEVELS},
        "the page itself": SceneCall({"pageId": PLAN}, tool=READ),
        Scene.HUGE: SceneCall({"pageId": PLAN, "content": "x" * 190_000}, transform=brief),
        f"{Scene.HUGE}: many blocks": SceneCall(
            {"pageId": PLAN, "content": "\n\n".join(["Line"] * 30)}, transform=lines_counted
        ),
        IN_TRASH: SceneCall({"pageId": PLAN, "content": "a"}, trashed(PLAN)),
        f"{Scene.RIGHTS}: to insert": SceneCall({"pageId": WIKI, "content": "a"}, reading_alone),
    },
    failing_arguments={"pageId": PLAN, "content": "New"},
    writes=True,
)


def without_capabilities(notion: Notion, _: str) -> None:
    notion.fake.capabilities.clear()


def blocked(notion: Notion, _: str) -> None:
    notion.fake.rate_limit(seconds=None, reason="public_api_request_blocked")


def at_the_write(fault: Fault) -> Callable[[Notion, str], None]:
    def happens(notion: Notion, tool: str) -> None:
        for _ in range(READS_BEFORE[tool]):
            notion.tenant.inject_fault("api", PASSES)
        notion.tenant.inject_fault("api", fault)

    return happens


def answering(status: int, code: str, text: str, more: Json | None = None) -> Callable[..., None]:
    """After it was carried out."""
    return lambda notion, _: notion.fake.responses_after.append(error(status, code, text, more))


SAVED = {"retry_guidance": "do_not_retry", "committed_resource_id": task_id(5)}
FULL = {"block_limit": {"limit": 1000, "used": 1000}}
TEXTS = ApprovedTexts(
    Notion,
    (READING, SEARCHING, QUERYING, CREATING, UPDATING, CREATING_ROWS, UPDATING_ROWS, APPENDING),
    failures={
        Scene.RIGHTS: without_capabilities,
        Scene.BUSY: lambda notion, _: notion.fake.rate_limit(seconds=45),
        f"{Scene.BUSY}: Notion has blocked the connection": blocked,
    },
    revoked_title="it was removed at Notion",
    lost_responses={
        Scene.LOST: at_the_write(Fault("close", after=True)),
        f"{Scene.LOST}: it is no JSON": at_the_write(NO_JSON),
        f"{Scene.LOST}: it is unavailable, after it has saved": answering(
            503, "service_unavailable", "Notion is unavailable.", SAVED
        ),
        f"{Scene.LOST}: it is unavailable, and nobody knows": answering(
            503, "service_unavailable", "Notion is unavailable."
        ),
        f"{Scene.LOST}: the workspace has no blocks left": answering(
            403, "restricted_resource", "Block limit reached.", FULL
        ),
    },
)
