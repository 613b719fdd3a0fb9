# SPDX-License-Identifier: Apache-2.0
# The program that counts instructions compiles. It takes minutes to run.
cmake_minimum_required(VERSION 3.25)

separate_arguments(warnings UNIX_COMMAND "${WARNINGS}")
execute_process(
  COMMAND ${CXX} -std=c++20 -fsyntax-only ${warnings} -I${ROOT}/include ${ROOT}/bench/counted/counted.cpp
  COMMAND_ERROR_IS_FATAL ANY)
