"""Tests imports: where files are looked for, and which names are visible."""

from __future__ import annotations

from pathlib import Path

from outboard.sial.compiler import Options, Result, compile_file


def compiled(folder: Path, main: str, *folders: Path, **files: str) -> Result:
    for name, text in {"main": main, **files}.items():
        (folder / f"{name}.sial").write_text(text)
    return compile_file(folder / "main.sial", "main.sial", Options(folders=folders))


def strings(result: Result, section: str) -> list[str]:
    assert result.program is not None, result.render()
    return [result.program.string(one["name"]) for one in result.program[section]]


def test_procs_and_declarations_are_imported(tmp_path: Path) -> None:
    result = compiled(
        tmp_path,
        'import "tools.sial"\nsial main\n  x = 1.0\n  call tools.twice\n  call twice\n'
        "endsial main\n",
        tools="sial tools\n scalar x\n proc twice\n x *= 2.0\n endproc twice\nendsial tools\n",
    )
    assert strings(result, "proc") == ["main", "twice"]
    assert strings(result, "scalar") == ["x"]
    assert result.program is not None
    assert len(result.program["source"]) == 2
    line = result.program["line"][result.program["proc"][1]["first"]]
    assert (line["source"], line["line"]) == (1, 4)


def test_a_file_is_read_once(tmp_path: Path) -> None:
    common = "sial common\n  predefined int norb\n  int n\nendsial common\n"
    one = 'import "common.sial"\nsial {0}\n  proc {0}_p\n    n += norb\n  endproc {0}_p\n'
    one += "endsial {0}\n"
    result = compiled(
        tmp_path,
        'import "a.sial"\nimport "b.sial"\nimport "common.sial"\nsial main\n  call a_p\n'
        "  call b_p\n  println n\nendsial main\n",
        common=common,
        a=one.format("a"),
        b=one.format("b"),
    )
    assert sorted(strings(result, "int")) == ["n", "norb"]
    assert result.render() == ""


def test_names_of_imported_imports_are_not_visible(tmp_path: Path) -> None:
    result = compiled(
        tmp_path,
        'import "a.sial"\nsial main\n  println n\nendsial main\n',
        a='import "common.sial"\nsial a\nendsial a\n',
        common="sial common\n  int n\nendsial common\n",
    )
    assert [one.code for one in result.diagnostics] == ["S101"]


def test_a_predefined_value_is_one_object(tmp_path: Path) -> None:
    result = compiled(
        tmp_path,
        'import "a.sial"\nsial main\n  predefined int norb\n  call p\n  println norb\n'
        "endsial main\n",
        a="sial a\n  predefined int norb\n  proc p\n    print norb\n  endproc p\nendsial a\n",
    )
    assert strings(result, "int") == ["norb"]


def test_equal_names_become_qualified(tmp_path: Path) -> None:
    result = compiled(
        tmp_path,
        'import "a.sial"\nsial main\n  int n\n  n = 1\n  a.n = 2\nendsial main\n',
        a="sial a\n  int n\nendsial a\n",
    )
    assert strings(result, "int") == ["n", "a.n"]


def test_folders_are_searched(tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "a.sial").write_text("sial a\n  int n\nendsial a\n")
    main = 'import "a.sial"\nsial main\n  n = 1\nendsial main\n'
    assert [one.code for one in compiled(tmp_path, main).diagnostics] == ["S104"]
    assert compiled(tmp_path, main, library).render() == ""
    # The folder of the importing file comes first.
    result = compiled(tmp_path, main, library, a="sial a\nendsial a\n")
    assert [one.code for one in result.diagnostics] == ["S101"]


def test_mistakes_in_imported_files_have_their_name(tmp_path: Path) -> None:
    result = compiled(
        tmp_path,
        'import "a.sial"\nsial main\nendsial main\n',
        a="sial a\n  scalar x = 1\nendsial a\n",
    )
    assert f"{tmp_path}/a.sial:2:14: error S301" in result.render()
