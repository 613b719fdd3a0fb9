#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants faults in the device-only code, one at a time; each must make a device test fail.

    python3 tests/cuda/faults.py ROOT FOLDER EMULATION DEVICE NVCC [WORD]

FOLDER is for its files. EMULATION is the folder that LOWP_GPU names, and DEVICE the one that its `setup`
made. With WORD it plants only faults whose line has that word. It prints a line for each fault, and
fails if one survives."""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

# The programs are those of the default suite: source and part.
PROGRAMS = {"convert": 0, "pieces": 0, "replay": 0, "reports": 0, "storage": 0, "watch": 0}
RACES = {"GPUEMU_RACES": "1", "GPUEMU_SEED": "1"}

# Header (below include/lowp/cuda), text, replacement, program, tests, and if the checks must find it.
# A header of None stands for the translated code of all kernels: then nothing is compiled.
FAULTS = [
    ("thread.cuh", '"=" in(pair) : "f"(second), "f"(first));', '"=" in(pair) : "f"(first), "f"(second));', "convert", "*.bfloat16", False),
    ("thread.cuh", '"=" in(pair) : "f"(second), "f"(first));', '"=" in(pair) : "f"(first), "f"(second));', "convert", "*.float8*", False),
    ("thread.cuh", "cvt.rn.bf16x2.f32", "cvt.rz.bf16x2.f32", "convert", "*.bfloat16", False),
    ("thread.cuh", "cvt.rn.f16x2.f32", "cvt.rz.f16x2.f32", "convert", "*.float16", False),
    ("thread.cuh", "cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.satfinite.e5m2x2.f32", "convert", "*.float8_e4m3fn", False),
    ("thread.cuh", "cvt.rn.f16x2.e4m3x2", "cvt.rn.f16x2.e5m2x2", "convert", "*.float8_e4m3fn", False),
    ("thread.cuh", "static_cast<std::uint16_t>(pair << 8)", "static_cast<std::uint16_t>(pair)", "convert", "*.float8_e5m2", False),
    ("thread.cuh", "static_cast<std::uint16_t>(pair >> 16)", "static_cast<std::uint16_t>(pair)", "convert", "*.float16", False),
    # NaN, and saturation against infinity.
    ("accessor.hpp", "if (largest_of(x) <= operand_.limit)", "if (largest_of(x) <= 0xffffffffU)", "convert", "*.float*", False),
    ("accessor.hpp", "has_magnitude<least_nan>", "has_magnitude<least_nan + 1>", "convert", "*.float16", False),
    ("kernel_operand.hpp", "return alike ? lanes::binary32_infinity", "return true || alike ? lanes::binary32_infinity", "convert", "*.float8*", False),
    # The last tile.
    ("kernel.hpp", "tensor.count - begin >= per_tile", "tensor.count - begin >= per_tile / passes", "convert", "*.float8*", False),
    ("kernel_operands.hpp", "(count % per_tile != 0 ? 1 : 0)", "0", "replay", "*", False),
    # Random bits.
    ("kernel_operand.hpp", "    skip<1>(pass, shift);\n", "", "replay", "*rounding", False),
    ("kernel_operand.hpp", "return k < 4 ? word_[k] & 0xffff : word_[k - 4] >> 16;", "return k < 4 ? word_[k] >> 16 : word_[k - 4] & 0xffff;", "replay", "*rounding", False),
    ("kernel_operand.hpp", "source.block(word, index, keys);", "source.block(word, index & 0xffffffff, keys);", "convert", "*offsets*", False),
    ("group_keys.hpp", "product[k], product[k + 4]", "product[k], product[k]",
     "convert", "*offsets*", False),
    ("group_keys.hpp", "(place >> (bit + 3) & 1)", "(place >> (bit + 4) & 1)",
     "convert", "*offsets*", False),
    # Chunks in runs.
    ("chunk.hpp", "i * Bytes / run * run * between", "i * Bytes / run * run", "convert", "*bfloat16", False),
    ("kernel.hpp", "(chunk_size / (IsWhole ? runs : 1))", "chunk_size", "convert", "*bfloat16", False),
    # Scales that threads share, and codes that are compared in pairs.
    ("thread.cuh", "max.NaN.f16x2", "max.f16x2", "storage", "*of_blocks", False),
    ("chunk.hpp", "high_bytes(bytes_.word, i)", "high_bytes(bytes_.word, 0)", "storage", "*of_blocks", False),
    ("accessor.hpp", "magnitudes(4), magnitudes(6)", "magnitudes(4), magnitudes(4)", "storage", "*of_blocks", False),
    ("scale_group.hpp", "x[2 * i] = is_upper_one ? other : own;", "x[2 * i] = own;", "storage", "*of_blocks", False),
    ("scale_group.hpp", "if (turns > 0 && turns < chunks) chunks = turns;", "", "storage", "*of_tiles", False),
    # Threads that work together.
    ("thread.cuh", "return atomicAdd(reinterpret_cast<unsigned long long*>(&word), x);", "std::uint64_t const was = word; word += x; return was;", "reports", "*amax*:*census*", True),
    ("thread.cuh", "return atomicAdd(&word, x);", "std::uint32_t const was = word; word += x; return was;", "reports", "*census*", True),
    ("thread.cuh", "return atomicMax(&word, x);", "return atomicExch(&word, x);", "reports", "*amax*", False),
    ("../report/warp_sums.hpp", "lanes::max(x, thread.template exchanged<End / 2>(x))", "x", "reports", "*blocks", False),
    ("thread.cuh", "bytes[N * sizeof(T)];", "bytes[N / 2 * sizeof(T)];", "reports", "*amax*", False),
    ("thread.cuh", "return gridDim.x;", "return gridDim.x + 1;", "reports", "*list*", False),
    ("thread.cuh", "reinterpret_cast<function*>(bytes) = make();\n      __syncthreads();", "reinterpret_cast<function*>(bytes) = make();", "replay", "*step", True),
    ("thread.cuh", "if (threadIdx.x == 0) *reinterpret", "*reinterpret", "replay", "*step", True),
    ("scale_group.hpp", "words[thread.thread()] = x;\n      thread.barrier();", "words[thread.thread()] = x;", "storage", "*tiles", True),
    ("block_scales.hpp", "    thread.barrier();\n    for (unsigned row", "    for (unsigned row", "storage", "*tiles", True),
    (None, "gpuemu_barrier(", "(void)(", "reports", "*amax*", True),
    (None, "gpuemu_barrier(", "(void)(", "pieces", "*", True),
    (None, "warp_barrier, 4294967295u", "vote_any, 4294967295u", "reports", "*blocks", True),
    (None, "writes | atomically", "writes", "reports", "*amax*", True),
    (None, "shfl_bfly", "shfl_idx", "pieces", "*", False),
    (None, "shfl_bfly", "shfl_idx", "reports", "*blocks", False),
    # Rows.
    ("rows/row_kernel.hpp", "thread_.warp_barrier();", "thread_.thread();", "pieces", "*", True),
    ("rows/row_team.hpp", "turn_ ^= 1;", "turn_ ^= 0;", "pieces", "*", True),
    ("rows/row_team.hpp", "left > k * step ? own_", "left > k * step - 100000 ? own_", "pieces", "*", True),
    ("rows/id_kernel.hpp", "    thread.barrier();\n    if (table.tiles == 1)", "    if (table.tiles == 1)", "pieces", "*mean_loss*", True),
    # Launches.
    ("launch.cuh", "config.stream = stream_;", "config.stream = nullptr;", "replay", "*step", False),
    ("launch.cuh", "cudaMemcpyDefault, stream_)", "cudaMemcpyDefault, nullptr)", "replay", "*rounding", False),
    ("launch.cuh", "&& dynamic_bytes > always_allowed", "&& dynamic_bytes > 1000 * always_allowed", "pieces", "*", False),
    ("launch.cuh", "config.dynamicSmemBytes = dynamic_bytes;", "config.dynamicSmemBytes = dynamic_bytes / 2;", "pieces", "*", False),
    ("launch.cuh", "if (attributes.type != cudaMemoryTypeUnregistered) return {};", "return {};", "replay", "*refuses*", False),
    ("launch.cuh", "if (code_ != cudaSuccess) detail::raise<error>", "if (code_ == cudaSuccess) detail::raise<error>", "replay", "*refuses*", False),
    ("on_stream.cuh", "if constexpr (Throws)\n", "if constexpr (!Throws) return s;\n    else if constexpr (false)\n", "replay", "*refuses*", False),
    # Arguments that a graph must read anew.
    ("replay.hpp", "    now.lr = state->lr;\n", "", "replay", "*step", False),
    ("replay.hpp", "{Element(now, state->step), ", "{Element(now, 1), ", "replay", "*step", False),
    ("replay.hpp", "set_stream(state->stream, state->step)", "set_stream(0, state->step)", "replay", "*step", False),
    # A watch's scratch.
    ("overflow_watch.cuh", "      clear(count);\n", "", "watch", "*", False),
]


def entries(compiled):
    """Returns the names of the kernels in PTX."""
    return set(re.findall(rb"\.entry\s+([\w$]+)", compiled))


def namespace(compiled):
    """Returns the mangled name of the unnamed namespace, which differs by process."""
    found = re.search(rb"N(\d+)_GLOBAL__N__", compiled)
    return compiled[found.end(1):found.end(1) + int(found[1])] if found else b""


class Bench:
    def __init__(self, root, folder, emulation, device, nvcc):
        self.root, self.folder, self.emulation, self.device, self.nvcc = root, folder, emulation, device, nvcc
        self.objects, self.passed = {}, set()
        self.flags = subprocess.check_output([emulation / "flags"], text=True).split()

    def compile(self, name, include, out, what):
        """Compiles the program NAME with these headers, `-c` or `-fatbin`; returns false if it does not compile."""
        tests = self.root / "tests"
        return subprocess.run(
            [self.nvcc, what, "-std=c++20", "-O1", f"-I{include}", f"-I{tests}", f'-DLOWP_TESTS="{tests}"', "-DLOWP_TEST_SOME",
             "-DPARTS=4", f"-DPART={PROGRAMS[name]}", *self.flags, tests / f"cuda/device_{name}_test.cu", "-o", out],
            capture_output=True, text=True).returncode == 0

    def link(self, compiled, program):
        subprocess.run([self.nvcc, *self.flags, compiled, "-o", program, "-lgtest_main", "-lgtest", "-lpthread"], check=True)
        return program

    def headers(self, folder):
        """Copies the headers, with the portable backend alone: that halves the time to compile."""
        include = folder / "include"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.root / "include", include)
        dispatch = include / "lowp/simd/dispatch.hpp"
        source = dispatch.read_text()
        dispatch.write_text(re.sub(r"struct native : isa_list<.*,.*> {};", "struct native : isa_list<portable> {};", source))
        return include

    def prepare(self, name):
        """Compiles the program NAME without a fault."""
        compiled = self.folder / f"{name}.o"
        if not self.compile(name, self.headers(self.folder / name), compiled, "-c"):
            sys.exit(f"{name} does not compile without a fault")
        self.objects[name] = compiled
        self.link(compiled, self.folder / f"clean_{name}")

    def check(self, name, tests, is_checked):
        """Stops unless these tests pass without a fault."""
        if not self.passes(self.folder / f"clean_{name}", tests, RACES if is_checked else {}):
            sys.exit(f"{name} {tests} fails without a fault")

    def passes(self, program, tests, variables):
        """Returns true if all tests pass and the emulation complains of nothing."""
        variables = {"GPUEMU_WARN": "0", **variables}
        ran = subprocess.run(
            ["env", *(f"{k}={v}" for k, v in variables.items()), self.emulation / "run", self.device, program,
             "--gtest_brief=1", f"--gtest_filter={tests}"], capture_output=True, text=True, timeout=900)
        said = ran.stdout + ran.stderr
        return ran.returncode == 0 and " complaints" not in said and "[  PASSED  ]" in said

    def with_kernels(self, name, include, folder):
        """Returns the program NAME with the kernels of these headers and the host's code without a fault, or None:
        the host's code takes half of the time to compile, and most faults are not in it."""
        kernels, compiled = folder / "kernels", folder / "kernels.o"
        if not self.compile(name, include, kernels, "-fatbin"):
            return None
        whole, ptx = self.objects[name].read_bytes(), kernels.read_bytes()
        own, other = namespace(whole), namespace(ptx)
        if len(own) != len(other):
            return None
        ptx = ptx.replace(other, own)
        if entries(ptx) != entries(whole):
            return None
        kernels.write_bytes(ptx)
        subprocess.run(["objcopy", "--update-section", f".nv_fatbin={kernels}", self.objects[name], compiled], check=True)
        return self.link(compiled, folder / "kernels_program")

    def find(self, place, fault):
        """Returns "found", or the reason that it is not."""
        header, text, other, name, tests, is_checked = fault
        variables = dict(RACES) if is_checked else {}
        if header is None:
            mutated = {**variables, "GPUEMU_MUTATE": f"{text}={other}"}
            return "SURVIVED" if self.passes(self.folder / f"clean_{name}", tests, mutated) else "found"
        folder = self.folder / f"fault_{place}"
        include = self.headers(folder)
        path = include / "lowp/cuda" / header
        source = path.read_text()
        if source.count(text) == 0:
            return "the header lacks this text"
        path.write_text(source.replace(text, other))
        program = self.with_kernels(name, include, folder)
        if program is None or self.passes(program, tests, variables):
            if not self.compile(name, include, folder / "faulty.o", "-c"):
                return "does not compile"
            if self.passes(self.link(folder / "faulty.o", folder / "faulty"), tests, variables):
                return "SURVIVED"
        shutil.rmtree(folder)
        return "found"


def main():
    root, folder, emulation, device, nvcc = map(pathlib.Path, sys.argv[1:6])
    word = sys.argv[6] if len(sys.argv) > 6 else ""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    bench = Bench(root, folder, emulation, device, nvcc)
    chosen = [fault for fault in FAULTS if word in str(fault)]
    wrong = []

    def plant(place):
        begin = time.time()
        return bench.find(place, chosen[place]), time.time() - begin

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(bench.prepare, sorted({fault[3] for fault in chosen})))
        list(pool.map(lambda run: bench.check(*run), sorted({fault[3:] for fault in chosen})))
        for (header, text, other, name, *_), (result, seconds) in zip(chosen, pool.map(plant, range(len(chosen)))):
            line = f"{result}: {header or 'all kernels'}: {text.strip()} -> {other.strip() or 'nothing'} ({name}, {seconds:.0f} s)"
            print(line.replace("\n", " "), flush=True)
            if result != "found":
                wrong.append(line)
    print(f"{len(chosen) - len(wrong)} of {len(chosen)} faults found")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
