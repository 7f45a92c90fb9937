"""One small strategy in three kinds of native code: Numba, C by cffi, Cython. Each is run by ``python -m``."""
