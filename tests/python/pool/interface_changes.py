"""What a change of the manager's interface takes from clients and daemons of the release before: it
compares two descriptions in OpenAPI.

A request that was right must stay right and mean the same; an answer must still have what it had.

    python tests/python/pool/interface_changes.py docs/pool-openapi.json FILE

keeps of a description what this looks at.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Schema = dict[str, Any]
# A limit, and whether a larger one takes fewer values.
_LIMITS = {
    "minimum": True, "exclusiveMinimum": True, "minLength": True, "minItems": True,
    "maximum": False, "maxLength": False, "maxItems": False, "maxProperties": False,
}  # fmt: skip


def broken(old: Schema, new: Schema) -> list[str]:
    """Returns what was right by `old` and is wrong by `new`."""
    return list(_paths(_inlined(old, old), _inlined(new, new)))


def _inlined(node: Any, document: Schema) -> Any:
    """Returns the node with the schemas in place of references to them, which have no cycles."""
    if isinstance(node, list):
        return [_inlined(one, document) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        schemas = document["components"]["schemas"]
        return _inlined(schemas[node["$ref"].rpartition("/")[2]], document)
    return {key: _inlined(value, document) for key, value in node.items() if key != "components"}


def _paths(old: Schema, new: Schema) -> Iterator[str]:
    for path, verbs in old["paths"].items():
        for verb, before in verbs.items():
            where = f"{verb.upper()} {path}"
            after = new["paths"].get(path, {}).get(verb)
            if after is None:
                yield f"{where} is gone"
                continue
            yield from _parameters(before, after, where)
            yield from _request(_body(before), _body(after), f"{where}, the body")
            yield from _answers(before["responses"], after["responses"], where)


def _body(operation: Schema) -> Schema | None:
    found: Schema | None = _schema(operation.get("requestBody"))
    return found


def _schema(holder: Any) -> Any:
    content = (holder or {}).get("content", {})
    return content.get("application/json", {}).get("schema")


def _parameters(old: Schema, new: Schema, where: str) -> Iterator[str]:
    before = {(p["in"], p["name"]): p for p in old.get("parameters", ())}
    after = {(p["in"], p["name"]): p for p in new.get("parameters", ())}
    for key, parameter in before.items():
        name = f"{where}, the parameter {key[1]}"
        if key not in after:
            yield f"{name} is gone"
        else:
            yield from _takes(parameter["schema"], after[key]["schema"], name)
    for key, parameter in after.items():
        was = before.get(key, {}).get("required", False)
        if parameter.get("required", False) and not was:
            yield f"{where}, the parameter {key[1]} is required now"


def _request(old: Schema | None, new: Schema | None, where: str) -> Iterator[str]:
    if old is not None and new is None:
        yield f"{where} is gone"
    elif new is not None:
        yield from _takes(old or {"type": "object"}, new, where)


def _answers(old: Schema, new: Schema, where: str) -> Iterator[str]:
    for status, before in old.items():
        name = f"{where}, the answer {status}"
        if status.startswith("2") and status not in new:
            yield f"{name} is gone"
            continue
        for kind in before.get("content", {}):
            if status in new and kind not in new[status].get("content", {}):
                yield f"{name} is no {kind} any more"
        if (schema := _schema(before)) is not None and (after := _schema(new.get(status))):
            yield from _tells(schema, after, name)


def _takes(old: Schema, new: Schema, where: str) -> Iterator[str]:
    """Values of requests that fit `old`, and not `new`."""
    if lost := _types(old) - _types(new):
        yield f"{where} may not be {', '.join(sorted(lost))} any more"
    if "enum" in new and (lost := set(old.get("enum", ["anything"])) - set(new["enum"])):
        yield f"{where} may not be {', '.join(sorted(lost))} any more"
    if new.get("pattern", old.get("pattern")) != old.get("pattern"):
        yield f"{where} has another pattern"
    for limit, lower in _LIMITS.items():
        before, after = old.get(limit), new.get(limit)
        if after is not None and (before is None or (after > before if lower else after < before)):
            yield f"{where} has a narrower {limit}"
    for name in sorted(set(new.get("required", ())) - set(old.get("required", ()))):
        yield f"{where} requires {name} now"
    yield from _parts(old, new, where, _takes)


def _tells(old: Schema, new: Schema, where: str) -> Iterator[str]:
    """What answers had by `old`, and may lack by `new`."""
    if more := _types(new) - _types(old):
        yield f"{where} may be {', '.join(sorted(more))} now"
    for name in sorted(set(old.get("required", ())) - set(new.get("required", ()))):
        if name in new.get("properties", {}):
            yield f"{where} may lack {name} now"
    yield from _parts(old, new, where, _tells)


def _parts(old: Schema, new: Schema, where: str, compare: Any) -> Iterator[str]:
    for name, before in old.get("properties", {}).items():
        if name in new.get("properties", {}):
            yield from compare(before, new["properties"][name], f"{where}, {name}")
        else:
            yield f"{where} has no {name} any more"
    for part in ("items", "additionalProperties"):
        if isinstance(old.get(part), dict) and isinstance(new.get(part), dict):
            yield from compare(old[part], new[part], f"{where}, each of it")


def _types(schema: Schema) -> set[str]:
    """Returns the types of JSON that fit; integers are numbers, too."""
    if "anyOf" in schema:
        return set().union(*(_types(one) for one in schema["anyOf"]))
    if "type" not in schema:
        return {"string"} if "enum" in schema else set(_ALL)
    named = schema["type"]
    found = {named} if isinstance(named, str) else set(named)
    return found | {"integer"} if "number" in found else found


_ALL = ("array", "boolean", "integer", "null", "number", "object", "string")

_WORDS = ("description", "summary", "title", "operationId")


def compact(document: Schema) -> str:
    """Returns a description without words and refusals."""
    paths, schemas = document["paths"], document["components"]["schemas"]
    for verbs in paths.values():
        for operation in verbs.values():
            answers = operation["responses"]
            operation["responses"] = {s: a for s, a in answers.items() if s.startswith("2")}
    kept = {"paths": paths, "components": {"schemas": schemas}}
    return json.dumps(_wordless(kept), indent=1) + "\n"


def _wordless(node: Any) -> Any:
    if isinstance(node, list):
        return [_wordless(one) for one in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _wordless(value)
        for key, value in node.items()
        if key not in _WORDS or not isinstance(value, str)
    }


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(compact(json.loads(Path(sys.argv[1]).read_text())))
