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
BY_MESSAGE: Mapping[str, str] = {"not found": NOT_FOUND, "could not find": NOT_FOUND, "too complex": TOO_COMPLEX}
BY_WORD: Mapping[str, str] = {
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

    words: frozenset[str]
    """Its code and type as lower-case letters only, because Linear spells them in several ways."""

    said: str
    field: str
    """The field that could not be returned."""

    @classmethod
    def of(cls, error: Json) -> GraphQlError:
        more = error.get("extensions")
        known: Json = more if isinstance(more, dict) else {}
        words = frozenset(_LETTERS.sub("", str(known.get(name, "")).lower()) for name in ("code", "type"))
        said = one_line(str(known.get("userPresentableMessage") or error.get("message") or "no reason given"))
        steps = error.get("path")
        fields = [step for step in steps if isinstance(step, str)] if isinstance(steps, list) else []
        return cls(words, said[:MAX_SHOWN].rstrip("."), (fields or ["something"])[-1][:MAX_SHOWN])


def problems_in(body: object) -> list[GraphQlError]:
    errors = body.get("errors") if isinstance(body, dict) else None
    return [GraphQlError.of(each) for each in objects(errors[:MAX_READ] if isinstance(errors, list) else None)]


def left_out(problems: list[GraphQlError]) -> list[str]:
    """Equal notes are merged and counted."""
    counted = Counter(f"Linear did not return `{each.field}`: {each.said}." for each in problems)
    told = [f"{note} ({times} times)" if times > 1 else note for note, times in counted.most_common(MAX_NOTES)]
    more = len(counted) - len(told)
    return [*told, f"Linear did not return {more} more."] if more else told


def refusal(problem: GraphQlError) -> Verdict:
    words, said = problem.words, problem.said
    if words & TROUBLE:
        return ServerTrouble(f"Linear reported an internal error: {said}.")
    by_message = [text for part, text in BY_MESSAGE.items() if part in said.lower()]
    by_word = [text for word, text in BY_WORD.items() if word in words]
    told = next(iter([*by_message, *by_word]), "Linear refused the request: {}.").format(said)
    return Rejected(told, "invalid_arguments" if words & WRONG_INPUT and not by_message else "upstream_refused")
