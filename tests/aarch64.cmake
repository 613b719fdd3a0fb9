# SPDX-License-Identifier: Apache-2.0
# Builds for AArch64 on another processor, and runs the tests under qemu: a toolchain file of CMake.
# The compiler is Debian's g++, or clang++ if CXX names one.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(triple aarch64-linux-gnu)
set(CMAKE_C_COMPILER ${triple}-gcc)
set(compiler ${triple}-g++)
if("$ENV{CXX}" MATCHES clang)
  set(compiler $ENV{CXX})
endif()
# Later configurations and try_compile() may have another environment.
set(LOWP_ARM_COMPILER ${compiler} CACHE STRING "Compiler for AArch64")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LOWP_ARM_COMPILER)
set(CMAKE_CXX_COMPILER ${LOWP_ARM_COMPILER})
if(LOWP_ARM_COMPILER MATCHES clang)
  set(CMAKE_CXX_COMPILER_TARGET ${triple})
endif()
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/${triple} -cpu max)
set(CMAKE_FIND_ROOT_PATH /usr/${triple})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
