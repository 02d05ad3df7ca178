"""The CUDA front-end: plain ``.cu`` text to typed IR (preprocess, parse, convert)."""
