# SPDX-License-Identifier: Apache-2.0
"""Compiles lowp_torch's libraries when pip installs it: all kinds, or those that the patterns
of LOWP_TORCH_KINDS match. PyTorch is not needed for that."""

import fnmatch
import os
import sys
import tempfile

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lowp_torch_build  # noqa: E402

KINDS = {"_".join(kind): kind for kind in lowp_torch_build.KINDS}
patterns = (os.environ.get("LOWP_TORCH_KINDS") or "*").split()
unknown = [pattern for pattern in patterns if not fnmatch.filter(KINDS, pattern)]
chosen = [name for name in KINDS if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
if unknown or not chosen:
    sys.exit(f"LOWP_TORCH_KINDS: no kind is {' or '.join(unknown)}. There are {' '.join(KINDS)}")


class BuildKinds(build_ext):
    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def build_extension(self, ext):
        kind = KINDS[ext.name.rpartition(".")[2]]
        lowp_torch_build.build(kind, os.path.abspath(self.get_ext_fullpath(ext.name)))


with tempfile.TemporaryDirectory() as scratch:  # the folder of the sources stays as it is
    setup(ext_modules=[Extension(f"lowp_torch_kernels.{name}", ["lowp_torch.cpp"]) for name in chosen],
          cmdclass={"build_ext": BuildKinds},
          options={"build": {"build_base": scratch}, "egg_info": {"egg_base": scratch}})
