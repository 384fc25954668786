"""The errors of a GraphQL response, and the failure and text for each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from integrations.json_object import Json
from integrations.service_client import Rejected, ServerTrouble, Verdict
from integrations.text import objects, one_line

MAX_SHOWN = 300
MAX_NOTES = 5
MAX_READ = 200
ADMIN = "A workspace admin can give the app access to more teams on its details page in Linear's settings."
LOOK = "Find it with `linear_search_issues` or `linear_list_issues`."
_LETTERS = re.compile(r"[^a-z]")

BUSY = frozenset({"ratelimited"})
UNKNOWN_TOKEN = frozenset({"authenticationerror"})
TROUBLE = frozenset({"internalservererror", "internalerror", "networkerror", "bootstraperror", "locktimeout"})
WRONG_INPUT = frozenset({"inputerror", "invalidinput", "usererror"})
NOT_FOUND = f"It does not exist in Linear, or the app has no access to its team: {{}}. {LOOK} {ADMIN}"
TOO_COMPLEX = "The query is too large for Linear: {}. Ask for less with a smaller `first`."
TEXT_BY_MESSAGE: Mapping[str, str] = {"not found": NOT_FOUND, "could not find": NOT_FOUND, "too complex": TOO_COMPLEX}
TEXT_BY_CODE: Mapping[str, str] = {
    "forbidden": f"Linear does not let the app see this: {{}}. {ADMIN}",
    **dict.fromkeys(
        ("featurenotaccessible", "usagelimitexceeded"), "The plan of the Linear workspace does not allow this: {}."
    ),
    **dict.fromkeys(
        ("graphqlerror", "graphqlvalidationfailed", "graphqlparsefailed"),
        "Linear did not accept the query: {}. Its API may have changed; report this to the operator.",
    ),
    **dict.fromkeys(WRONG_INPUT, "Linear did not accept the arguments: {}."),
}


@dataclass(frozen=True, slots=True)
class GraphQlError:
    """One error of a GraphQL response."""

    codes: frozenset[str]
    """Its code and type as lower-case letters only, because Linear spells them in several ways."""

    message: str
    field: str
    """The field that could not be returned."""

    @classmethod
    def of(cls, error: Json) -> GraphQlError:
        extensions = error.get("extensions")
        details: Json = extensions if isinstance(extensions, dict) else {}
        codes = frozenset(_LETTERS.sub("", str(details.get(name, "")).lower()) for name in ("code", "type"))
        message = one_line(str(details.get("userPresentableMessage") or error.get("message") or "no reason given"))
        path = error.get("path")
        fields = [step for step in path if isinstance(step, str)] if isinstance(path, list) else []
        return cls(codes, message[:MAX_SHOWN].rstrip("."), (fields or ["something"])[-1][:MAX_SHOWN])


def problems_in(body: object) -> list[GraphQlError]:
    errors = body.get("errors") if isinstance(body, dict) else None
    return [GraphQlError.of(error) for error in objects(errors[:MAX_READ] if isinstance(errors, list) else None)]


def missing_field_notes(problems: list[GraphQlError]) -> list[str]:
    """Equal notes are merged and counted."""
    counts = Counter(f"Linear did not return `{problem.field}`: {problem.message}." for problem in problems)
    notes = [f"{note} ({times} times)" if times > 1 else note for note, times in counts.most_common(MAX_NOTES)]
    more = len(counts) - len(notes)
    return [*notes, f"Linear did not return {more} more."] if more else notes


def refusal(problem: GraphQlError) -> Verdict:
    codes, message = problem.codes, problem.message
    if codes & TROUBLE:
        return ServerTrouble(f"Linear reported an internal error: {message}.")
    by_message = [text for part, text in TEXT_BY_MESSAGE.items() if part in message.lower()]
    by_code = [text for code, text in TEXT_BY_CODE.items() if code in codes]
    text = next(iter([*by_message, *by_code]), "Linear refused the request: {}.").format(message)
    return Rejected(text, "invalid_arguments" if codes & WRONG_INPUT and not by_message else "upstream_refused")
