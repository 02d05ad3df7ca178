"""Macro expansion of one file by its own macros, keeping the user's line numbers.

``pcpp`` expands only what the file, its own headers and the problem's ``defines`` define; ``#pragma`` and includes of
other people's headers go through. The text is reassembled so that *line n of the result is line n of the user's file*:
removed lines stay as blank lines, an expansion stays on the line of its use. The text of the user's own headers (found
beside the including file or in an include folder) stands *behind* that of the file, with a table of where it is from.

Conditions on what only the compiler knows (``__CUDA_ARCH__``, names that begin with an underscore, anything when the
file includes headers of its own) go through unevaluated, with the definitions inside them.
"""

from __future__ import annotations

import copy
import io
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pcpp
from pcpp.preprocessor import Action, OutputDirective

from genome.errors import InputError

KNOWN_TRUE = {"__CUDACC__", "__cplusplus"}
KNOWN_FALSE = {"_OPENMP", "_WIN32", "_WIN64", "_MSC_VER", "__APPLE__", "__HIPCC__", "__HIP_PLATFORM_AMD__",
               "__OPENCL_VERSION__", "__clang__", "__HIP_PLATFORM_HCC__", "__HIP_DEVICE_COMPILE__", "USE_ROCM",
               "USE_HIP", "MMCV_WITH_HIP", "GGML_USE_HIP", "GGML_USE_MUSA", "__MUSA__", "__SYCL_COMPILER_VERSION"}
PREDEFINED = ("__DATE__", "__TIME__", "__PCPP__", "__PCPP_VERSION__", "__PCPP_ALWAYS_FALSE__", "__PCPP_ALWAYS_TRUE__")
COMMENTS = ("CPP_COMMENT1", "CPP_COMMENT2")
GLUE = re.compile(r"\+\+|--|&&|\|\||<<|>>|->|//|/\*|[-+*/%&|^<>=!]=|::|##")


def decoded(data: bytes) -> str:
    """Source text: UTF-8, with or without a byte-order mark, else Latin-1 (an accent in an old comment). The compiler
    gets it in UTF-8; outside of comments and strings both are the same."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


# Whatever may hold "/*" without beginning a comment, complete comments, and last what begins one without an end.
COMMENT_OR_TEXT = re.compile(r"""//(?:\\\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|/\*""", re.DOTALL)


def unclosed_comment(text: str) -> int:
    """The line on which a comment without an end begins; 0: there is none. ``pcpp`` would take the rest of the line for
    the comment and go on reading."""
    for m in COMMENT_OR_TEXT.finditer(text):
        if m.group() == "/*":
            return text.count("\n", 0, m.start()) + 1
    return 0


class _Malformed(Exception):
    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line, self.message = line, message


MOST_HEADER_BYTES = 1_000_000  # of the user's own headers, in sum: what is over it is left to the compiler


class _Expander(pcpp.Preprocessor):  # type: ignore[misc]
    """``pcpp`` with the pass-through rules of this module."""

    def __init__(self, tunables: Mapping[str, object], own_headers: bool, own_names: set[str], file: str,
                 include: Sequence[str], headers: bool) -> None:
        super().__init__()
        self.headers = headers
        self.file = os.path.abspath(file)
        self.depth = 0  # of braces in the user's file; an include inside of braces cannot stand behind the file
        self.included: dict[str, int] = {}  # own headers → the line of the user's file that asks for them
        self.at = 0
        self.bytes = 0
        for folder in include:
            self.add_path(os.path.abspath(folder))
        self.expand_filemacro = False
        self.expand_countermacro = False
        self.own_headers = own_headers and not headers  # else only once one cannot be found
        self.own_names = own_names
        self.tunables = set(tunables)
        for name in PREDEFINED:
            self.macros.pop(name, None)
        for name, value in tunables.items():
            self.define(f"{name} {int(value) if isinstance(value, bool) else value}")

    # -- what goes through ---------------------------------------------------------------------------------
    def on_include_not_found(self, is_malformed: bool, is_system: bool, curdir: str, path: str) -> NoReturn:
        if not is_system and not is_malformed and OWN_INCLUDE.match(f'#include "{path}'):
            self.own_headers = True
        raise OutputDirective(Action.IgnoreAndPassThrough)

    def on_file_open(self, is_system_include: bool, includepath: str) -> io.StringIO:
        path = Path(includepath)
        left = not self.headers or self.depth or includepath == self.file or path.name in TOOLKIT_HEADERS
        if left or not path.is_file():
            raise OSError("left to the compiler")
        text = decoded(path.read_bytes()).replace("\r\n", "\n")
        self.bytes += len(text)
        if self.bytes > MOST_HEADER_BYTES or "\0" in text:
            raise OSError("left to the compiler")
        self.own_names |= set(DEFINE.findall(text))
        self.included.setdefault(includepath, self.at)
        return io.StringIO(text)

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
        if directive.value == "include" and os.path.abspath(directive.source) == self.file:
            self.at = directive.lineno
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


def _assemble(tokens: Any, line: int = 1) -> str:
    """The text of a token stream that begins at ``line``, each token on its own line number."""
    out: list[str] = []
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


TOOLKIT_HEADERS = frozenset({"helper_cuda.h", "helper_functions.h", "cublas_v2.h", "cuda_fp16.h", "cuda_bf16.h",
                             "cuda_runtime.h"})


@dataclass(frozen=True)
class HeaderText:
    """Where a run of an own header's lines stands: from ``start`` in the expanded text on are ``file``'s lines from
    ``line`` on. ``at`` is the line of the user's file whose ``#include`` brought it in."""

    start: int
    file: str
    line: int
    at: int


@dataclass(frozen=True)
class Expanded:
    """``text`` has the user's lines first, ``lines`` in number, and then those of ``headers``."""

    text: str
    lines: int
    headers: tuple[HeaderText, ...] = ()


def expand(text: str, file: str, defines: Mapping[str, object], include: Sequence[str] = ()) -> str:
    """``text`` with the file's own macros applied, line for line. :class:`InputError` on a malformed directive."""
    return expand_file(text, file, defines, include).text


def expand_file(text: str, file: str, defines: Mapping[str, object], include: Sequence[str] = ()) -> Expanded:
    """The same with the origin of what own headers add."""
    text = text.replace("\r\n", "\n")
    line = unclosed_comment(text)
    if line:
        raise InputError("a comment that begins here is never closed", file=file, line=line, remedy="write */")
    if OWN_INCLUDE.search(text) or include:
        try:
            return _expand(text, file, defines, include, True)
        except InputError:  # perhaps a header's fault, and then the compiler may make more of it
            pass
    return _expand(text, file, defines, include, False)


def _expand(text: str, file: str, defines: Mapping[str, object], include: Sequence[str], headers: bool) -> Expanded:
    own = bool(OWN_INCLUDE.search(text))
    expander = _Expander(defines, own, set(DEFINE.findall(text)), file, include, headers)
    try:
        expander.parse(text, file)
        return _split(expander, text)
    except _Malformed as e:
        raise InputError(f"the preprocessor stops: {e.message}", file=file, line=e.line,
                         remedy="mend the directive; the kernel must compile as it stands") from e
    except (IndexError, AttributeError, TypeError, ValueError, KeyError, RecursionError, AssertionError,
            SyntaxError, OverflowError) as e:  # pcpp has no error of its own for malformed directives
        raise InputError(f"the preprocessor stops: {' '.join(str(e).split()) or type(e).__name__}", file=file,
                         remedy="mend the directive; the kernel must compile as it stands") from e


def _split(expander: _Expander, text: str) -> Expanded:
    """The token stream as the file's own text and, behind it, that of its headers."""
    own: list[Any] = []
    runs: list[tuple[str, list[Any]]] = []
    source = expander.file
    real = {"": ""}  # pcpp spells paths relative to the working folder where it can
    while (tok := expander.token()) is not None:
        origin = real.get(tok.source) or real.setdefault(tok.source, tok.source and os.path.abspath(tok.source))
        if origin and origin != source:
            source = origin
            if source != expander.file:
                runs.append((source, []))
        if source == expander.file:
            expander.depth += (tok.value == "{") - (tok.value == "}")
            own.append(tok)
        else:
            runs[-1][1].append(tok)
    out = _assemble(own)
    lines = max(out.count("\n"), text.count("\n") + 1)
    if not runs:
        return Expanded(out, lines)
    out += "\n" * (lines - out.count("\n"))
    start = lines + 1
    headers: list[HeaderText] = []
    pieces = [out]
    for file, tokens in runs:
        if not any(t.value.strip() for t in tokens):
            continue
        first = tokens[0].lineno
        piece = _assemble(tokens, first)
        headers.append(HeaderText(start, file, first, expander.included.get(file, 0)))
        pieces.append(piece)
        start += piece.count("\n")
    return Expanded("".join(pieces), lines, tuple(headers))


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
