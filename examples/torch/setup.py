# SPDX-License-Identifier: Apache-2.0
"""Compiles lowp_torch's libraries when pip installs it: the engine, and fused steps of the common kinds or
of those that the patterns of LOWP_TORCH_KINDS match. PyTorch is not needed for that."""

import fnmatch
import os
import shutil
import sys
import tempfile

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "lowp_torch"))
import build  # noqa: E402

KINDS = {"_".join(kind): kind for kind in [*build.KINDS, *build.FUNCTIONAL]}
ALWAYS = {name: (name,) for name, in (build.HOST, build.ENGINE)}
common = " ".join("_".join(kind) for kind in build.COMMON)
patterns = (os.environ.get("LOWP_TORCH_KINDS") or common).split()
unknown = [pattern for pattern in patterns if not fnmatch.filter(KINDS, pattern)]
chosen = [name for name in KINDS if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
if unknown or not chosen:
    sys.exit(f"LOWP_TORCH_KINDS: no kind is {' or '.join(unknown)}. There are {' '.join(KINDS)}")


class BuildKinds(build_ext):
    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def build_extension(self, ext):
        name = ext.name.rpartition(".")[2]
        kind = KINDS.get(name) or ALWAYS[name]
        print("compiling", name, flush=True)
        build.build(kind, os.path.abspath(self.get_ext_fullpath(ext.name)))


class BuildHeaders(build_py):
    """Installs lowp's headers too: a library that is not compiled now, or for a GPU, is when it is used."""

    def run(self):
        super().run()
        headers = os.path.join(self.build_lib, "lowp_torch", "include")
        shutil.copytree(os.path.join(here, "..", "..", "include"), headers, dirs_exist_ok=True)


with tempfile.TemporaryDirectory() as scratch:  # the folder of the sources stays as it is
    # The wheel serves all versions of Python: host.cpp alone calls its functions, of the stable ABI.
    setup(ext_modules=[Extension(f"lowp_torch.kernels.{name}", ["lowp_torch/step.cpp"], py_limited_api=True)
                       for name in [*ALWAYS, *chosen]],
          cmdclass={"build_ext": BuildKinds, "build_py": BuildHeaders},
          options={"build": {"build_base": scratch}, "egg_info": {"egg_base": scratch},
                   "bdist_wheel": {"py_limited_api": "cp39"}})
