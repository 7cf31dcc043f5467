"""Terms as Z3 expressions and as standard SMT-LIB 2 text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from verify.terms.term import Term, postorder


def _apply(z3: Any, term: Term, args: list[Any], context: Any) -> Any:
    match term.op:
        case "const":
            if term.width:
                return z3.BitVecVal(term.data, term.width, context)
            return z3.BoolVal(bool(term.data), context)
        case "var":
            if term.width:
                return z3.BitVec(term.name, term.width, context)
            return z3.Bool(term.name, context)
        case "bvadd":
            return args[0] + args[1]
        case "bvsub":
            return args[0] - args[1]
        case "bvmul":
            return args[0] * args[1]
        case "bvudiv":
            return z3.UDiv(*args)
        case "bvurem":
            return z3.URem(*args)
        case "bvand":
            return args[0] & args[1]
        case "bvor":
            return args[0] | args[1]
        case "bvxor":
            return args[0] ^ args[1]
        case "bvnot":
            return ~args[0]
        case "bvshl":
            return args[0] << args[1]
        case "bvlshr":
            return z3.LShR(*args)
        case "bvashr":
            return args[0] >> args[1]
        case "rotate_left":
            # The binary operator prints as ext_rotate_left, which only Z3 reads.
            node = z3.Z3_mk_rotate_left(args[0].ctx_ref(), term.amount, args[0].as_ast())
            return z3.BitVecRef(node, args[0].ctx)
        case "zero_extend":
            return z3.ZeroExt(term.amount, args[0])
        case "sign_extend":
            return z3.SignExt(term.amount, args[0])
        case "extract":
            return z3.Extract(*term.bounds, args[0])
        case "concat":
            return z3.Concat(*args)
        case "ite":
            return z3.If(*args)
        case "=":
            return args[0] == args[1]
        case "bvult":
            return z3.ULT(*args)
        case "bvule":
            return z3.ULE(*args)
        case "bvslt":
            return args[0] < args[1]
        case "bvsle":
            return args[0] <= args[1]
        case "not":
            return z3.Not(args[0])
        case "and":
            return z3.And(*args)
        case "or":
            return z3.Or(*args)
        case _:
            raise ValueError(f"no SMT-LIB operator for {term.op}")


def to_z3(roots: Iterable[Term], context: Any) -> list[Any]:
    """The roots as Z3 expressions of the given z3.Context."""
    import z3

    roots = list(roots)
    built: dict[Term, Any] = {}
    for term in postorder(roots):
        built[term] = _apply(z3, term, [built[arg] for arg in term.args], context)
    return [built[root] for root in roots]


def definitions(roots: Iterable[Term]) -> tuple[list[str], dict[Term, str]]:
    """SMT-LIB 2.6 commands that declare the variables of the roots and define their sub-terms,
    and how each term is written after them.

    Shared sub-terms become definitions of their own, so the text stays linear in the graph.
    """
    lines: list[str] = []
    names: dict[Term, str] = {}
    for term in postorder(list(roots)):
        if term.op == "const":
            digits = f"(_ bv{term.data} {term.width})"
            names[term] = digits if term.width else ("true" if term.data else "false")
            continue
        sort = f"(_ BitVec {term.width})" if term.width else "Bool"
        if term.op == "var":
            names[term] = f"|{term.name}|"
            lines.append(f"(declare-const |{term.name}| {sort})")
            continue
        names[term] = f"t{len(names)}"
        operator = term.op
        if term.op == "extract":
            operator = "(_ extract {} {})".format(*term.bounds)
        elif term.op in ("zero_extend", "sign_extend", "rotate_left"):
            operator = f"(_ {term.op} {term.amount})"
        body = _nested(operator, [names[arg] for arg in term.args])
        lines.append(f"(define-fun {names[term]} () {sort} {body})")
    return lines, names


def to_smtlib(assertions: Iterable[Term]) -> str:
    """A complete SMT-LIB 2.6 script in QF_BV that asserts all of the terms and asks for sat."""
    assertions = list(assertions)
    lines, names = definitions(assertions)
    asserted = [f"(assert {names[term]})" for term in assertions]
    return "\n".join(["(set-logic QF_BV)", *lines, *asserted, "(check-sat)", ""])


def _nested(operator: str, args: list[str]) -> str:
    if operator == "concat" and len(args) > 2:
        return f"(concat {args[0]} {_nested(operator, args[1:])})"
    return f"({operator} {' '.join(args)})"
