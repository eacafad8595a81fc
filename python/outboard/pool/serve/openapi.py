"""The description of the interface in OpenAPI 3.1, from the table of routes."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any

import msgspec

from outboard.pool.serve.exchange import JSON, Route
from outboard.pool.serve.problems import STATUS, ProblemBody
from outboard.pool.serve.routes import ROUTES

_ALWAYS = ("bad-request", "not-yours", "too-large", "invalid", "failed", "storage", "not-leader")
_NAME = re.compile(r"{(\w+)}")
_PATH_SCHEMAS: dict[str, dict[str, Any]] = {
    "id": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
    "device": {"type": "string", "pattern": "^[A-Za-z0-9._:/@ -]{1,128}$"},
    "name": {"type": "string", "minLength": 1, "maxLength": 64},
}


def document(version: str) -> dict[str, Any]:
    types = [route.body for route in ROUTES if route.body]
    types += [t for route in ROUTES for t in route.answers.values() if _is_struct(t)]
    unique = list(dict.fromkeys([*types, ProblemBody]))
    schemas, components = msgspec.json.schema_components(
        unique, ref_template="#/components/schemas/{name}"
    )
    for schema in components.values():
        # Only some versions of msgspec take the indentation of docstrings away.
        if "description" in schema:
            schema["description"] = inspect.cleandoc(schema["description"])
    of = dict(zip(unique, schemas, strict=True))
    paths: dict[str, Any] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, of)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Outboard pool manager",
            "version": version,
            "description": "Times are pool time in ms since 1970. Durations say their unit. "
            "Errors are problems (RFC 9457).",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": dict(sorted(components.items()))},
    }


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _operation(route: Route, of: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    handler = route.handler
    module = handler.__module__.rpartition(".")[2]
    who = f"For: {route.role}." if route.role else "For everybody who may connect."
    operation: dict[str, Any] = {
        "operationId": f"{module}_{handler.__name__}",
        "summary": route.summary,
        "description": who,
        "responses": _responses(route, of),
    }
    parameters = [_path_parameter(name) for name in _NAME.findall(route.path)]
    for param in route.params:
        parameters.append(
            {"name": param.name, "in": "query", "schema": param.schema, "description": param.help}
        )
    if parameters:
        operation["parameters"] = parameters
    if route.body:
        content = {JSON: {"schema": of[route.body]}}
        operation["requestBody"] = {"required": False, "content": content}
    return operation


def _path_parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": _PATH_SCHEMAS[name]}


def _responses(route: Route, of: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, kind in route.answers.items():
        done = "Accepted." if status == 202 else "Done."
        response: dict[str, Any] = {"description": done if kind is None else "The answer."}
        if _is_struct(kind):
            response["content"] = {route.type: {"schema": of[kind]}}
        elif kind is not None:
            response["content"] = {route.type: {}}
        if route.also:
            response["content"][route.also] = {}
        responses[str(status)] = response
    named: dict[int, list[str]] = {}
    for name in dict.fromkeys((*_ALWAYS, *route.problems)):
        named.setdefault(STATUS[name], []).append(name)
    for status, names in sorted(named.items()):
        content = {"application/problem+json": {"schema": of[ProblemBody]}}
        responses[str(status)] = {"description": ", ".join(names), "content": content}
    return responses


def text(release: str) -> str:
    """Returns the committed form."""
    return json.dumps(document(release), indent=1, sort_keys=False) + "\n"


if __name__ == "__main__":
    from outboard.version import version

    print(text(version()), end="")
