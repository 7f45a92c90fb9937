"""One extension module over one C core; everything else stands in pyproject.toml.

``make build`` compiles the core into a static library first and names it in AERONPY_STATIC_LIBRARY, so that
only what changed is compiled again. Without it (pip) the core's sources are compiled with the module.
"""

import os
from glob import glob

from Cython.Build import cythonize
from setuptools import Extension, setup

library = os.environ.get("AERONPY_STATIC_LIBRARY")
module = Extension(
    "aeronpy._core.native",
    sources=["aeronpy/_core/native.pyx", *([] if library else sorted(glob("csrc/*/**/*.c", recursive=True)))],
    include_dirs=["csrc/include", "aeronpy/include"],
    extra_objects=[library] if library else [],
    depends=[library] if library else [*glob("csrc/include/apy/*.h"), *glob("aeronpy/include/*.h")],
    define_macros=[("_GNU_SOURCE", None)],
    extra_compile_args=["-std=c11", "-O2", "-fvisibility=hidden", "-Wno-unused-function"],
    libraries=["pthread", "m"],
)

setup(
    ext_modules=cythonize(
        [module],
        build_dir="build/cython",
        compiler_directives={
            "language_level": "3",
            "boundscheck": False,
            "wraparound": False,
            "initializedcheck": False,
            "embedsignature": False,
            # What holds addresses cannot be pickled, and the stub need not speak of it.
            "auto_pickle": False,
            "autotestdict": False,
        },
    ),
)
