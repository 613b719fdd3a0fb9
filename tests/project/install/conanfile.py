# SPDX-License-Identifier: Apache-2.0
"""Somebody else's project takes lowp from Conan."""

import pathlib

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class Consumer(ConanFile):
    settings = "os", "arch", "compiler", "build_type"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # it would be a file of the checkout
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure(variables={"WAY": "package", "SUFFIX": "cpp"})
        cmake.build()

    def test(self):
        self.run(str(pathlib.Path(self.build_folder, "main")))
