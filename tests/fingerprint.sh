#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Computes a number that stands for the bits of every operation, on each backend of this machine.
# Compares it with the recorded one: sh tests/fingerprint.sh
# CXX and CXXFLAGS name another compiler and other flags than -O2. The build takes a minute or two.
set -eu
cd "$(dirname -- "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
program=$scratch/fingerprint
# shellcheck disable=SC2086
${CXX:-g++} -std=c++20 ${CXXFLAGS:--O2} -Iinclude -Itests -DUNIT=this_unit tests/project/flags/unit.cpp \
  tests/project/sapphire/conformance.cpp -o "$program"
status=0
for backend in portable avx2 avx512 avx512_bf16 neon neon_bf16; do
  if LOWP_ISA=$backend "$program" >"$scratch/out" 2>"$scratch/error"; then
    verdict='as recorded'
  elif grep -q 'not a backend here' "$scratch/error"; then
    continue
  else
    verdict='NOT as recorded' status=1
  fi
  echo "$backend: $(grep fingerprint "$scratch/out" || cat "$scratch/error"), $verdict"
done
exit $status
