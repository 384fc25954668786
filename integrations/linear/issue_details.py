"""One issue with everything that its page shows. Long texts come part by part."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field

from integrations.json_object import Json
from integrations.linear.rendering import bullet_list, day, entry, indent, join_facts, json_line
from integrations.linear.results import Issue, LinearModel, ListItem, Name, OneLine, ShortIssue, Url, nodes
from integrations.text import more_follow, objects, one_line
from integrations.tool import Result

PART, LONGEST_COMMENT = 12_000, 3_000
FEW, LONGEST_OF_FEW = 3, 15_000
RELATIONS: Mapping[str, tuple[str, str]] = {
    "blocks": ("blocks", "blocked by"),
    "duplicate": ("duplicate of", "duplicated by"),
    "related": ("related to", "related to"),
    "similar": ("similar to", "similar to"),
}


class Comment(ListItem):
    id: str
    author: OneLine = "somebody"
    body: str
    url: Url | None = None
    created_at: str | None = None
    resolved_at: str | None = None
    reply_to: str | None = Field(default=None, description="The id of the comment that it replies to.")
    is_cut: bool = Field(default=False, description="`body` is only the beginning; `rest` says how to read the rest.")
    rest: str | None = None

    def text(self) -> str:
        when = one_line(self.created_at)[:16].replace("T", " ")
        marks = join_facts("a reply" if self.reply_to else None, "resolved" if self.resolved_at else None)
        cut = f"\n  ({self.rest})" if self.rest else ""
        return f"[{when} UTC] {self.author}{f' ({marks})' if marks else ''}: {indent(self.body)}{cut}"


class Relation(ShortIssue):
    relation: OneLine = Field(
        description="How the issue that was read relates to this one: blocks, blocked by, duplicate of, related to …"
    )

    def text(self) -> str:
        return f"{self.relation} {super().text()}"


class Attachment(LinearModel):
    title: OneLine
    url: Url
    subtitle: Name = None
    source: Name = Field(default=None, validation_alias="sourceType", description="Such as github or slack.")

    def text(self) -> str:
        return f"{join_facts(self.title, self.subtitle, self.source)}: {self.url}"


class WholeIssue(Issue):
    description: str | None = Field(default=None, description="Markdown; a long description comes in parts.")
    next_description_from: int | None = Field(
        default=None, description="Pass it as `descriptionFrom` for the next part of the description."
    )
    creator: Name = None
    delegate: Name = None
    milestone: Annotated[Name, Field(validation_alias="projectMilestone")] = None
    branch_name: Name = None
    started_at: str | None = None
    completed_at: str | None = None
    canceled_at: str | None = None
    trashed: bool | None = None
    children: Annotated[list[ShortIssue], BeforeValidator(nodes)] = Field(default=[])
    relations: list[Relation] = Field(default=[])
    attachments: Annotated[list[Attachment], BeforeValidator(nodes)] = Field(default=[])
    comments: list[Comment] = Field(default=[], description="Latest first.")

    @property
    def is_part(self) -> bool:
        """Whether this is a continuation, without the fields already returned."""
        return self.created_at is None

    def text(self) -> str:
        title = f"{self.identifier}: {self.title}"
        comments = "\n\n".join(comment.text() for comment in self.comments)
        paragraphs = (
            entry(title, *([self.url] if self.is_part else self._lines())),
            self._description_text(),
            bullet_list("Sub-issues", (child.text() for child in self.children)),
            bullet_list("Relations", (relation.text() for relation in self.relations)),
            bullet_list("Attachments", (attachment.text() for attachment in self.attachments)),
            f"Comments, latest first:\n\n{comments}" if comments else None,
            json_line(self.full),
        )
        return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)

    def _description_text(self) -> str | None:
        if not self.description:
            return None if self.is_part else "No description."
        more = f"\n(To read on: `descriptionFrom` {self.next_description_from}.)" if self.next_description_from else ""
        return f"Description:\n  {indent(self.description)}{more}"

    def _lines(self) -> list[str | None]:
        team = f"team {self.team.name} ({self.team.key})" if self.team else None
        dates = join_facts(
            f"created {day(self.created_at)}{f' by {self.creator}' if self.creator else ''}",
            f"started {day(self.started_at)}" if self.started_at else None,
            f"completed {day(self.completed_at)}" if self.completed_at else None,
            f"canceled {day(self.canceled_at)}" if self.canceled_at else None,
            "in the trash" if self.trashed else None,
        )
        more = join_facts(
            f"milestone {self.milestone}" if self.milestone else None,
            f"estimate {self.estimate:g}" if self.estimate is not None else None,
            f"delegated to {self.delegate}" if self.delegate else None,
            f"branch {self.branch_name}" if self.branch_name else None,
        )
        state = self.state.text() if self.state else None
        return [join_facts(state, team), self.facts(with_creation=False), more, dates, self.url]


class IssueAnswer(Result):
    issue: WholeIssue
    has_more: bool = Field(default=False, description="Whether there are more comments.")
    next_cursor: str | None = Field(default=None, description="Pass it as `after` for older comments.")
    notes: list[str] = Field(default=[], description="Remarks about this result, such as what it leaves out.")

    def text(self) -> str:
        more = more_follow("after", self.next_cursor) if self.next_cursor else None
        return "\n\n".join(part for part in (self.issue.text(), *self.notes, more) if part)


def with_preceding_cursors(connection: object, after: str | None) -> object:
    """Add to each comment the cursor after which it comes first."""
    edges = objects(connection.get("edges")) if isinstance(connection, dict) else []
    cursors = [after, *(edge.get("cursor") for edge in edges)]
    new_edges = [_with_cursor(edge, cursor) for edge, cursor in zip(edges, cursors, strict=False)]
    return {**connection, "edges": new_edges} if isinstance(connection, dict) else connection


def _with_cursor(edge: Json, cursor: object) -> Json:
    node = edge.get("node")
    return {**edge, "node": {**node, "precedingCursor": cursor}} if isinstance(node, dict) else edge


def comment(node: Json, first: int) -> Json:
    """The author may be a user, a bot or an external user."""
    body, parent = str(node.get("body") or ""), node.get("parent")
    longest = LONGEST_COMMENT if first > FEW else LONGEST_OF_FEW
    return {
        **node,
        "author": author(node, "user", "botActor", "externalUser") or "somebody",
        "replyTo": parent.get("id") if isinstance(parent, dict) else None,
        "body": body[:longest],
        "isCut": len(body) > longest,
        "rest": _rest(node, len(body), longest) if len(body) > longest else None,
    }


def _rest(node: Json, length: int, longest: int) -> str:
    shown = f"{longest:,} of {length:,} characters."
    if longest == LONGEST_OF_FEW:
        return f"{shown} The rest: {one_line(node.get('url'))}"
    cursor = node.get("precedingCursor")
    after = f" and `after` {json.dumps(cursor)}" if cursor else " and no `after`"
    return f"{shown} To read {'all' if length <= LONGEST_OF_FEW else 'more'} of it: `first` 1{after}."


def author(node: Json, *fields: str) -> str | None:
    authors = (node.get(field) for field in fields)
    return next(
        (candidate["name"] for candidate in authors if isinstance(candidate, dict) and candidate.get("name")), None
    )


def relations(node: Json) -> list[Json]:
    directions = (("relations", "relatedIssue", 0), ("inverseRelations", "issue", 1))
    related = []
    for field_name, field, direction in directions:
        for relation in objects(nodes(node.get(field_name))):
            word = RELATIONS.get(str(relation.get("type")), (str(relation.get("type")),) * 2)[direction]
            if relation.get(field):
                related.append({**relation[field], "relation": word})
    return related


def part_of(text: str | None, start: int) -> tuple[str | None, int | None]:
    """The part from `start`, and the offset of the next part."""
    if not text:
        return None, None
    end = start + PART
    return text[start:end], end if end < len(text) else None
