"""What `--define NAME=EXPRESSION` may say: arithmetic and text in Python's notation, and nothing that reaches outside.

Allowed are numbers, texts, `x` (the input, a text), operators, comparisons, conditions (`a if b else c`), indexes and
slices, the functions and the methods of texts below. There are no imports, no attributes, no other names."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from fluxlike.errors import InvalidRequest

INPUT = "x"

FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (abs, bool, chr, divmod, float, hex, int, len, max, min, oct, ord, round, sorted, str, sum)
}

METHODS = frozenset({
    "capitalize", "count", "endswith", "find", "isalpha", "isdecimal", "join", "lower", "lstrip", "partition",
    "removeprefix", "removesuffix", "replace", "rfind", "rpartition", "rsplit", "rstrip", "split", "startswith",
    "strip", "title", "upper", "zfill",
})  # fmt: skip

_NODES = (
    ast.Expression, ast.Constant, ast.Load, ast.UnaryOp, ast.unaryop, ast.BinOp, ast.operator, ast.BoolOp, ast.boolop,
    ast.Compare, ast.cmpop, ast.IfExp, ast.Subscript, ast.Slice, ast.Tuple, ast.List,
)  # fmt: skip

LARGEST_EXPONENT = 4096
"""More would not end a job's argument but fill the memory."""


def compiled(text: str) -> Callable[[str], str]:
    """The expression as a function of the input. InvalidRequest says what is not allowed in it."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise InvalidRequest(f"cannot read {text!r}: {error.msg}") from None
    tree = ast.fix_missing_locations(_Checked(text).visit(tree))
    code = compile(tree, "<define>", "eval")
    names = {"__builtins__": {}, "__power": _power, **FUNCTIONS}

    def value(given: str) -> str:
        try:
            # Only what _Checked let through: no attribute of any object but the methods of texts can be reached.
            return str(eval(code, names, {INPUT: given}))
        except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
            raise InvalidRequest(f"{text} failed for {INPUT}={given!r}: {error}") from None

    return value


class _Checked(ast.NodeTransformer):
    """Lets through what is allowed and refuses the rest."""

    def __init__(self, text: str) -> None:
        self._text = text

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, _NODES):
            raise self._refusal(type(node).__name__.lower())
        return super().generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id != INPUT:
            raise self._refusal(f"the name {node.id}")
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self._refusal("an argument with a name or a star")
        node.args = [self.visit(argument) for argument in node.args]
        match node.func:
            case ast.Name(id=name) if name in FUNCTIONS:
                return node
            case ast.Attribute(attr=name, value=value) if name in METHODS:
                node.func.value = self.visit(value)
                return node
        raise self._refusal(f"the function {ast.unparse(node.func)}")

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        node.left, node.right = self.visit(node.left), self.visit(node.right)
        if not isinstance(node.op, ast.Pow):
            return node
        return ast.Call(ast.Name("__power", ast.Load()), [node.left, node.right], [])

    def _refusal(self, what: str) -> InvalidRequest:
        functions = ", ".join(sorted(FUNCTIONS))
        return InvalidRequest(
            f"{what} is not allowed in {self._text!r}; there are {INPUT} (the input), operators, "
            f"the functions {functions} and methods of texts such as x.split('.')[0]"
        )


def _power(base: float, exponent: float) -> float:
    if abs(exponent) > LARGEST_EXPONENT or abs(base) > 1e18:
        raise ValueError("the power is too large")
    result: float = base**exponent
    return result
