"""What is told of one issue that is read: all that a person sees on its page, long texts part by part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from integrations.linear.lines import bulleted, day, joined, lined, written
from integrations.linear.shapes import LONGEST_TITLE, Issue, Item, Name, Shape, ShortIssue, nodes
from integrations.reading import objects, one_line, shortened
from integrations.tool import Result

Json = dict[str, Any]

PART, LONGEST_COMMENT = 12_000, 3_000
RELATIONS: Mapping[str, tuple[str, str]] = {
    "blocks": ("blocks", "blocked by"),
    "duplicate": ("duplicate of", "duplicated by"),
    "related": ("related to", "related to"),
    "similar": ("similar to", "similar to"),
}


class Comment(Item):
    id: str
    author: str = "somebody"
    body: str
    url: str | None = None
    created_at: str | None = None
    resolved_at: str | None = None
    reply_to: str | None = Field(default=None, description="The id of the comment that it answers.")
    is_cut: bool = Field(default=False, description="`body` is only its beginning: follow `url` for the rest.")

    def text(self) -> str:
        when = (self.created_at or "")[:16].replace("T", " ")
        marks = joined("a reply" if self.reply_to else None, "resolved" if self.resolved_at else None)
        cut = f"\n(Cut. The rest: {self.url})" if self.is_cut else ""
        return f"[{when}] {self.author}{f' ({marks})' if marks else ''}: {self.body}{cut}"


class Relation(ShortIssue):
    relation: str = Field(description="What this issue is to the other: blocks, blocked by, duplicate of, related to …")

    def text(self) -> str:
        return f"{self.relation} {super().text()}"


class Attachment(Shape):
    title: str
    url: str
    subtitle: str | None = None
    source: str | None = Field(default=None, validation_alias="sourceType", description="Such as github or slack.")

    def text(self) -> str:
        what = joined(one_line(self.title), one_line(self.subtitle), self.source)
        return f"{shortened(what, LONGEST_TITLE)}: {self.url}"


class WholeIssue(Issue):
    description: str | None = Field(default=None, description="Markdown; of a long one the part that was asked for.")
    next_description_from: int | None = Field(default=None, description="Where the rest of the description begins.")
    creator: str | None = None
    delegate: Name = None
    milestone: Annotated[Name, Field(validation_alias="projectMilestone")] = None
    branch_name: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    canceled_at: str | None = None
    trashed: bool | None = None
    children: Annotated[list[ShortIssue], BeforeValidator(nodes)] = Field(default=[])
    relations: list[Relation] = Field(default=[])
    attachments: Annotated[list[Attachment], BeforeValidator(nodes)] = Field(default=[])
    comments: list[Comment] = Field(default=[], description="The latest first.")

    @property
    def is_part(self) -> bool:
        """More of what was not told at once, without what was."""
        return self.created_at is None

    def text(self) -> str:
        title = f"{self.identifier}: {shortened(one_line(self.title), LONGEST_TITLE)}"
        comments = "\n\n".join(comment.text() for comment in self.comments)
        parts = (
            lined(title, *([self.url] if self.is_part else self._lines())),
            self._described(),
            bulleted("Sub-issues", (child.text() for child in self.children)),
            bulleted("Relations", (relation.text() for relation in self.relations)),
            bulleted("Attachments", (attachment.text() for attachment in self.attachments)),
            f"Comments, the latest first:\n\n{comments}" if comments else None,
            written(self.full),
        )
        return "\n\n".join(part for part in parts if part)

    def _described(self) -> str | None:
        if not self.description:
            return None if self.is_part else "No description."
        more = f"\n(It goes on: `descriptionFrom` {self.next_description_from}.)" if self.next_description_from else ""
        return f"Description:\n{self.description}{more}"

    def _lines(self) -> list[str | None]:
        team = f"team {self.team.name} ({self.team.key})" if self.team else None
        dates = joined(
            f"created {day(self.created_at)}{f' by {self.creator}' if self.creator else ''}",
            f"started {day(self.started_at)}" if self.started_at else None,
            f"completed {day(self.completed_at)}" if self.completed_at else None,
            f"canceled {day(self.canceled_at)}" if self.canceled_at else None,
            "in the trash" if self.trashed else None,
        )
        more = joined(
            f"milestone {self.milestone}" if self.milestone else None,
            f"estimate {self.estimate:g}" if self.estimate is not None else None,
            f"delegated to {self.delegate}" if self.delegate else None,
            f"branch {self.branch_name}" if self.branch_name else None,
        )
        state = self.state.text() if self.state else None
        return [joined(state, team), self.facts, more, dates, self.url]


class IssueAnswer(Result):
    issue: WholeIssue
    has_more: bool = Field(default=False, description="Whether there are more comments.")
    next_cursor: str | None = Field(default=None, description="Pass it as `after` for the comments before those.")
    notes: list[str] = Field(default=[], description="What is particular about this answer.")

    def text(self) -> str:
        more = f'More comments: the same arguments and `after` "{self.next_cursor}".' if self.next_cursor else None
        return "\n\n".join(part for part in (*self.notes, self.issue.text(), more) if part)


def comment(node: Json) -> Json:
    """A comment is of a person, of a bot, or of somebody who is in no workspace of Linear's."""
    body = str(node.get("body") or "")
    parent = node.get("parent")
    return {
        **node,
        "author": author(node, "user", "botActor", "externalUser") or "somebody",
        "replyTo": parent.get("id") if isinstance(parent, dict) else None,
        "body": body[:LONGEST_COMMENT],
        "isCut": len(body) > LONGEST_COMMENT,
    }


def author(node: Json, *fields: str) -> str | None:
    found = (node.get(field) for field in fields)
    return next((each["name"] for each in found if isinstance(each, dict) and each.get("name")), None)


def relations(node: Json) -> list[Json]:
    ways = (("relations", "relatedIssue", 0), ("inverseRelations", "issue", 1))
    found = []
    for connection, field, way in ways:
        for each in objects(nodes(node.get(connection))):
            word = RELATIONS.get(str(each.get("type")), (str(each.get("type")),) * 2)[way]
            if each.get(field):
                found.append({**each[field], "relation": word})
    return found


def part_of(text: str | None, start: int) -> tuple[str | None, int | None]:
    """And where the next one begins."""
    if not text:
        return None, None
    end = start + PART
    return text[start:end], end if end < len(text) else None
