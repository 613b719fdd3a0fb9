// SPDX-License-Identifier: Apache-2.0
// Decodes an AVX512_BF16 instruction in 64-bit mode: EVEX prefix, opcode, ModRM, SIB and compressed
// displacement. Intel SDM volume 2, sections 2.1 and 2.7, spells them.
#pragma once

#include <cstdint>
#include <optional>

namespace emulator {

enum class operation { vcvtneps2bf16, vcvtne2ps2bf16, vdpbf16ps };

enum class segment { none, fs, gs };

// base + index * scale + displacement. General registers are numbered as the hardware does: rax,
// rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
struct address {
  static constexpr int none = -1;
  static constexpr int next_instruction = -2;
  int base = none;
  int index = none;
  int scale = 1;
  std::int64_t displacement = 0;
  segment of = segment::none;
  bool of_32_bits = false;
};

struct instruction {
  emulator::operation operation;
  int length;        // of the instruction, in bytes
  int vector_bytes;  // of the sources: 16, 32 or 64
  int destination;
  int first_source;  // VCVTNEPS2BF16 has the second one only
  int mask;          // a k register; 0: every element
  bool zeroing;      // else merging
  bool in_memory;    // the second source
  bool broadcast;    // of its one element to all
  int second_source;
  address where;
};

// The bytes up to the longest instruction that the processor takes.
class code_reader {
 public:
  explicit code_reader(const std::uint8_t* code) : code_(code) {}
  // 0, which begins nothing here, if the instruction is too long.
  std::uint8_t byte() {
    return length_ < 15 ? code_[length_++] : (too_long_ = true, std::uint8_t{});
  }
  std::int32_t displacement(int bytes) {
    std::uint32_t x = 0;
    for (int i = 0; i < bytes; ++i) x |= std::uint32_t{byte()} << 8 * i;
    const int unused = 32 - 8 * bytes;
    return bytes == 0 ? 0 : static_cast<std::int32_t>(x << unused) >> unused;
  }
  int length() const { return length_; }
  bool too_long() const { return too_long_; }

 private:
  const std::uint8_t* code_;
  int length_ = 0;
  bool too_long_ = false;
};

// Decodes ModRM and the bytes after it. `stored_as` is the N that multiplies a displacement of one
// byte.
inline address decode_address(code_reader& code, int mod, int rm, int base_high, int index_high,
                              int stored_as) {
  address where;
  if (rm == 4) {
    const int sib = code.byte();
    const int index = (sib >> 3 & 7) | index_high;
    if (index != 4) {
      where.index = index;
      where.scale = 1 << (sib >> 6);
    }
    rm = sib & 7;
    if (rm == 5 && mod == 0)
      where.displacement = code.displacement(4);
    else
      where.base = rm | base_high;
  } else if (rm == 5 && mod == 0) {
    where.base = address::next_instruction;
    where.displacement = code.displacement(4);
  } else {
    where.base = rm | base_high;
  }
  if (mod == 1) where.displacement = std::int64_t{code.displacement(1)} * stored_as;
  if (mod == 2) where.displacement = code.displacement(4);
  return where;
}

// Nothing if the bytes are another instruction, or none.
inline std::optional<instruction> decode(const std::uint8_t* bytes) {
  code_reader code(bytes);
  address prefixes;
  int prefix = code.byte();
  for (;; prefix = code.byte()) {
    if (prefix == 0x64)
      prefixes.of = segment::fs;
    else if (prefix == 0x65)
      prefixes.of = segment::gs;
    else if (prefix == 0x67)
      prefixes.of_32_bits = true;
    else if (prefix != 0x26 && prefix != 0x2e && prefix != 0x36 && prefix != 0x3e)
      break;
  }
  if (prefix != 0x62) return {};

  // Bits that extend the number of a register are stored inverted.
  const int p0 = code.byte() ^ 0xf0;
  const int p1 = code.byte() ^ 0x78;
  const int p2 = code.byte() ^ 0x08;
  const int opcode = code.byte();
  const int modrm = code.byte();
  constexpr int map_0f38 = 2;
  if ((p0 & 0x0f) != map_0f38 || (p1 & 0x84) != 0x04) return {};  // W is 0, one bit is fixed

  instruction i{};
  const int mandatory_prefix = p1 & 3;  // 2: F3; 3: F2
  if (opcode == 0x72 && mandatory_prefix == 2)
    i.operation = operation::vcvtneps2bf16;
  else if (opcode == 0x72 && mandatory_prefix == 3)
    i.operation = operation::vcvtne2ps2bf16;
  else if (opcode == 0x52 && mandatory_prefix == 2)
    i.operation = operation::vdpbf16ps;
  else
    return {};

  const int length = p2 >> 5 & 3;
  if (length == 3) return {};
  i.vector_bytes = 16 << length;
  i.destination = (modrm >> 3 & 7) | (p0 >> 7 & 1) << 3 | (p0 >> 4 & 1) << 4;
  i.first_source = (p1 >> 3 & 15) | (p2 >> 3 & 1) << 4;
  if (i.operation == operation::vcvtneps2bf16 && i.first_source != 0) return {};
  i.mask = p2 & 7;
  i.zeroing = (p2 & 0x80) != 0;
  if (i.zeroing && i.mask == 0) return {};

  const int x = p0 >> 6 & 1;
  const int b = p0 >> 5 & 1;
  i.broadcast = (p2 & 0x10) != 0;
  i.in_memory = modrm < 0xc0;
  if (i.in_memory) {
    i.where = decode_address(code, modrm >> 6, modrm & 7, b << 3, x << 3,
                             i.broadcast ? 4 : i.vector_bytes);
    i.where.of = prefixes.of;
    i.where.of_32_bits = prefixes.of_32_bits;
  } else {
    if (i.broadcast) return {};  // none of these rounds as its prefix says
    i.second_source = (modrm & 7) | b << 3 | x << 4;
  }
  if (code.too_long()) return {};
  i.length = code.length();
  return i;
}

}  // namespace emulator
