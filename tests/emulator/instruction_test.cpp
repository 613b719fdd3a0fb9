// SPDX-License-Identifier: Apache-2.0
// The decoder against what the assembler makes of every form.
#include "instruction.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "machine.hpp"

#if LOWP_HAS_EMULATOR

namespace {

using namespace emulator;

using bytes = std::vector<std::uint8_t>;

constexpr int rax = 0, rcx = 1, rdx = 2, rbx = 3, rsp = 4, rbp = 5, rsi = 6, rdi = 7, r8 = 8,
              r12 = 12, r13 = 13, r14 = 14, r15 = 15;

instruction form(operation what, int vector_bytes, int destination, int first, int second) {
  instruction i{};
  i.operation = what;
  i.vector_bytes = vector_bytes;
  i.destination = destination;
  i.first_source = first;
  i.second_source = second;
  return i;
}
instruction with_mask(instruction i, int mask, bool zeroing) {
  i.mask = mask;
  i.zeroing = zeroing;
  return i;
}
instruction from(instruction i, address where) {
  i.in_memory = true;
  i.where = where;
  return i;
}
instruction broadcast(instruction i, address where) {
  i.broadcast = true;
  return from(i, where);
}

void expect(const bytes& code, const instruction& expected) {
  const std::optional<instruction> got = decode(code.data());
  ASSERT_TRUE(got);
  EXPECT_EQ(got->operation, expected.operation);
  EXPECT_EQ(got->length, static_cast<int>(code.size()));
  EXPECT_EQ(got->vector_bytes, expected.vector_bytes);
  EXPECT_EQ(got->destination, expected.destination);
  EXPECT_EQ(got->first_source, expected.first_source);
  EXPECT_EQ(got->mask, expected.mask);
  EXPECT_EQ(got->zeroing, expected.zeroing);
  EXPECT_EQ(got->in_memory, expected.in_memory);
  EXPECT_EQ(got->broadcast, expected.broadcast);
  EXPECT_EQ(got->second_source, expected.second_source);
  EXPECT_EQ(got->where.base, expected.where.base);
  EXPECT_EQ(got->where.index, expected.where.index);
  EXPECT_EQ(got->where.scale, expected.where.scale);
  EXPECT_EQ(got->where.displacement, expected.where.displacement);
  EXPECT_EQ(got->where.of, expected.where.of);
  EXPECT_EQ(got->where.of_32_bits, expected.where.of_32_bits);
}

// The assembler's bytes lie among data and are never run. clang's takes what the function's target
// has, so the statements are in the function itself.
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define EXPECT_FORM(text, ...)                                                           \
  {                                                                                      \
    SCOPED_TRACE(text);                                                                  \
    const std::uint8_t* begin = nullptr;                                                 \
    const std::uint8_t* end = nullptr;                                                   \
    asm(".pushsection .rodata\n77: " text "\n78: .popsection");                          \
    asm volatile("leaq 77b(%%rip), %0\n\tleaq 78b(%%rip), %1" : "=r"(begin), "=r"(end)); \
    expect(bytes(begin, end), __VA_ARGS__);                                              \
  }

constexpr operation ne = operation::vcvtneps2bf16;
constexpr operation ne2 = operation::vcvtne2ps2bf16;
constexpr operation dp = operation::vdpbf16ps;

TARGET void check_registers() {
  EXPECT_FORM("vcvtneps2bf16 %xmm2, %xmm1", form(ne, 16, 1, 0, 2));
  EXPECT_FORM("{evex} vcvtneps2bf16 %ymm3, %xmm9", form(ne, 32, 9, 0, 3));
  EXPECT_FORM("vcvtneps2bf16 %zmm12, %ymm5", form(ne, 64, 5, 0, 12));
  EXPECT_FORM("vcvtneps2bf16 %zmm31, %ymm16", form(ne, 64, 16, 0, 31));
  EXPECT_FORM("vcvtneps2bf16 %zmm23, %ymm24", form(ne, 64, 24, 0, 23));
  EXPECT_FORM("vcvtne2ps2bf16 %xmm3, %xmm2, %xmm1", form(ne2, 16, 1, 2, 3));
  EXPECT_FORM("vcvtne2ps2bf16 %ymm30, %ymm20, %ymm10", form(ne2, 32, 10, 20, 30));
  EXPECT_FORM("vcvtne2ps2bf16 %zmm8, %zmm31, %zmm17", form(ne2, 64, 17, 31, 8));
  EXPECT_FORM("vdpbf16ps %xmm3, %xmm2, %xmm1", form(dp, 16, 1, 2, 3));
  EXPECT_FORM("vdpbf16ps %ymm15, %ymm16, %ymm31", form(dp, 32, 31, 16, 15));
  EXPECT_FORM("vdpbf16ps %zmm24, %zmm0, %zmm8", form(dp, 64, 8, 0, 24));
}

TARGET void check_masks() {
  EXPECT_FORM("vcvtneps2bf16 %zmm2, %ymm1{%k1}", with_mask(form(ne, 64, 1, 0, 2), 1, false));
  EXPECT_FORM("vcvtneps2bf16 %ymm2, %xmm1{%k7}{z}", with_mask(form(ne, 32, 1, 0, 2), 7, true));
  EXPECT_FORM("vcvtne2ps2bf16 %zmm3, %zmm18, %zmm1{%k2}",
              with_mask(form(ne2, 64, 1, 18, 3), 2, false));
  EXPECT_FORM("vcvtne2ps2bf16 %xmm3, %xmm2, %xmm1{%k3}{z}",
              with_mask(form(ne2, 16, 1, 2, 3), 3, true));
  EXPECT_FORM("vdpbf16ps %ymm3, %ymm2, %ymm1{%k4}", with_mask(form(dp, 32, 1, 2, 3), 4, false));
  EXPECT_FORM("vdpbf16ps %zmm3, %zmm2, %zmm1{%k5}{z}", with_mask(form(dp, 64, 1, 2, 3), 5, true));
}

TARGET void check_addresses() {
  const instruction i = form(ne, 64, 1, 0, 0);
  EXPECT_FORM("vcvtneps2bf16 (%rax), %ymm1", from(i, {.base = rax}));
  EXPECT_FORM("vcvtneps2bf16 (%r8), %ymm1", from(i, {.base = r8}));
  EXPECT_FORM("vcvtneps2bf16 (%rsp), %ymm1", from(i, {.base = rsp}));
  EXPECT_FORM("vcvtneps2bf16 (%r12), %ymm1", from(i, {.base = r12}));
  EXPECT_FORM("vcvtneps2bf16 (%rbp), %ymm1", from(i, {.base = rbp}));
  EXPECT_FORM("vcvtneps2bf16 (%r13), %ymm1", from(i, {.base = r13}));
  EXPECT_FORM("vcvtneps2bf16 (%rcx,%rdx), %ymm1", from(i, {.base = rcx, .index = rdx}));
  EXPECT_FORM("vcvtneps2bf16 (%rbx,%rbp,2), %ymm1",
              from(i, {.base = rbx, .index = rbp, .scale = 2}));
  EXPECT_FORM("vcvtneps2bf16 (%r13,%r12,4), %ymm1",
              from(i, {.base = r13, .index = r12, .scale = 4}));
  EXPECT_FORM("vcvtneps2bf16 (%rsp,%r15,8), %ymm1",
              from(i, {.base = rsp, .index = r15, .scale = 8}));
  EXPECT_FORM("vcvtneps2bf16 0x12345678(,%r14,8), %ymm1",
              from(i, {.index = r14, .scale = 8, .displacement = 0x12345678}));
  EXPECT_FORM("vcvtneps2bf16 -0x12345678, %ymm1", from(i, {.displacement = -0x12345678}));
  EXPECT_FORM("vcvtneps2bf16 0x1234(%rip), %ymm1",
              from(i, {.base = address::next_instruction, .displacement = 0x1234}));
  EXPECT_FORM("vcvtneps2bf16 -4(%eip), %ymm1",
              from(i, {.base = address::next_instruction, .displacement = -4, .of_32_bits = true}));
  EXPECT_FORM("vcvtneps2bf16 %fs:(%rsi), %ymm1", from(i, {.base = rsi, .of = segment::fs}));
  EXPECT_FORM(
      "vcvtneps2bf16 %gs:64(%edi,%r8d), %ymm1",
      from(i,
           {.base = rdi, .index = r8, .displacement = 64, .of = segment::gs, .of_32_bits = true}));
  EXPECT_FORM("vcvtneps2bf16 %ds:(%rsi), %ymm1", from(i, {.base = rsi}));
}

// A displacement is one byte if it is a multiple of the memory operand's size, else four.
TARGET void check_displacements() {
  EXPECT_FORM("vcvtneps2bf16x -2048(%rax), %xmm1",
              from(form(ne, 16, 1, 0, 0), {.base = rax, .displacement = -2048}));
  EXPECT_FORM("vcvtneps2bf16x -2064(%rax), %xmm1",
              from(form(ne, 16, 1, 0, 0), {.base = rax, .displacement = -2064}));
  EXPECT_FORM("vcvtneps2bf16y 4064(%r13), %xmm1",
              from(form(ne, 32, 1, 0, 0), {.base = r13, .displacement = 4064}));
  EXPECT_FORM("vcvtneps2bf16y 4065(%r13), %xmm1",
              from(form(ne, 32, 1, 0, 0), {.base = r13, .displacement = 4065}));
  EXPECT_FORM("vcvtneps2bf16 8128(%rsp), %ymm31",
              from(form(ne, 64, 31, 0, 0), {.base = rsp, .displacement = 8128}));
  EXPECT_FORM("vcvtneps2bf16 508(%rax){1to16}, %ymm1",
              broadcast(form(ne, 64, 1, 0, 0), {.base = rax, .displacement = 508}));
  EXPECT_FORM("vcvtneps2bf16 -512(%rax,%rcx,4){1to8}, %xmm1",
              broadcast(form(ne, 32, 1, 0, 0),
                        {.base = rax, .index = rcx, .scale = 4, .displacement = -512}));
  EXPECT_FORM("vcvtneps2bf16 -516(%rax){1to4}, %xmm1",
              broadcast(form(ne, 16, 1, 0, 0), {.base = rax, .displacement = -516}));
  EXPECT_FORM("vcvtne2ps2bf16 -64(%rdx), %zmm31, %zmm2",
              from(form(ne2, 64, 2, 31, 0), {.base = rdx, .displacement = -64}));
  EXPECT_FORM("vcvtne2ps2bf16 96(%rdx), %ymm31, %ymm2",
              from(form(ne2, 32, 2, 31, 0), {.base = rdx, .displacement = 96}));
  EXPECT_FORM("vcvtne2ps2bf16 4(%rdx){1to4}, %xmm31, %xmm2",
              broadcast(form(ne2, 16, 2, 31, 0), {.base = rdx, .displacement = 4}));
  EXPECT_FORM(
      "vdpbf16ps -64(%r14), %zmm31, %zmm2{%k6}",
      with_mask(from(form(dp, 64, 2, 31, 0), {.base = r14, .displacement = -64}), 6, false));
  EXPECT_FORM("vdpbf16ps 16(%rdx), %xmm7, %xmm22",
              from(form(dp, 16, 22, 7, 0), {.base = rdx, .displacement = 16}));
  EXPECT_FORM(
      "vdpbf16ps -4(%r15){1to8}, %ymm31, %ymm2{%k1}{z}",
      with_mask(broadcast(form(dp, 32, 2, 31, 0), {.base = r15, .displacement = -4}), 1, true));
}

TEST(instruction, of_registers) { check_registers(); }
TEST(instruction, with_mask) { check_masks(); }
TEST(instruction, in_memory) { check_addresses(); }
TEST(instruction, with_compressed_displacement) { check_displacements(); }

// vcvtneps2bf16 %zmm2, %ymm1, and what one bit makes of it.
TEST(instruction, refuses_other_bytes) {
  const bytes valid{0x62, 0xf2, 0x7e, 0x48, 0x72, 0xca};
  ASSERT_TRUE(decode(valid.data()));
  const auto refused = [](bytes code) { return !decode(code.data()); };
  const auto with = [&](std::size_t at, int flipped) {
    bytes code = valid;
    code[at] = static_cast<std::uint8_t>(code[at] ^ flipped);
    return code;
  };
  EXPECT_TRUE(refused(with(0, 1)));      // no EVEX prefix
  EXPECT_TRUE(refused(with(1, 0x01)));   // another map of opcodes
  EXPECT_TRUE(refused(with(1, 0x08)));   // a reserved bit
  EXPECT_FALSE(refused(with(2, 0x01)));  // F2: VCVTNE2PS2BF16
  EXPECT_TRUE(refused(with(2, 0x02)));   // no mandatory prefix
  EXPECT_TRUE(refused(with(2, 0x04)));   // a fixed bit
  EXPECT_TRUE(refused(with(2, 0x08)));   // a first source, which it lacks
  EXPECT_TRUE(refused(with(2, 0x80)));   // W
  EXPECT_TRUE(refused(with(3, 0x08)));   // a first source above 15
  EXPECT_TRUE(refused(with(3, 0x10)));   // rounding control
  EXPECT_TRUE(refused(with(3, 0x20)));   // a vector of 1024 bits
  EXPECT_TRUE(refused(with(3, 0x80)));   // zeroing without a mask
  EXPECT_TRUE(refused(with(4, 0x01)));   // another opcode
  for (const int prefix : {0x66, 0xf0, 0xf2, 0xf3, 0x48}) {
    bytes code = valid;
    code.insert(code.begin(), static_cast<std::uint8_t>(prefix));
    EXPECT_TRUE(refused(code)) << prefix;
  }
  bytes longest(15 - valid.size(), 0x2e);
  longest.insert(longest.end(), valid.begin(), valid.end());
  EXPECT_FALSE(refused(longest));
  longest.insert(longest.begin(), 0x2e);
  EXPECT_TRUE(refused(longest));
}

}  // namespace

#endif
