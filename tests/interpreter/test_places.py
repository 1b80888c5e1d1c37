"""The place of a finding, the origins of its names, the calls that led there; revealed dims."""

from __future__ import annotations

from namecheck.core.findings import Finding
from namecheck.interpreter.workspace import analysis
from tests.interpreting import check, findings, notes, parsed


def only(source: str) -> Finding:
    found = findings(source)
    assert len(found) == 1
    return found[0]


def related(source: str) -> list[tuple[str, str]]:
    """The lines of the related places, with their messages."""
    lines = parsed(source).lines
    return [(lines[p.span.line - 1].strip(), p.message) for p in only(source).related]


def test_it_stands_on_the_innermost_expression() -> None:
    source = """
    x = torch.zeros(2, 3, names=('N', 'C'))
    y = [x.sum(x.mean('T').sum())]
    """
    assert parsed(source).segment(only(source).span) == "x.mean('T')"


def test_each_name_came_from_where_it_is_written() -> None:
    source = """
    x = torch.zeros(2, 3, names=('N', 'C'))
    y = torch.zeros(2, 4).refine_names('N', 'T')
    x + y.relu()
    """
    places = {message: line for line, message in related(source)}
    assert places["'C' is named here"] == "x = torch.zeros(2, 3, names=('N', 'C'))"
    assert places["'T' is named here"] == "y = torch.zeros(2, 4).refine_names('N', 'T')"


def test_a_rename_is_where_the_new_name_came_from() -> None:
    source = """
    x = torch.zeros(2, 3, names=('N', 'C'))
    y = x.rename(C='T')
    x + y
    """
    assert ("y = x.rename(C='T')", "'T' is named here") in related(source)


def test_the_calls_that_brought_the_tensor() -> None:
    source = """
    def inner(x):
        return x.mean('T')

    def outer(x):
        return inner(x)

    outer(torch.zeros(2, 3, names=('N', 'C')))
    """
    assert related(source)[-2:] == [
        ("return inner(x)", "'inner' is called here with x: [N C]"),
        (
            "outer(torch.zeros(2, 3, names=('N', 'C')))",
            "'outer' is called here with x: [N C]",
        ),
    ]


def test_a_function_that_only_other_files_call_is_called_nowhere() -> None:
    source = """
    def inner(x):
        return x.refine_names('N', 'C').mean('T')
    """
    assert not any("called" in message for _, message in related(source))


def test_one_place_is_reported_once() -> None:
    check("""
    def inner(x):
        return x.mean('T')  # BUG

    for _ in range(3):
        inner(torch.zeros(2, 3, names=('N', 'C')))
    inner(torch.zeros(2, names=('N',)))
    """)


def test_nothing_follows_from_a_finding() -> None:
    check("""
    x = torch.zeros(2, 3, names=('N', 'C'))
    y = x.mean('T')  # BUG
    y.mean('T')
    y.refine_names('A', 'B').mean('A')
    """)


def test_both_operands_are_shown() -> None:
    finding = only("""
    x = torch.zeros(2, 3, names=('N', 'C'))
    y = torch.zeros(2, 3, names=('N', 'T'))
    x + y
    """)
    assert [mark.message for mark in finding.marks] == ["['N', 'C']", "['N', 'T']"]


def test_reveal_names_makes_a_note() -> None:
    assert notes("""
    from namecheck import reveal_names
    import namecheck

    def f(x, flag):
        reveal_names(x)
        y = reveal_names(x.refine_names('N', ..., 'C'))
        namecheck.reveal_names(y.sum('C'))
        z = torch.zeros(2, 3, names=('N', None))
        reveal_names(z)
        reveal_names(z.sum())
        reveal_names(3)
    """) == ["?", "N ... C", "N ...", "N=2 _=3", "a scalar, without dims", "?"]


def test_reveal_has_every_tensor() -> None:
    source = parsed("""
    x = torch.zeros(2, 3, names=('N', 'C'))
    y = (x + 1).sum('C')
    """)
    reveals = analysis.check(source, reveal=True).reveals
    assert [(reveal.source, reveal.dims) for reveal in reveals] == [
        ("torch.zeros(2, 3, names=('N', 'C'))", "N=2 C=3"),
        ("(x + 1).sum('C')", "N=2"),
        ("x", "N=2 C=3"),
        ("x + 1", "N=2 C=3"),
    ]


def test_what_is_run_several_times_reveals_all_it_was() -> None:
    source = parsed("""
    def f(x):
        return x.relu()

    f(torch.zeros(2, names=('N',)))
    f(torch.zeros(3, names=('C',)))
    """)
    shown = {r.source: r.dims for r in analysis.check(source, reveal=True).reveals}
    assert shown["x.relu()"] == "N=2 | C=3"
