"""What no vertex program can say, on a GPU: one file an algorithm, each with its kernels and how they are launched."""
