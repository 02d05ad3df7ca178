"""Macro expansion of one file by its own macros, keeping the user's line numbers.

``pcpp`` expands only what the file (or the problem's ``defines``) defines; ``#include`` and ``#pragma`` go through.
The text is reassembled so that *line n of the result is line n of the user's file*: removed lines stay as blank
lines, an expansion stays on the line of its use. So no line table is needed anywhere.

Conditions on what only the compiler knows (``__CUDA_ARCH__``, names that begin with an underscore, anything when the
file includes headers of its own) go through unevaluated, with the definitions inside them.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any, NoReturn

import pcpp
from pcpp.preprocessor import Action, OutputDirective

from genome.errors import InputError

KNOWN_TRUE = {"__CUDACC__", "__cplusplus"}
KNOWN_FALSE = {"_OPENMP", "_WIN32", "_WIN64", "_MSC_VER", "__APPLE__", "__HIPCC__", "__HIP_PLATFORM_AMD__",
               "__OPENCL_VERSION__", "__clang__"}
PREDEFINED = ("__DATE__", "__TIME__", "__PCPP__", "__PCPP_VERSION__", "__PCPP_ALWAYS_FALSE__", "__PCPP_ALWAYS_TRUE__")
COMMENTS = ("CPP_COMMENT1", "CPP_COMMENT2")
GLUE = re.compile(r"\+\+|--|&&|\|\||<<|>>|->|//|/\*|[-+*/%&|^<>=!]=|::|##")


class _Malformed(Exception):
    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line, self.message = line, message


class _Expander(pcpp.Preprocessor):  # type: ignore[misc]
    """``pcpp`` with the pass-through rules of this module."""

    def __init__(self, tunables: Mapping[str, object], own_headers: bool, own_names: set[str]) -> None:
        super().__init__()
        self.expand_filemacro = False
        self.expand_countermacro = False
        self.own_headers = own_headers
        self.own_names = own_names
        self.tunables = set(tunables)
        for name in PREDEFINED:
            self.macros.pop(name, None)
        for name, value in tunables.items():
            self.define(f"{name} {int(value) if isinstance(value, bool) else value}")

    # -- what goes through ---------------------------------------------------------------------------------
    def on_include_not_found(self, is_malformed: bool, is_system: bool, curdir: str, path: str) -> NoReturn:
        raise OutputDirective(Action.IgnoreAndPassThrough)

    def on_file_open(self, is_system_include: bool, includepath: str) -> NoReturn:
        raise OSError("headers are left to the compiler")

    def _passes(self, name: str) -> bool:
        if name in KNOWN_FALSE or name in self.own_names:
            return False
        return name.startswith(("_", "CUDA")) or self.own_headers

    def on_unknown_macro_in_defined_expr(self, tok: Any) -> bool | None:
        if tok.value in KNOWN_TRUE:
            return True
        return None if self._passes(tok.value) else False

    def on_unknown_macro_in_expr(self, ident: str) -> int | None:
        if ident in KNOWN_TRUE:
            return 201703 if ident == "__cplusplus" else 1
        if ident in ("true", "false"):
            return int(ident == "true")
        return None if self._passes(ident) else 0

    def on_unknown_macro_function_in_expr(self, ident: str) -> Any:
        return None

    def on_comment(self, tok: Any) -> bool:
        return True

    def on_directive_handle(self, directive: Any, toks: Any, ifpassthru: bool, precedingtoks: Any) -> bool | None:
        if directive.value in ("define", "undef", "ifdef", "ifndef", "include") and not toks:
            raise _Malformed(directive.lineno, f"#{directive.value} without a name")
        if directive.value in ("define", "undef"):
            if ifpassthru:
                raise OutputDirective(Action.IgnoreAndPassThrough)
            if toks[0].value in self.tunables:
                raise OutputDirective(Action.IgnoreAndRemove)
        return True

    def on_directive_unknown(self, directive: Any, toks: Any, ifpassthru: bool, precedingtoks: Any) -> None:
        """``#pragma``: its arguments are macro-expanded here, while the definitions are current."""
        if directive.value == "pragma" and toks:
            text = "".join(t.value for t in self.expand_macros([copy.copy(t) for t in toks if t.type not in COMMENTS]))
            toks[0].value = text
            for t in toks[1:]:
                t.value = ""
        return None

    # -- pcpp keeps comments in macro bodies, where they would swallow the rest of a line ---------------------
    def define(self, tokens: Any) -> None:
        if not isinstance(tokens, str):
            tokens = self.tokenstrip([t for t in tokens if t.type not in COMMENTS])
        super().define(tokens)

    def evalexpr(self, tokens: Any) -> Any:
        return super().evalexpr([t for t in tokens if t.type not in COMMENTS])

    def on_error(self, file: str, line: int, msg: str) -> NoReturn:
        raise _Malformed(line, " ".join(msg.split()))


def _glues(left: str, right: str, same: bool) -> bool:
    """Whether two tokens, one of them from an expansion, would read as another token without a space. Letters are
    apart only when they come from different expansions: the lexer splits a suffix off a number."""
    pair = left[-1] + right[0]
    return GLUE.match(pair) is not None or (not same and re.match(r"\w\w", pair) is not None)


def _assemble(tokens: Any) -> str:
    """The text of a token stream, each token on its own line number."""
    out: list[str] = []
    line = 1
    space = ""
    last = ""
    last_expanded: list[str] = []
    directive = False
    for tok in tokens:
        value = tok.value
        if not value:
            continue
        if tok.type == "CPP_WS" or value.isspace():
            if "\n" in value:
                directive = False
                space = value.rsplit("\n", 1)[1]
            else:
                space += value
            continue
        expanded = getattr(tok, "expanded_from", None) or []
        if tok.type in COMMENTS and expanded:
            continue
        if tok.lineno > line and not directive:
            out.append("\n" * (tok.lineno - line))
            line = tok.lineno
            last = ""
        if value == "#" and not last:
            directive = True
        if space:
            out.append(space)
        elif last and (expanded or last_expanded) and _glues(last, value, expanded == last_expanded):
            out.append(" ")
        space = ""
        out.append(value)
        line += value.count("\n")
        last, last_expanded = value, expanded
    out.append("\n")
    return "".join(out)


DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
OWN_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"(?!cuda|device_|mma|cooperative_groups|math_constants)', re.M)


def expand(text: str, file: str, defines: Mapping[str, object]) -> str:
    """``text`` with the file's own macros applied, line for line. :class:`InputError` on a malformed directive."""
    own_names = set(DEFINE.findall(text))
    expander = _Expander(defines, bool(OWN_INCLUDE.search(text)), own_names)
    try:
        expander.parse(text.replace("\r\n", "\n"), file)
        tokens = []
        while (tok := expander.token()) is not None:
            tokens.append(tok)
        return _assemble(tokens)
    except _Malformed as e:
        raise InputError(f"the preprocessor stops: {e.message}", file=file, line=e.line,
                         remedy="mend the directive; the kernel must compile as it stands") from e
    except (IndexError, AttributeError, TypeError, ValueError, KeyError, RecursionError, AssertionError,
            SyntaxError, OverflowError) as e:  # pcpp has no error of its own for malformed directives
        raise InputError(f"the preprocessor stops: {' '.join(str(e).split()) or type(e).__name__}", file=file,
                         remedy="mend the directive; the kernel must compile as it stands") from e


PRAGMA_UNROLL = re.compile(
    r"^[ \t]*#[ \t]*pragma[ \t]+(?:GCC[ \t]+)?(no)?unroll\b[ \t]*\(?([^)\n]*?)\)?[ \t]*$|"
    r'\b_Pragma[ \t]*\([ \t]*"(no)?unroll\b[ \t]*\(?([^)"]*?)\)?[ \t]*"[ \t]*\)',
    re.M,
)
ALIGN = re.compile(r"\b__align__\(")


def mask(text: str) -> tuple[str, dict[int, tuple[int, str]]]:
    """The text to parse, byte for byte as long as ``text``, and the unroll pragmas: start → (end, argument).

    ``#pragma unroll`` between ``for (...)`` and its body would detach the body in the parse, so that it becomes a
    comment. ``""`` is a pragma without a number; ``nounroll`` counts as ``1``.
    """
    pragmas: dict[int, tuple[int, str]] = {}

    def blank(m: re.Match[str]) -> str:
        start = len(text[: m.start()].encode("utf-8", "surrogateescape"))
        body = m.group(0)
        size = len(body.encode("utf-8", "surrogateescape"))
        none = m.group(1) or m.group(3)
        argument = "1" if none else (m.group(2) or m.group(4) or "").split("//")[0].split("/*")[0].strip()
        lead = len(body) - len(body.lstrip())
        pragmas[start + lead] = (start + size, argument)
        return body[:lead] + "/*" + " " * (size - lead - 4) + "*/"

    masked = PRAGMA_UNROLL.sub(blank, text) if "unroll" in text else text
    return ALIGN.sub("alignas  (", masked), pragmas
