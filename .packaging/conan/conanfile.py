# SPDX-License-Identifier: Apache-2.0
"""A Conan 2 recipe that packages this checkout: conan create .packaging/conan -s compiler.cppstd=20

The consumer gets the library's own CMake package and pkg-config file. With -o lowp/*:compiled=True
it also gets the target lowp::compiled."""

import pathlib
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy


class Lowp(ConanFile):
    name = "lowp"
    description = "Training in 16 and 8 bits without losing the updates"
    license = "Apache-2.0"
    topics = ("bfloat16", "float16", "fp8", "stochastic-rounding", "header-only")
    options = {"compiled": [True, False]}
    default_options = {"compiled": False}
    settings = "os", "arch", "compiler", "build_type"
    no_copy_source = True

    @property
    def checkout(self):
        return pathlib.Path(self.recipe_folder, "../..").resolve()

    def set_version(self):
        text = pathlib.Path(self.checkout, "include/lowp/base/config.hpp").read_text()
        self.version = ".".join(re.findall(r"define LOWP_VERSION_[A-Z]+ (\d+)", text))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "include/*"):
            copy(self, pattern, self.checkout, self.export_sources_folder)

    def validate(self):
        check_min_cppstd(self, 20)

    def configure(self):
        self.package_type = "static-library" if self.options.compiled else "header-library"

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.variables["LOWP_BUILD_COMPILED"] = bool(self.options.compiled)
        toolchain.generate()

    def build(self):
        if self.options.compiled:
            cmake = CMake(self)
            cmake.configure()
            cmake.build()

    def package(self):
        cmake = CMake(self)
        if not self.options.compiled:
            cmake.configure()
        cmake.install()
        copy(self, "LICENSE", self.source_folder, pathlib.Path(self.package_folder, "licenses"))

    def package_id(self):
        if not self.info.options.compiled:
            self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = ["lib"] if self.options.compiled else []
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["share/cmake/lowp"]
