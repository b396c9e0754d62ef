"""conanfile.py - Tilewright for Conan 2: conan create tools/package/conan

The package has Tilewright's own files for find_package() and pkg-config. The program in it is built without jansson
and zlib, so it has no `report` and reads no .gz and .npz. The step conan of tools/release_check.sh runs it.
"""

import os
import subprocess

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rmdir


class Tilewright(ConanFile):
    name = "tilewright"
    description = "Dense matrix multiplication on the CPU, CUDA and OpenCL"
    license = "Apache-2.0"
    topics = ("gemm", "blas", "matrix", "cuda", "opencl")
    package_type = "unknown"  # both libraries, static and shared, and a program
    settings = "os", "arch", "compiler", "build_type"

    def set_version(self):
        tool = os.path.join(self.recipe_folder, "..", "..", "version.sh")
        self.version = subprocess.run([tool], check=True, capture_output=True, text=True).stdout.strip()

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..", "..")
        copy(self, "*", root, self.export_sources_folder, excludes=("build*", ".git", ".git/*"))

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("Tilewright is for Linux")

    def configure(self):
        self.settings.rm_safe("compiler.cppstd")
        self.settings.rm_safe("compiler.libcxx")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update(
            TILEWRIGHT_TESTS=False, TILEWRIGHT_MPI=False, TILEWRIGHT_BLAS_BELOW="", JANSSON_LIBRARY="", ZLIB_LIBRARY=""
        )
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        rmdir(self, os.path.join(self.package_folder, "share"))

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # lib/cmake/tilewright is found
        for name in ("tilewright", "tilewright_blas"):
            self.cpp_info.components[name].libs = [name]
            self.cpp_info.components[name].system_libs = ["pthread", "dl", "m"]
            self.cpp_info.components[name].builddirs = [os.path.join("lib", "cmake", "tilewright")]
