"""The modules of the project, parsed, and what each imports."""

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Module:
    name: str
    path: str
    source: str
    is_package: bool = False

    @property
    def tree(self) -> ast.Module:
        return parsed(self.source)


@cache
def parsed(source: str) -> ast.Module:
    """Parsed once for all the rules that look at a file."""
    return ast.parse(source)


def modules(*folders: str) -> list[Module]:
    files = (file for folder in folders for file in sorted((PROJECT / folder).rglob("*.py")))
    return [module(file) for file in files if "node_modules" not in file.parts]


@cache
def module(file: Path) -> Module:
    path = file.relative_to(PROJECT)
    parts = path.with_suffix("").parts
    is_package = parts[-1] == "__init__"
    return Module(
        ".".join(parts[:-1] if is_package else parts), str(path), file.read_text(encoding="utf-8"), is_package
    )


def imports(module: Module) -> set[str]:
    """Dotted names as they are imported: `a.b` for `import a.b`, `a.b` and `a.b.c` for `from a.b import c`."""
    result: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            result.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(module, node)
            result.add(source)
            result.update(f"{source}.{alias.name}" for alias in node.names)
    return result


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    above = module.name.split(".")
    above = above[: len(above) - node.level + module.is_package]
    return ".".join([*above, *([node.module] if node.module else [])])


def imported_modules(module: Module, known: Collection[str]) -> set[str]:
    """Of the project's own modules, those that are imported, a package itself where a name of it is."""
    names = imports(module)
    found = {name for name in names if name in known}
    packages = {name for name in found if any(each.startswith(f"{name}.") and each in known for each in names)}
    return found - packages - {module.name}


@cache
def used_names(source: str) -> frozenset[str]:
    """Dotted names of what a module imports and of the attributes it takes from it, whatever it calls them."""
    return frozenset(_used_names(parsed(source)))


def _used_names(tree: ast.Module) -> Iterator[str]:
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    known[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
                    yield alias.name
            case ast.ImportFrom(module=str(origin), names=names, level=0):
                for alias in names:
                    known[alias.asname or alias.name] = f"{origin}.{alias.name}"
                    yield f"{origin}.{alias.name}"
    for node in ast.walk(tree):
        name = _dotted(node)
        if name:
            first, _, rest = name.partition(".")
            yield ".".join([known.get(first, first), rest]) if rest else known.get(first, first)


def _dotted(node: ast.AST) -> str | None:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            above = _dotted(value)
            return f"{above}.{attr}" if above else None
        case _:
            return None


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Every cycle in the edges once, starting with its alphabetically first name."""
    results: list[list[str]] = []

    def walk(start: str, here: str, way: list[str], among: Collection[str]) -> None:
        for there in sorted(edges.get(here, set()) & set(among)):
            if there == start:
                results.append(way)
            elif there > start and there not in way:
                walk(start, there, [*way, there], among)

    for names in _in_cycles(edges):  # only there can be circles, so only there is every way walked
        for start in sorted(names):
            walk(start, start, [start], names)
    return results


def _in_cycles(edges: dict[str, set[str]]) -> list[set[str]]:
    """Names that lead to each other, or to themselves."""
    reached = {name: _reachable(name, edges) for name in edges}
    rings = {frozenset(other for other in reached[name] if name in reached.get(other, ())) for name in edges}
    return [set(ring) for ring in sorted(rings, key=sorted) if ring]


def _reachable(start: str, edges: dict[str, set[str]]) -> set[str]:
    result: set[str] = set()
    left = [start]
    while left:
        new = edges.get(left.pop(), set()) - result
        result |= new
        left += new
    return result


def bullet_list(items: Iterable[str]) -> str:
    return "\n".join(sorted(items))
