"""Notion's names of programming languages."""

from __future__ import annotations

from collections.abc import Mapping

PLAIN = "plain text"
_ALL = (
    "abap|abc|agda|arduino|ascii art|assembly|bash|basic|bnf|c|c#|c++|clojure|coffeescript|coq|css|dart"
    "|dhall|diff|docker|ebnf|elixir|elm|erlang|f#|flow|fortran|gherkin|glsl|go|graphql|groovy|haskell|hcl"
    "|html|idris|java|java/c/c++/c#|javascript|json|julia|kotlin|latex|less|lisp|livescript|llvm ir|lua"
    "|makefile|markdown|markup|mathematica|matlab|mermaid|nix|notion formula|objective-c|ocaml|pascal"
    "|perl|php|plain text|powershell|prolog|protobuf|purescript|python|r|racket|reason|ruby|rust|sass"
    "|scala|scheme|scss|shell|smalltalk|solidity|sql|swift|toml|typescript|vb.net|verilog|vhdl"
    "|visual basic|webassembly|xml|yaml"
)
LANGUAGES = frozenset(_ALL.split("|"))
LANGUAGE_ALIASES: Mapping[str, str] = dict(
    pair.split("=", 1)
    for pair in [
        "js=javascript",
        "jsx=javascript",
        "node=javascript",
        "ts=typescript",
        "tsx=typescript",
        "py=python",
        "python3=python",
        "rb=ruby",
        "rs=rust",
        "kt=kotlin",
        "golang=go",
        "cs=c#",
        "csharp=c#",
        "cpp=c++",
        "cc=c++",
        "objc=objective-c",
        "hs=haskell",
        "pl=perl",
        "ex=elixir",
        "sh=shell",
        "zsh=shell",
        "console=shell",
        "ps1=powershell",
        "dockerfile=docker",
        "tf=hcl",
        "yml=yaml",
        "md=markdown",
        "tex=latex",
        "make=makefile",
        "asm=assembly",
        "wasm=webassembly",
        "jsonc=json",
        "json5=json",
        "postgres=sql",
        "postgresql=sql",
        "mysql=sql",
        "patch=diff",
    ]
)


def language(info: str) -> str:
    """Plain text for an unknown language: Notion would reject the whole request."""
    name = (info.split() or [""])[0].lower()
    name = LANGUAGE_ALIASES.get(name, name)
    return name if name in LANGUAGES else PLAIN
