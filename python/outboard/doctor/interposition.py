"""Checks that a command's BLAS, LAPACK and FFTW calls pass through the library."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from outboard import counters
from outboard.doctor import elf, program, trial
from outboard.doctor.finding import Finding, note, ok, problem, some
from outboard.doctor.trial import Trial

_AFFIXED = re.compile(r"([A-Za-z0-9_]+_)(?:cblas_|LAPACKE_)?([sdcz][a-z0-9]{3,})(?:_?64)?_?")
_POCKETFFT = re.compile(r"_?(pocketfft_umath|pypocketfft)\b")
_OWN_AFFIXES = ("cblas_", "LAPACKE_", "scipy_", "scipy_cblas_", "scipy_LAPACKE_")


def check(
    command: Sequence[str], library: Path, seconds: float, environment: Mapping[str, str]
) -> tuple[list[Finding], list[Path]]:
    """Returns the findings, and the libraries that provide the command with BLAS."""
    path, found = program.check(command[0], library)
    ours = elf.read(library)
    if path is None or found or ours is None:
        return found, []
    try:
        one = trial.run(command, library, ours.exports, seconds, environment)
    except OSError as error:
        text = f"cannot be started ({error.strerror})"
        return [problem(command[0], text, "check its name and permissions")], []
    return Judge(one, library, path.resolve(), ours.exports).findings()


class Judge:
    """Turns the results of a run into findings."""

    def __init__(self, one: Trial, library: Path, executable: Path, names: frozenset[str]) -> None:
        self._trial = one
        self._library = str(library.resolve())
        self._executable = executable
        self._names = names
        paths = {p.resolve() for p in one.objects if "/" in str(p)} | {executable}
        paths.discard(Path(self._library))
        self._objects = [o for o in map(elf.read, sorted(paths)) if o is not None]
        self._providers = {str(o.path) for o in self._objects if self._provides(o)}

    def _provides(self, one: elf.Object) -> bool:
        """Returns true for a library of routines, and false for a program with its own copy of
        some."""
        if one.path == self._executable:
            return False
        return bool(one.exports & self._names) or one.path.name.startswith("libfftw3")

    def findings(self) -> tuple[list[Finding], list[Path]]:
        """Returns all findings, and the libraries that provide routines."""
        found = [*self._ending(), *self._unreached()]
        found += [*self._caught(), *self._by_handle(), *self._around(), *self._inside()]
        found += [*self._renamed(), *self._elsewhere(), *self._calls(bool(found))]
        return found, sorted(Path(p) for p in self._providers)

    # --- the run ---------------------------------------------------------------------------------

    def _ending(self) -> list[Finding]:
        one = self._trial
        if one.status is None:
            text = (
                f"was stopped after {one.seconds:.0f} s; what it would have done later is unknown"
            )
            return [note("run", text, "give it more time with --seconds")]
        if one.status:
            said = f": {one.stderr_tail[-1].strip()}" if one.stderr_tail else ""
            text = f"the command ended with status {one.status}{said}"
            return [note("run", text, "try it without Outboard; it had no input and no terminal")]
        return []

    def _unreached(self) -> list[Finding]:
        found = []
        for path in sorted(self._trial.missed):
            why = program.out_of_reach(path, Path(self._library)) if path.exists() else None
            text = why or (
                "ran without the library: whoever started it took LD_PRELOAD out of its environment"
            )
            advice = "" if why else "as sudo, env -i and batch systems do: set it again inside"
            found.append(problem(path.name, text, advice or "use a dynamically linked one"))
        return found

    # --- bindings --------------------------------------------------------------------------------

    def _users(self) -> dict[str, set[str]]:
        """Returns the objects that bind to our library and their names, without the libraries of
        routines."""
        users: dict[str, set[str]] = defaultdict(set)
        for b in self._trial.bindings:
            if b.provider == self._library and b.user not in self._providers:
                users[b.user].add(b.symbol)
        return users

    def _caught(self) -> list[Finding]:
        found = []
        for user, names in sorted(self._users().items()):
            what = f"{len(names)} names" if len(names) > 1 else "one name"
            text = f"binds {what} to the library: {some(sorted(names))}"
            found.append(ok(short(user), text))
        for provider in sorted(self._providers):
            exports = elf_exports(self._objects, provider) & self._names
            if not exports:
                continue
            text = f"computes what stays local ({flavour(exports)}); {provider}"
            found.append(ok(short(provider), text))
        return found

    def _by_handle(self) -> list[Finding]:
        """Reports names that the program itself looked up in a library of routines."""
        if self._around():
            return []  # Libraries in a scope of their own bind their own names, too.
        caught = set().union(*self._users().values())
        families = {name.partition("_")[0] for name in caught if name.startswith("fftw")}
        looked: dict[str, list[str]] = defaultdict(list)
        for b in self._trial.bindings:
            forwarded = b.symbol in caught or b.symbol.partition("_")[0] in families
            if b.user == b.provider and b.user in self._providers and not forwarded:
                looked[b.user].append(b.symbol)
        return [
            problem(
                short(provider),
                f"{some(sorted(names))}: looked up in this library itself (dlsym with its handle, "
                "ctypes.CDLL, libblastrampoline), so these calls pass Outboard by",
                "look them up in the whole process (RTLD_DEFAULT, ctypes.CDLL(None)), or link",
            )
            for provider, names in sorted(looked.items())
        ]

    def _around(self) -> list[Finding]:
        """Reports names that an object binds to another library than ours."""
        users = self._users()
        around: dict[tuple[str, str], list[str]] = defaultdict(list)
        for b in self._trial.bindings:
            if b.provider == self._library or b.user in (self._library, b.provider):
                continue
            # After our library catches a name, it looks up the original in the scope of the caller.
            if b.symbol not in users.get(b.user, set()) and b.user not in self._providers:
                around[b.user, b.provider].append(b.symbol)
        return [
            problem(
                short(user),
                f"binds {some(sorted(names))} to {short(provider)} past the library "
                "(opened with RTLD_DEEPBIND, or in a namespace of its own)",
                "open it without RTLD_DEEPBIND",
            )
            for (user, provider), names in sorted(around.items())
        ]

    # --- symbol tables ---------------------------------------------------------------------------

    def _inside(self) -> list[Finding]:
        """Reports routines linked into a program or a module, which calls them without the
        loader."""
        found = []
        for one in self._objects:
            own = one.inner | (one.exports if one.path == self._executable else frozenset())
            passed_on = {base(n) for n in one.imports & self._names}
            names = sorted(n for n in own & self._names if base(n) not in passed_on)
            if names and str(one.path) not in self._providers:
                what = f"{len(names)} routines" if len(names) > 1 else "one routine"
                text = f"has {what} linked into it, called without the loader: {some(names)}"
                advice = "link it against the shared libblas.so.3, liblapack.so.3 or libfftw3.so.3"
                found.append(problem(short(one.path), text, advice))
        return found

    def _renamed(self) -> list[Finding]:
        """Reports imports of routines under affixes that the library does not know."""
        bases = {n.removesuffix("_") for n in self._names if n.endswith("_") and n.islower()}
        found = []
        for one in self._objects:
            odd = [n for n in sorted(one.imports - self._names) if self._is_renamed(n, bases)]
            if odd:
                text = f"calls routines under names that the library does not have: {some(odd)}"
                advice = "use a BLAS with usual names; `outboard coverage` lists those that work"
                found.append(problem(short(one.path), text, advice))
        return found

    @staticmethod
    def _is_renamed(name: str, bases: set[str]) -> bool:
        match = _AFFIXED.fullmatch(name)
        return match is not None and match[1] not in _OWN_AFFIXES and match[2] in bases

    def _elsewhere(self) -> list[Finding]:
        """Reports libraries whose code is in an object although none of their names are."""
        found = []
        for one in self._objects:
            name = short(one.path)
            if _POCKETFFT.match(name):
                text = "transforms by pocketfft inside this module: never FFTW, so never caught"
                found.append(
                    note(name, text, "use pyFFTW, or its interfaces, for large transforms")
                )
            elif str(one.path) not in self._providers and not one.inner & self._names:
                libraries = [] if one.imports & self._names else list(elf.marks(one.path))
                if libraries:
                    text = f"holds the text of {', '.join(libraries)}, and exports no routine of it"
                    advice = "if it is linked into it with hidden names, its calls are not caught"
                    found.append(note(name, text, advice))
        return found

    # --- counters --------------------------------------------------------------------------------

    def _calls(self, explained: bool) -> list[Finding]:
        rows = [r for r in counters.merged(self._trial.processes) if r.calls]
        if rows:
            could = sum(r.eligible for r in rows)
            calls = sum(r.calls for r in rows)
            names = some([f"{r.name} {r.calls}" for r in rows])
            return [ok("calls", f"{calls} passed through, {could} of them could go out: {names}")]
        text = "no call of a routine passed through"
        if self._users() and self._trial.status is None:
            return [note("calls", f"{text} in that time", "give it more time with --seconds")]
        if self._users():
            return [note("calls", f"{text}: it binds them, but did not call them this time")]
        if not self._providers:
            text += ", and no library of such routines was opened"
            return [note("calls", text, "" if explained else "was this the whole command?")]
        if explained:
            return [note("calls", text)]
        return [problem("calls", text, "see which libraries it opens with LD_DEBUG=files")]


def short(path: str | Path) -> str:
    """Returns the name of a file, for a Python module without the suffix that all modules have."""
    return re.sub(r"\.cpython-\d+-[\w-]+(?=\.so)", "", Path(path).name)


def base(name: str) -> str:
    """Returns a routine's name without the affixes of interfaces and libraries."""
    return re.sub(r"^(scipy_)?(cblas_|LAPACKE_)?|(_?64)?_?$", "", name)


def elf_exports(objects: list[elf.Object], path: str) -> frozenset[str]:
    """Returns the names that the object at `path` exports."""
    return next((o.exports for o in objects if str(o.path) == path), frozenset())


def flavour(names: frozenset[str]) -> str:
    """Describes a library by its names: its routines, their affixes, and wide integers."""
    kinds = []
    if any(n.startswith("fftw") or "fftw_" in n for n in names):
        kinds.append("FFTW")
    blas = {n for n in names if "fftw" not in n}
    if blas:
        prefix = "scipy_" if any(n.startswith("scipy_") for n in blas) else ""
        suffix = "64_" if any(re.search(r"64_?$", n) for n in blas) else ""
        affixed = f" with names {prefix}...{suffix}" if prefix or suffix else ""
        kinds.append("BLAS" + affixed + (", 64-bit integers" if suffix else ""))
    return " and ".join(kinds)
