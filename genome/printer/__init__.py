"""Printers of the kernel IR: CUDA C++ and OpenCL C."""
