"""A grammar of CUDA kernels for hypothesis: typed, so that each compiles, and spelled in the ways people spell them."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

HEAD = ("struct Pair {\n    int at;\n    float by;\n};\n"
        "__device__ inline float blend(float p, float q) { return p * 0.25f + q; }\n")


@dataclass
class Scope:
    """Names in reach; ``draw`` is hypothesis's."""

    draw: st.DrawFn
    ints: list[str]
    floats: list[str]
    writable: list[str]  # integers that may be assigned
    vectors: list[str] = field(default_factory=list)
    loops: int = 0
    fixed: frozenset[str] = frozenset()  # counters of loops around

    def inner(self, *, loop: bool = False, counter: str = "") -> Scope:
        return Scope(self.draw, list(self.ints), list(self.floats), list(self.writable), list(self.vectors),
                     self.loops + loop, self.fixed | {counter})

    def pick(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))

    def number(self, most: int) -> int:
        return self.draw(st.integers(0, most))

    # ------------------------------------------------------------------------------------------ expressions
    def integer(self, depth: int = 3) -> str:
        if depth <= 0 or self.number(5) == 0:
            return self.pick(*self.ints, *self.ints, "3", "0x1F", "010", "7u", "threadIdx.x", "blockIdx.y", "'c'",
                             "(int)sizeof(float4)", "p.at", "blockDim.x")
        a, b = self.integer(depth - 1), self.integer(depth - 1)
        match self.number(15):
            case 0:
                return f"- -{self.pick(*self.ints)}"
            case 1:
                return f"-({a})"
            case 2:
                return f"~ ({a})"
            case 3:
                return f"({a}) << {self.number(4)}"
            case 4:
                return f"(({a}) >> 2)"
            case 5:
                return f"({a}) % (({b}) | 1)"
            case 6:
                return f"({a} {self.pick('<', '<=', '==', '!=', '>', '>=')} {b})"
            case 7:
                return f"({a} ? {b} : {self.integer(depth - 1)})"
            case 8:
                return f"(int)({self.real(depth - 1)})"
            case 9:
                return f"b[({a}) & 1023]"
            case 10:
                return f"min((int)({a}), (int)({b}))"
            case 11:
                return f"*(b + (({a}) & 255))"
            case 12:
                return f"({a} {self.pick('&&', '||')} !{self.pick(*self.ints)})"
            case 13:
                return f"static_cast<{self.pick('int', 'short', 'unsigned int', 'long long')}>({a})"
        return f"{self.wrapped(a)} {self.pick('+', '-', '*', '&', '|', '^')} {self.wrapped(b)}"

    def wrapped(self, e: str) -> str:
        """In parentheses, of which some are needed."""
        return f"({e})" if any(c in e for c in " ?<>&|") else e

    def real(self, depth: int = 3) -> str:
        if depth <= 0 or self.number(5) == 0:
            return self.pick(*self.floats, *self.floats, "1.0f", ".5f", "1e-3f", "2.", "p.by", *(f"{v}.z" for v in
                                                                                           self.vectors))
        a, b = self.real(depth - 1), self.real(depth - 1)
        i = self.integer(depth - 2)
        match self.number(13):
            case 0:
                return f"- -{self.pick(*self.floats)}"
            case 1:
                return f"-({a})"
            case 2:
                return f"fmaxf({a}, {b})"
            case 3:
                return f"sqrtf(fabsf({a}))"
            case 4:
                return f"(float)({i})"
            case 5:
                return f"a[({i}) & 1023]"
            case 6:
                return f"((float4*)a)[({i}) & 255].{self.pick('x', 'y', 'w')}"
            case 7:
                return f"reinterpret_cast<const float2 *>(a)[({i}) & 7].y"
            case 8:
                return f"(({i}) ? {a} : {b})"
            case 9:
                return f"__ldg(&v[({i}) & 3].x)"
            case 10:
                return f"blend({a}, {b})"
            case 11:
                return f"*&a[({i}) & 15]"
        return f"({a}) {self.pick('+', '-', '*', '/')} ({b})"

    # ------------------------------------------------------------------------------------------- statements
    def fresh(self, kind: str) -> str:
        return f"{kind}{self.number(3)}x{self.loops}"

    def body(self, depth: int, size: int = 4) -> str:
        inner = self.inner()
        return "{\n" + "".join(inner.statement(depth) for _ in range(1 + self.number(size - 1))) + "}\n"

    def statement(self, depth: int) -> str:
        extra = self.pick("", "", "", "/* text */ ", "// note\n", "\n")
        kind = self.number(21 if depth > 0 else 11)
        return extra + self.simple(kind) if kind < 12 else extra + self.nested(kind, depth)

    def simple(self, kind: int) -> str:
        match kind:
            case 0 | 1:
                return f"a[({self.integer(1)}) & 1023] {self.pick('=', '+=', '-=', '*=')} {self.real()};\n"
            case 2:
                return f"b[({self.integer(1)}) & 1023] {self.pick('=', '|=', '<<=', '%=')} ({self.integer()}) | 1;\n"
            case 3 if self.writable:
                return f"{self.pick(*self.writable)} {self.pick('=', '+=', '^=', '>>=')} {self.integer(2)};\n"
            case 4 if self.writable:
                w = self.pick(*self.writable)
                return self.pick(f"{w}++;\n", f"--{w};\n", f"b[{w}++ & 7] = 1;\n", f"{w} = {w} + 1;\n")
            case 5:
                return "s[threadIdx.x] = a[threadIdx.x];\n__syncthreads();\na[0] = s[1];\n"
            case 6 if self.writable:
                w = self.pick(*self.writable)
                return f'asm volatile("add.s32 %0, %1, %2;" : "=r"({w}) : "r"({w}), "r"(n));\n'
            case 7:
                return f"atomicAdd(&b[({self.integer(1)}) & 1023], {self.integer(1)});\n"
            case 8:
                leave = self.pick("return", *(("continue", "break") if self.loops else ()))
                return f"if ({self.integer(2)}) {leave};\n"
            case 9:
                return f"((float4*)a)[({self.integer(1)}) & 255].y = {self.real(1)};\n"
            case 10:
                return f"*(a + (({self.integer(1)}) & 63)) = {self.real(2)};\n"
        return f"a[1] = {self.real()}, a[2] = {self.real(1)};\n"

    def nested(self, kind: int, depth: int) -> str:
        match kind:
            case 12:
                name = self.fresh("t")
                items = ", ".join(self.integer(1).join(("(int)(", ")")) for _ in range(3))
                return f"{{ int {name}[3] = {{{items}}}; b[0] = {name}[n & 1]; }}\n"
            case 13:
                return f"{{ float q[2][2] = {{{{1.f, {self.floats[0]}}}, {{2.f}}}}; a[n & 1] = q[n & 1][0]; }}\n"
            case 14:
                inner = self.inner()
                inner.vectors = [*self.vectors, "f4"]
                make = self.pick("f4 = {1.f, 2.f, x, 4.f}", "f4 = make_float4(x, 1, 2, 3)", "f4 = v[n & 3]")
                return f"{{ float4 {make};\n{inner.statement(depth - 1)}}}\n"
            case 15 | 16:
                other = f"else {self.body(depth - 1)}" if self.number(1) else ""
                return f"if ({self.integer(2)}) {self.body(depth - 1)}{other}"
            case 17 | 18:
                return self.loop(depth)
            case 19:
                w = self.fresh("w")
                inner = self.inner(loop=True)
                inner.ints.append(w)
                text = inner.statement(depth - 1)
                return self.pick(f"{{ int {w} = 5; while ({w}-- > 0) {{ {text} }} }}\n",
                                 f"{{ int {w} = 0; do {{ {text} }} while (++{w} < 4); }}\n")
            case 20:
                name = self.fresh("m")
                inner = self.inner()
                inner.ints.append(name)
                inner.writable.append(name)
                first = self.pick("int", "const int", "auto", "unsigned int", "short")
                if first.startswith("const"):
                    inner.writable.remove(name)
                text = self.integer(2) if first != "auto" else f"(int)({self.integer(2)})"
                inner.writable = [w for w in inner.writable if w != name or first in ("int", "auto")]
                return f"{{ {first} {name} = {text}, other = 2; b[other] += {name};\n{inner.statement(depth - 1)}}}\n"
        return f"{{ const float* r = a + (n & 7); a[0] = r[1] + *r; {self.statement(depth - 1)} }}\n"

    def loop(self, depth: int) -> str:
        k = self.fresh("k")
        inner = self.inner(loop=True, counter=k)
        inner.ints.append(k)
        inner.writable = [w for w in self.writable if w != k]
        head = self.pick(f"int {k} = 0; {k} < n; ++{k}", f"int {k} = n - 1; {k} >= 0; {k}--",
                         f"int {k} = threadIdx.x; {k} < n; {k} += blockDim.x",
                         f"unsigned {k} = 1; {k} < 64u; {k} <<= 1",
                         f"int {k} = 0, e = n; {k} < e; {k} += 3", f"int {k} = 8; {k} > 0; {k} /= 2",
                         f"int {k} = 2; {k} <= 10; {k} = {k} + 2")
        pragma = self.pick("", "", "\n#pragma unroll\n", "\n#pragma unroll 2\n")
        if self.number(2) == 0:
            return f"{pragma}for ({head})\n{inner.simple(0)}"
        return f"{pragma}for ({head}) {inner.body(depth - 1, 3)}"


@st.composite
def kernels(draw: st.DrawFn, count: int = 6) -> str:
    """A file of kernels ``k0``, ``k1``, ..."""
    out = [HEAD]
    for n in range(count):
        s = Scope(draw, ["n", "i", "m"], ["x", "y"], ["m"])
        text = "".join(s.statement(3) for _ in range(2 + s.number(3)))
        out.append(f"__global__ void k{n}(float* a, int *b, const float4* __restrict__ v, Pair p, int n, float x) {{\n"
                   "extern __shared__ float s[];\nint i = blockIdx.x * blockDim.x + threadIdx.x, m = n;\n"
                   f"float y = x;\n{text}}}\n")
    return "".join(out)
