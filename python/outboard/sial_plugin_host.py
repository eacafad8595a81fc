"""The part of a SIAL worker that runs in its embedded interpreter: it imports plug-ins, calls their
functions, and describes exceptions for the user."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from outboard.sial_plugin import Argument, Call, Declaration, Worker

TAKES_STRIDES, OVERWRITES = 1, 2  # flags of include/outboard/sial.h

Entry = tuple[str, str, int, Callable[..., object]]
Passed = tuple[Any, str, str, tuple[int, ...], tuple[int, ...]]

_files: dict[Callable[..., object], str] = {}  # the plug-in that a function belongs to


def load(file: str) -> list[Entry] | str:
    """Imports a plug-in. Returns its super-instructions: name, intents, flags and function; or the
    reason why that is not possible."""
    try:
        module = _import(Path(file))
    except BaseException as error:
        return describe(error, file)
    entries: list[Entry] = []
    for value in list(vars(module).values()):
        declaration = vars(value).get("super_instruction") if inspect.isfunction(value) else None
        if not isinstance(declaration, Declaration) or value.__module__ != module.__name__:
            continue
        problem = _mismatch(value, declaration.intents)
        if problem:
            line = value.__code__.co_firstlineno
            return f"{declaration.name} {problem} ({Path(file).name}:{line})"
        _files[value] = file
        flags = TAKES_STRIDES | (OVERWRITES if declaration.overwrites else 0)
        entries.append((declaration.name, declaration.intents, flags, value))
    return entries or "declares no super-instruction; put @super_instruction(INTENTS) on functions"


def call(function: Callable[..., object], worker: Worker, passed: Sequence[Passed]) -> str | None:
    """Calls a super-instruction. Returns the message of its failure."""
    try:
        arguments = [
            Argument(intent, name, segments, first, getattr(value, "shape", ()) if segments else ())
            for value, intent, name, segments, first in passed
        ]
        result = function(Call(worker, arguments), *(one[0] for one in passed))
        if result is None:
            return None
        return (
            f"returned {type(result).__name__} (results are lost); write into the w and u "
            "arguments, as in x[...] = value"
        )
    except BaseException as error:
        return describe(error, _files[function])


def describe(error: BaseException, file: str) -> str:
    """Returns the kind, the text and the place of an exception: the innermost line in `file`."""
    # The last line has the type and the text; a SyntaxError has its place before.
    text = "".join(traceback.format_exception_only(error)[-1:]).strip()
    if isinstance(error, SyntaxError) and error.filename:
        return f"{text} ({Path(error.filename).name}:{error.lineno})"
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file
    ]
    return f"{text} ({Path(file).name}:{frames[-1].lineno})" if frames else text


def _import(file: Path) -> ModuleType:
    """Imports a file. It finds modules in its own folder, as a script does."""
    if file.stem in sys.modules:
        other = getattr(sys.modules[file.stem], "__file__", None) or "Python itself"
        raise ImportError(f"a module of the name {file.stem} is there already ({other}); rename it")
    folder = str(file.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def _mismatch(function: Callable[..., object], intents: str) -> str | None:
    """Returns how a function does not fit its intents."""
    try:
        inspect.signature(function).bind(None, *intents)
    except TypeError as error:
        return (
            f"has the intents '{intents}', so its function is called with the context and "
            f"{len(intents)} arguments ({error}); change its parameters"
        )
    return None
