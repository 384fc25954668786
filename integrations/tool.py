"""A service's tool: its schemas and its validation are derived from its parameter and result models."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, ClassVar, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic.json_schema import GenerateJsonSchema

from integrations.argument_coercion import ParameterForm, parameter_forms, plain_name
from integrations.argument_errors import error_sentence
from integrations.json_object import Json

MAX_PROBLEMS = 8
BEYOND = "A number is too large, or lists are nested too deeply."


class Params(BaseModel):
    """The parameters of a tool. Small mistakes are accepted: another spelling of a name, a number as text."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        coerce_numbers_to_str=True,
        str_strip_whitespace=True,
        hide_input_in_errors=True,
    )
    aliases: ClassVar[Mapping[str, str]] = {}
    """Other names of parameters, such as `channel` for `channelId`, in plain spelling."""

    @model_validator(mode="before")
    @classmethod
    def _normalise(cls, args: object) -> object:
        if not isinstance(args, dict):
            return args
        names = {plain_name(alias): to_camel(name) for alias, name in cls.aliases.items()}
        names |= {plain_name(name): name for name in map(to_camel, cls.model_fields)}
        forms, values = _forms(cls), Json()
        for key, value in args.items():
            if value is None:  # models send null for a parameter that they omit
                continue
            name = names.get(plain_name(str(key)), str(key))
            values.setdefault(name, forms[name].coerce(value) if name in forms else value)
        return values


@cache
def _forms(params: type[Params]) -> dict[str, ParameterForm]:
    return parameter_forms(params.model_json_schema())


class Result(BaseModel):
    """The result of a tool: structured for programs, and as text for a model."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    def text(self) -> str:
        raise NotImplementedError

    def structured(self) -> Json:
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


Run = Callable[[Any, Any], Awaitable[Result]]


@dataclass(frozen=True)
class ServiceTool:
    name: str
    title: str
    description: str
    writes: bool
    params: type[Params]
    result: type[Result]
    run: Run = field(repr=False)
    """Called with the service's client and the parameters."""

    repeatable: bool = False
    """Repeating a call has no further effect."""

    destroys: bool = False

    def parse(self, args: object) -> Params | list[str]:
        """The parsed parameters, or sentences that state how to correct the arguments."""
        try:
            return self.params.model_validate(args)
        except (ArithmeticError, RecursionError):
            return [BEYOND]
        except ValidationError as error:
            problems = error.errors(include_url=False, include_input=False)[:MAX_PROBLEMS]
            return [error_sentence(problem, self.params) for problem in problems]

    @cached_property
    def mcp_definition(self) -> Json:
        """The tool as in MCP's `tools/list`."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": _plain_schema(self.params.model_json_schema(schema_generator=_Untitled)),
            "outputSchema": _plain_schema(
                self.result.model_json_schema(schema_generator=_Untitled, mode="serialization")
            ),
            "annotations": {
                "title": self.title,
                "readOnlyHint": not self.writes,
                "destructiveHint": self.destroys,
                "idempotentHint": self.repeatable or not self.writes,
                "openWorldHint": True,
            },
        }


class _Untitled(GenerateJsonSchema):
    """Generates no titles: they only repeat the names of parameters."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002
        return False


def _plain_schema(schema: Json) -> Json:
    for part in (schema, *schema.get("$defs", {}).values()):
        part.pop("title", None)
        for name, field_schema in part.get("properties", {}).items():
            part["properties"][name] = _without_null(field_schema)
    return schema


def _without_null(schema: Json) -> Json:
    """The schema without `null`: an optional parameter is omitted instead."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) != 1:
        return schema
    rest = {name: value for name, value in schema.items() if name != "anyOf" and (name, value) != ("default", None)}
    return {**choices[0], **rest}


ToolFunction = TypeVar("ToolFunction", bound=Callable[..., Awaitable[Result]])


def tool(
    title: str, *, writes: bool = False, repeatable: bool = False, destroys: bool = False
) -> Callable[[ToolFunction], ServiceTool]:
    """Decorate `async def notion_read(api: Api, params: ReadPage) -> Page`; its docstring is the tool's description."""

    def decorate(run: ToolFunction) -> ServiceTool:
        hints = get_type_hints(run)
        params_type = [hints[name] for name in inspect.signature(run).parameters][1]
        description = inspect.cleandoc(run.__doc__ or "")
        return ServiceTool(
            run.__name__,
            title,
            description,
            writes,
            params_type,
            hints["return"],
            run,
            repeatable=repeatable,
            destroys=destroys,
        )

    return decorate
