"""The three solvers that the checker asks, each by its own reader of SMT-LIB text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

SECONDS = 20
"""Wall time that a solver gets for one obligation."""


def _z3(text: str, seconds: int) -> str:
    import z3

    solver = z3.SolverFor("QF_BV", ctx=z3.Context())
    solver.set("timeout", 1000 * seconds)
    solver.from_string(text)
    return str(solver.check())


def _bitwuzla(text: str, seconds: int) -> str:
    import bitwuzla

    options = bitwuzla.Options()
    options.set(bitwuzla.Option.TIME_LIMIT_PER, 1000 * seconds)
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
    parser.parse(text, parse_only=True, parse_file=False)
    return str(parser.bitwuzla().check_sat()).rpartition(".")[2].lower()


def _cvc5(text: str, seconds: int) -> str:
    import cvc5

    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("tlimit-per", str(1000 * seconds))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
    symbols, answers = parser.getSymbolManager(), []
    while not (command := parser.nextCommand()).isNull():
        answers.append(str(command.invoke(solver, symbols)).strip())
    return answers[-1]


SOLVERS: Mapping[str, Callable[[str, int], str]] = {
    "z3-solver": _z3,
    "bitwuzla": _bitwuzla,
    "cvc5": _cvc5,
}
"""By the name of the package that brings it."""


def answers(text: str) -> dict[str, str]:
    """What each solver says of a script: `sat`, `unsat`, `unknown`, or why it failed."""
    said = {}
    for name, solve in SOLVERS.items():
        try:
            said[name] = solve(text, SECONDS)
        except Exception as error:  # noqa: BLE001  # a solver that fails has not agreed
            said[name] = f"failed ({' '.join(str(error).split())[:80]})"
    return said
