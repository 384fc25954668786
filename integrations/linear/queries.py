"""The GraphQL queries. All inner connections are bounded, because the cost of a query grows with them."""

from __future__ import annotations

from collections.abc import Sequence

PAGE_INFO = "pageInfo { hasNextPage endCursor }"
STATE = "state { name type }"
SHORT_ISSUE = f"id identifier title url {STATE}"

TEAM = """
  id key name description visibility parent { id name }
  activeCycle { number name startsAt endsAt }
  states(first: 20) { nodes { id name type position } }
"""
MORE_OF_A_TEAM = """
  displayName color icon timezone createdAt updatedAt archivedAt retiredAt cyclesEnabled cycleDuration cycleStartDay
  triageEnabled issueEstimationType defaultIssueEstimate issueCount upcomingCycleCount
  defaultIssueState { id name } members(first: 50) { nodes { id name displayName active } }
  labels(first: 50) { nodes { id name color } }
"""
PROJECT = """
  id slugId name description url priorityLabel status { name type } health progress startDate targetDate updatedAt
  lead { id name } teams(first: 10) { nodes { id key name } }
"""
MORE_OF_A_PROJECT = """
  content priority color icon scope createdAt startedAt completedAt canceledAt archivedAt trashed healthUpdatedAt
  creator { id name } members(first: 20) { nodes { id name displayName } }
  labels(first: 20) { nodes { id name } }
  projectMilestones(first: 20) { nodes { id name description targetDate progress status } }
  initiatives(first: 10) { nodes { id name } } externalLinks(first: 20) { nodes { label url } }
  lastUpdate { id body health createdAt url user { id name } }
"""
ISSUE = f"""
  {SHORT_ISSUE} priorityLabel dueDate estimate createdAt updatedAt archivedAt
  team {{ id key name }} assignee {{ id name }} project {{ id name }} parent {{ id identifier }}
  cycle {{ number name }} labels(first: 10) {{ nodes {{ id name }} }}
"""
MORE_OF_AN_ISSUE = """
  description number priority branchName previousIdentifiers trashed startedAt completedAt canceledAt triagedAt
  autoArchivedAt autoClosedAt snoozedUntilAt slaBreachesAt slaType sortOrder customerTicketCount
  integrationSourceType creator { id name } delegate { id name } botActor { name type } externalUserCreator { name }
  projectMilestone { id name targetDate } subscribers(first: 20) { nodes { id name } }
"""
STATUSES = "query Statuses { projectStatuses(first: 50) { nodes { name } } }"
OF_NAMES = {"team": "name key", "cycle": "name number", "issue": "name: title"}
PERSONS = "user { id name } botActor { name } externalUser { name }"
DETAILS = f"""
  description branchName startedAt completedAt canceledAt trashed
  creator {{ id name }} delegate {{ id name }} botActor {{ name }} externalUserCreator {{ name }}
  projectMilestone {{ id name }}
  children(first: 30) {{ nodes {{ {SHORT_ISSUE} }} pageInfo {{ hasNextPage }} }}
  relations(first: 15) {{ nodes {{ type relatedIssue {{ {SHORT_ISSUE} }} }} pageInfo {{ hasNextPage }} }}
  inverseRelations(first: 15) {{ nodes {{ type issue {{ {SHORT_ISSUE} }} }} pageInfo {{ hasNextPage }} }}
  attachments(first: 25) {{ nodes {{ title subtitle url sourceType }} pageInfo {{ hasNextPage }} }}
  comments(first: $comments, after: $after) {{
    edges {{ cursor node {{ id body url createdAt resolvedAt parent {{ id }} {PERSONS} }} }}
    {PAGE_INFO}
  }}
"""


def teams(*, full: bool) -> str:
    page = _page("teams", "first: $first, after: $after, filter: $filter", TEAM, MORE_OF_A_TEAM if full else "")
    return f"query Teams($first: Int!, $after: String, $filter: TeamFilter) {{ {page} organization {{ urlKey }} }}"


def projects(*, full: bool) -> str:
    variables = "$first: Int!, $after: String, $filter: ProjectFilter, $includeArchived: Boolean"
    arguments = "first: $first, after: $after, filter: $filter, includeArchived: $includeArchived, orderBy: updatedAt"
    page = _page("projects", arguments, PROJECT, MORE_OF_A_PROJECT if full else "")
    return f"query Projects({variables}) {{ {page} }}"


def issues(*, full: bool) -> str:
    variables = (
        "$first: Int!, $after: String, $filter: IssueFilter, $orderBy: PaginationOrderBy, $includeArchived: Boolean"
    )
    arguments = "first: $first, after: $after, filter: $filter, orderBy: $orderBy, includeArchived: $includeArchived"
    return f"query Issues({variables}) {{ {_page('issues', arguments, ISSUE, MORE_OF_AN_ISSUE if full else '')} }}"


def search(*, full: bool) -> str:
    variables = (
        "$term: String!, $first: Int!, $after: String, $filter: IssueFilter, $includeComments: Boolean, "
        "$includeArchived: Boolean"
    )
    arguments = (
        "term: $term, first: $first, after: $after, filter: $filter, includeComments: $includeComments, "
        "includeArchived: $includeArchived"
    )
    page = _page("searchIssues", arguments, ISSUE, MORE_OF_AN_ISSUE if full else "description", "totalCount")
    return f"query Search({variables}) {{ {page} }}"


def issue(*, full: bool) -> str:
    fields = f"{ISSUE} {DETAILS} {MORE_OF_AN_ISSUE if full else ''}"
    return f"query Issue($id: String!, $comments: Int!, $after: String) {{ issue(id: $id) {{ {fields} }} }}"


def names(lookups: Sequence[tuple[str, str, str, str]]) -> str:
    """A query for names and similar names. Each entry: alias, kind, connection, type of its filter."""
    variables = ", ".join(f"${alias}: {kind}, ${alias}Like: {kind}" for alias, _, _, kind in lookups)
    selections = (_names(alias, connection, OF_NAMES.get(what, "name")) for alias, what, connection, _ in lookups)
    return f"query Names({variables}) {{ {' '.join(selections)} }}"


def _names(alias: str, connection: str, fields: str) -> str:
    return (
        f"{alias}: {connection}(first: 1, filter: ${alias}) {{ nodes {{ {fields} }} }} "
        f"{alias}Like: {connection}(first: 50, filter: ${alias}Like) {{ nodes {{ {fields} }} }}"
    )


def _page(connection: str, arguments: str, fields: str, more: str, siblings: str = "") -> str:
    return f"{connection}({arguments}) {{ edges {{ cursor node {{ {fields} {more} }} }} {PAGE_INFO} {siblings} }}"
