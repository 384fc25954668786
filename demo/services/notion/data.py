"""Data of the Notion demo workspace: the pages and databases of a small company."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from demo.services.notion.store import ADA, GRACE, Json, Store, id_of, rich, user

WIKI, GUIDE, SALARIES, PLAN = id_of("Wiki"), id_of("Guide"), id_of("Salaries"), id_of("Plan")
TASKS, TASKS_SOURCE = id_of("Tasks"), id_of("Tasks", "source")
CUSTOMERS, ACCOUNTS, LEADS = id_of("Customers"), id_of("Customers", "Accounts"), id_of("Customers", "Leads")
WORKSPACE: Json = {"type": "workspace", "workspace": True}
RELATED: Json = {"type": "single_property", "single_property": {}}
RELATED |= {"data_source_id": TASKS_SOURCE, "database_id": TASKS}
STATUS = ("Not started", "In progress", "Done")
TAGS = ("Q4", "Website", "Hiring", "Finance")
WORK: Sequence[tuple[str, str, str | None, tuple[str, ...], int | None]] = (
    ("Write the launch announcement", "In progress", "2026-11-20", ("Q4", "Website"), 5),
    ("Choose a caterer for the offsite", "Not started", "2026-12-04", (), 2),
    ("Renew the domain", "Done", "2026-11-01", ("Website",), 1),
    ("Interview designers", "In progress", "2026-11-25", ("Hiring",), 8),
    ("Close the books of October", "Done", "2026-11-10", ("Finance", "Q4"), 13),
    ("Translate the pricing page", "Not started", None, ("Website",), 3),
    ("Plan the budget of 2027", "In progress", "2026-12-15", ("Finance", "Q4"), 8),
    ("Answer the security questionnaire", "Not started", "2026-11-30", (), 5),
    ("Order laptops", "Done", "2026-11-12", ("Hiring",), None),
    ("Update the privacy notice", "In progress", "2026-12-01", ("Website",), 2),
    ("Review vendor contracts", "Not started", "2026-12-11", ("Finance",), 5),
    ("Prepare the board meeting", "Not started", "2026-12-18", ("Q4",), 13),
)


def demo_store() -> Store:
    store = Store()
    store.plain_page(WIKI, WORKSPACE, "Company wiki", "2026-11-10T09:30:00.000Z")
    _guide(store)
    _tasks(store)
    _customers(store)
    store.plain_page(PLAN, {"type": "page_id", "page_id": WIKI}, "Launch plan", "2026-11-17T16:00:00.000Z")
    _write(store, PLAN, "paragraph", "Nothing is written here yet.")
    store.plain_page(SALARIES, WORKSPACE, "Salaries")
    store.hidden.add(SALARIES)
    return store


def _write(store: Store, parent: str, kind: str, text: str | list[Json] = "", **more: Any) -> str:
    """The id of the new block."""
    inside = {"rich_text": rich(text), **more} if text else more
    of = id_of("block", parent, str(len(store.children.get(parent, ()))))
    created: str = store.block(parent, {"type": kind, kind: inside}, of=of)["id"]
    return created


def _marked(text: str, url: str | None = None, **marks: bool) -> Json:
    link = {"link": {"url": url}} if url else {}
    return {"type": "text", "text": {"content": text, **link}, "annotations": marks}


def _guide(store: Store) -> None:
    store.plain_page(GUIDE, {"type": "page_id", "page_id": WIKI}, "Onboarding guide", "2026-11-12T14:00:00.000Z")
    _write(store, GUIDE, "heading_1", "Welcome")
    words = [_marked("Read this in your "), _marked("first week", bold=True), _marked(". Questions go to ")]
    mention: Json = {"type": "mention", "mention": {"type": "user", "user": user(ADA)}, "plain_text": "@Ada Lovelace"}
    _write(store, GUIDE, "paragraph", [*words, mention, _marked(".")])
    _write(store, GUIDE, "callout", "Your laptop comes on day one.", icon={"type": "emoji", "emoji": "💻"})
    _write(store, GUIDE, "heading_2", "Day one")
    _write(store, GUIDE, "to_do", "Sign the contract", checked=True)
    accounts = _write(store, GUIDE, "to_do", "Get your accounts", checked=False)
    for name in ("Mail", "Calendar"):
        _write(store, accounts, "bulleted_list_item", name)
    code = _write(store, accounts, "bulleted_list_item", "Code")
    _write(store, code, "paragraph", [_marked("ask for "), _marked("write", code=True), _marked(" rights")])
    _write(store, GUIDE, "heading_2", "How we work")
    for text in ("Write it down", "Ship it", "Tell somebody"):
        _write(store, GUIDE, "numbered_list_item", text)
    more = _write(store, GUIDE, "toggle", "Why so?")
    _write(store, more, "quote", "What is not written down did not happen.")
    _table(store)
    _write(store, GUIDE, "code", "make install\nmake test", language="shell", caption=[])
    site = [_marked("The handbook", url="https://handbook.acme.example.com"), _marked(" knows the rest.")]
    _write(store, GUIDE, "paragraph", site)
    _write(store, GUIDE, "divider")
    _write(store, GUIDE, "image", type="external", external={"url": "https://acme.example.com/map.png"}, caption=[])
    _write(store, GUIDE, "unsupported")


def _table(store: Store) -> None:
    table = _write(store, GUIDE, "table", table_width=2, has_column_header=True, has_row_header=False)
    for row in (("Who", "What"), ("Ada", "Engines"), ("Grace", "Compilers | bugs")):
        _write(store, table, "table_row", cells=[rich(cell) for cell in row])


def _options(*names: str) -> list[Json]:
    return [_select_value(name) | {"description": None} for name in names]


def _select_value(name: str) -> Json:
    return {"id": f"option-{name}", "name": name, "color": "default"}


def property_of(of: str, kind: str, **inside: Any) -> Json:
    return {"id": of, "name": "", "description": None, "type": kind, kind: inside}


def _properties_by_name(properties: Json) -> Json:
    return {name: item | {"name": name} for name, item in properties.items()}


def _tasks(store: Store) -> None:
    store.database(TASKS, {"type": "page_id", "page_id": WIKI}, "Tasks", {TASKS_SOURCE: "Tasks"})
    properties = _properties_by_name(
        {
            "Task": property_of("title", "title"),
            "Status": property_of("st%3A1", "status", options=_options(*STATUS), groups=[]),
            "Due": property_of("du%3B2", "date"),
            "Tags": property_of("tg%3C3", "multi_select", options=_options(*TAGS)),
            "Points": property_of("pt%3D4", "number", format="number"),
            "Owner": property_of("ow%3E5", "people"),
            "Urgent": property_of("ur%3F6", "checkbox"),
            "Notes": property_of("nt%407", "rich_text"),
            "Link": property_of("ln%418", "url"),
            "Blocks": property_of("bl%429", "relation", **RELATED),
            "No.": property_of("no%430", "unique_id", prefix="TASK"),
            "Last change": property_of("lc%441", "last_edited_time"),
        }
    )
    store.data_source(TASKS_SOURCE, TASKS, "Tasks", properties)
    for number, work in enumerate(WORK, start=1):
        _task(store, number, *work)


def task_id(number: int) -> str:
    return id_of("Tasks", str(number))


def _task(
    store: Store, number: int, title: str, status: str, due: str | None, tags: Sequence[str], points: int | None
) -> None:
    edited = f"2026-11-{number:02}T10:00:00.000Z"
    owner = ADA if number % 2 else GRACE
    values: Json = {
        "Task": ("title", "title", rich(title)),
        "Status": ("st%3A1", "status", _select_value(status)),
        "Due": ("du%3B2", "date", due and {"start": due, "end": None, "time_zone": None}),
        "Tags": ("tg%3C3", "multi_select", [_select_value(tag) for tag in tags]),
        "Points": ("pt%3D4", "number", points),
        "Owner": ("ow%3E5", "people", [user(owner)]),
        "Urgent": ("ur%3F6", "checkbox", number in (1, 8)),
        "Notes": ("nt%407", "rich_text", rich("Ask Grace first.") if number == 1 else []),
        "Link": ("ln%418", "url", "https://acme.example.com/launch" if number == 1 else None),
        "Blocks": ("bl%429", "relation", [{"id": task_id(3)}] if number == 1 else []),
        "No.": ("no%430", "unique_id", {"prefix": "TASK", "number": number}),
        "Last change": ("lc%441", "last_edited_time", edited),
    }
    properties = {name: {"id": of, "type": kind, kind: value} for name, (of, kind, value) in values.items()}
    parent = {"type": "data_source_id", "data_source_id": TASKS_SOURCE, "database_id": TASKS}
    store.page(task_id(number), parent, properties, edited)


def _customers(store: Store) -> None:
    store.database(CUSTOMERS, {"type": "page_id", "page_id": WIKI}, "Customers", {ACCOUNTS: "Accounts", LEADS: "Leads"})
    for of, name in ((ACCOUNTS, "Accounts"), (LEADS, "Leads")):
        columns = {"Name": property_of("title", "title"), "Plan": property_of("pl", "select", options=_options("Free"))}
        store.data_source(of, CUSTOMERS, name, _properties_by_name(columns))
    for of, name in ((ACCOUNTS, "Borealis Ltd"), (LEADS, "Cassiopeia GmbH")):
        values: Json = {
            "Name": {"id": "title", "type": "title", "title": rich(name)},
            "Plan": {"id": "pl", "type": "select", "select": _select_value("Free")},
        }
        parent = {"type": "data_source_id", "data_source_id": of, "database_id": CUSTOMERS}
        store.page(id_of("Customers", name), parent, values, "2026-11-05T10:00:00.000Z")
