"""From a program's source to kernels: check/ refuses, lower.py splits, cpu/, cuda/ and python/ are the targets."""
