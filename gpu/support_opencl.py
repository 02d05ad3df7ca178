"""The OpenCL worker's own kernel: the rate of multiply-adds."""

from __future__ import annotations

from genome.program import Launch, Program

FMA_PER_ITEM = 8 * 16 * 2048
ITEMS, GROUP = 1 << 10, 16
SOURCE = """
// 8 independent chains of 2048 multiply-adds of 16 lanes an item: a CPU's vector units are filled by explicit vectors
__kernel void evo_fma(__global float* out, float x, float y) {
  float16 a = (float)get_local_id(0), b = a + 1.0f, c = a + 2.0f, d = a + 3.0f;
  float16 e = a + 4.0f, f = a + 5.0f, g = a + 6.0f, h = a + 7.0f;
  for (int i = 0; i < 2048; ++i) {
    a = a * x + y; b = b * x + y; c = c * x + y; d = d * x + y;
    e = e * x + y; f = f * x + y; g = g * x + y; h = h * x + y;
  }
  float16 s = a + b + c + d + e + f + g + h;
  out[get_global_id(0)] = s.s0 + s.s1 + s.s2 + s.s3 + s.s4 + s.s5 + s.s6 + s.s7 + s.s8 + s.s9 + s.sa + s.sb + s.sc
                          + s.sd + s.se + s.sf;
}
"""


def program() -> Program:
    return Program(SOURCE, (Launch("evo_fma", (str(ITEMS // GROUP), "1", "1"), (GROUP, 1, 1)),), "opencl")
