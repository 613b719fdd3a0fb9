// SPDX-License-Identifier: Apache-2.0
// Instructions that trap, against the processor if it has them. Every form runs with random
// operands, and afterwards every register must be right.
#include "handler.hpp"

#include <gtest/gtest.h>

#if LOWP_HAS_EMULATOR

#include <asm/prctl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <random>

#include "instruction.hpp"
#include "machine.hpp"
#include "numbers.hpp"
#include "state.hpp"

namespace {

using namespace emulator;

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))

struct alignas(64) registers {
  std::array<vector, 32> zmm;
  std::array<std::uint64_t, 8> k;
  std::array<std::uint64_t, 16> general;  // rsp is the stack's
};
static_assert(sizeof(vector) == 64);

constexpr std::size_t rsp = 4;

// Calls `entry` with these registers, and puts into them what it leaves.
TARGET void call(const std::uint8_t* entry, registers& r) {
  registers* at = &r;
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n\t"  // past the red zone
      "pushq %%rbx\n\tpushq %%rbp\n\tpushq %%r12\n\tpushq %%r13\n\tpushq %%r14\n\tpushq %%r15\n\t"
      "pushq %%rdi\n\tpushq %%rsi\n\t"
      ".irp "
      "n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
      "\tvmovdqu64 64*\\n(%%rdi), %%zmm\\n\n\t.endr\n"
      "\t.irp n,0,1,2,3,4,5,6,7\n\tkmovq 2048+8*\\n(%%rdi), %%k\\n\n\t.endr\n\t"
      "movq 2112(%%rdi), %%rax\n\tmovq 2120(%%rdi), %%rcx\n\tmovq 2128(%%rdi), %%rdx\n\t"
      "movq 2136(%%rdi), %%rbx\n\tmovq 2152(%%rdi), %%rbp\n\tmovq 2160(%%rdi), %%rsi\n"
      "\t.irp n,8,9,10,11,12,13,14,15\n\tmovq 2112+8*\\n(%%rdi), %%r\\n\n\t.endr\n\t"
      "movq 2168(%%rdi), %%rdi\n\t"
      "callq *(%%rsp)\n\t"
      "pushq %%rdi\n\tmovq 16(%%rsp), %%rdi\n\t"
      "movq %%rax, 2112(%%rdi)\n\tmovq %%rcx, 2120(%%rdi)\n\tmovq %%rdx, 2128(%%rdi)\n\t"
      "movq %%rbx, 2136(%%rdi)\n\tmovq %%rbp, 2152(%%rdi)\n\tmovq %%rsi, 2160(%%rdi)\n"
      "\t.irp n,8,9,10,11,12,13,14,15\n\tmovq %%r\\n, 2112+8*\\n(%%rdi)\n\t.endr\n\t"
      "popq %%rax\n\tmovq %%rax, 2168(%%rdi)\n"
      "\t.irp "
      "n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
      "\tvmovdqu64 %%zmm\\n, 64*\\n(%%rdi)\n\t.endr\n"
      "\t.irp n,0,1,2,3,4,5,6,7\n\tkmovq %%k\\n, 2048+8*\\n(%%rdi)\n\t.endr\n\t"
      "vzeroupper\n\t"
      "addq $16, %%rsp\n\t"
      "popq %%r15\n\tpopq %%r14\n\tpopq %%r13\n\tpopq %%r12\n\tpopq %%rbp\n\tpopq %%rbx\n\t"
      "leaq 128(%%rsp), %%rsp"
      : "+D"(at), "+S"(entry)
      :
      : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2",
        "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
        "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23",
        "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3",
        "k4", "k5", "k6", "k7");
}

// A page of code, a page of data and a page that cannot be read, all below 4 GiB.
class pages {
 public:
  static constexpr std::size_t size = 4096;
  pages() {
    void* const memory = mmap(nullptr, 3 * size, PROT_READ | PROT_WRITE | PROT_EXEC,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (memory == MAP_FAILED) return;
    code_ = static_cast<std::uint8_t*>(memory);
    mprotect(data() + size, size, PROT_NONE);
  }
  ~pages() {
    if (code_ != nullptr) munmap(code_, 3 * size);
  }
  pages(const pages&) = delete;
  pages& operator=(const pages&) = delete;

  bool exist() const { return code_ != nullptr; }
  std::uint8_t* data() const { return code_ + size; }
  // ud2, the instruction, ret: entered at the one the instruction is emulated, at the other it is
  // the processor's.
  std::uint8_t* emulated() const { return code_; }
  std::uint8_t* native() const { return code_ + 2; }
  void write(const std::uint8_t* instruction, std::size_t length) {
    code_[0] = 0x0f;
    code_[1] = 0x0b;
    std::memcpy(native(), instruction, length);
    native()[length] = 0xc3;
  }

 private:
  std::uint8_t* code_ = nullptr;
};

sigjmp_buf refused;
void on_refusal(int) { siglongjmp(refused, 1); }

// False if the instruction is illegal.
__attribute__((noinline)) bool runs(const std::uint8_t* entry, registers& r) {
  if (sigsetjmp(refused, 1) != 0) return false;
  call(entry, r);
  return true;
}

// Bytes of one instruction.
struct assembled {
  std::array<std::uint8_t, 16> code{};
  std::size_t length = 0;
  void byte(std::uint64_t x) { code[length++] = static_cast<std::uint8_t>(x); }
  void four_bytes(std::int64_t x) {
    for (int i = 0; i < 4; ++i) byte(static_cast<std::uint64_t>(x) >> 8 * i & 0xff);
  }
};

// The fields of an encoding besides its memory operand.
struct fields {
  operation what;
  unsigned length, destination, first, second, mask;
  bool zeroing, broadcast, in_memory, wide;
};

// x and b extend what ModRM and SIB name.
void prefix_and_opcode(assembled& out, const fields& f, unsigned x, unsigned b) {
  out.byte(0x62);
  out.byte((2 | (f.destination & 8) << 4 | (f.destination & 16) | x << 6 | b << 5) ^ 0xf0);
  const unsigned f3_or_f2 = f.what == operation::vcvtne2ps2bf16 ? 3 : 2;
  out.byte((unsigned{f.wide} << 7 | (f.first & 15) << 3 | 4 | f3_or_f2) ^ 0x78);
  out.byte((unsigned{f.zeroing} << 7 | f.length << 5 | unsigned{f.broadcast} << 4 |
            (f.first & 16) >> 1 | f.mask) ^
           0x08);
  out.byte(f.what == operation::vdpbf16ps ? 0x52 : 0x72);
}

class cases {
 public:
  explicit cases(std::uint64_t seed, const pages& where)
      : random_(seed), numbers_(seed), pages_(where) {
    syscall(SYS_arch_prctl, ARCH_GET_FS, &fs_);
  }

  fields next_fields() {
    fields f{};
    f.what = static_cast<operation>(below(3));
    f.length = below(3);
    f.destination = below(32);
    f.first = f.what == operation::vcvtneps2bf16 ? 0 : below(32);
    f.second = below(32);
    f.mask = below(8);
    f.zeroing = f.mask != 0 && below(2) != 0;
    f.in_memory = below(3) != 0;
    f.broadcast = f.in_memory && below(2) != 0;
    return f;
  }

  // Fills the registers and the data, so that what is at the address is data.
  assembled next(const fields& f, registers& r) {
    for (vector& v : r.zmm) fill(v);
    for (std::uint64_t& mask : r.k) mask = random_();
    for (std::uint64_t& x : r.general) x = random_();
    for (std::size_t i = 0; i < pages::size; i += sizeof(vector)) {
      vector v;
      fill(v);
      std::memcpy(pages_.data() + i, &v, sizeof v);
    }
    assembled out;
    const unsigned reg = (f.destination & 7) << 3;
    if (f.in_memory) {
      memory_operand(out, f, reg, r);
    } else {
      prefix_and_opcode(out, f, f.second >> 4, f.second >> 3 & 1);
      out.byte(0xc0 | reg | (f.second & 7));
    }
    return out;
  }

  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }

 private:
  void fill(vector& v) {
    const bool pairs = below(2) != 0;
    for (int i = 0; i < 16; ++i)
      v.set<std::uint32_t>(i, pairs ? numbers_.next_pair() : numbers_.next_float());
  }

  void memory_operand(assembled& out, const fields& f, unsigned reg, registers& r) {
    const std::int64_t bytes = std::int64_t{16} << f.length;
    const bool fs = below(8) == 0;
    const bool of_32_bits = !fs && below(8) == 0;
    if (fs) out.byte(0x64);
    if (!fs && below(8) == 0) out.byte(0x65);  // gs begins at 0 in 64-bit Linux
    if (of_32_bits) out.byte(0x67);

    std::uint64_t target = reinterpret_cast<std::uint64_t>(pages_.data()) +
                           below(static_cast<unsigned>(pages::size - 64));
    const std::uint64_t offset = fs ? target - fs_ : target;
    const unsigned mod = below(3);
    const std::int64_t displacement =
        mod == 0   ? 0
        : mod == 1 ? static_cast<std::int8_t>(below(256)) * (f.broadcast ? 4 : bytes)
                   : static_cast<std::int32_t>(random_());
    const auto set = [&](unsigned number, std::uint64_t value) {
      // The upper half of an address of 32 bits does not count.
      r.general[number] = of_32_bits ? (value & 0xffffffff) | random_() << 32 : value;
    };
    const auto encode_displacement = [&] {
      if (mod == 1) out.byte(static_cast<std::uint64_t>(displacement / (f.broadcast ? 4 : bytes)));
      if (mod == 2) out.four_bytes(displacement);
    };
    const std::uint64_t rest = offset - static_cast<std::uint64_t>(displacement);

    switch (below(5)) {
      case 0: {  // relative to the next instruction
        prefix_and_opcode(out, f, below(2), below(2));
        out.byte(reg | 5);
        const std::uint64_t next =
            reinterpret_cast<std::uint64_t>(pages_.native()) + out.length + 4;
        if (fs) {  // too far away for a displacement
          out.length = 0;
          prefix_and_opcode(out, f, 0, 0);
          out.byte(reg | 5);
          out.four_bytes(static_cast<std::int64_t>(target - (next - 1)));
        } else {
          out.four_bytes(static_cast<std::int64_t>(target - next));
        }
        break;
      }
      case 1: {  // base
        const unsigned base = pick({rsp, 12, mod == 0 ? 5U : 4U, mod == 0 ? 13U : 4U});
        prefix_and_opcode(out, f, below(2), base >> 3);
        out.byte(mod << 6 | reg | (base & 7));
        set(base, rest);
        encode_displacement();
        break;
      }
      case 2: {  // base in SIB, without an index
        const unsigned base = pick({rsp, mod == 0 ? 5U : 4U, mod == 0 ? 13U : 4U});
        prefix_and_opcode(out, f, 0, base >> 3);
        out.byte(mod << 6 | reg | 4);
        out.byte(below(4) << 6 | 4 << 3 | (base & 7));
        set(base, rest);
        encode_displacement();
        break;
      }
      case 3: {  // base and index
        const unsigned base = pick({rsp, mod == 0 ? 5U : 4U, mod == 0 ? 13U : 4U});
        const unsigned index = pick({rsp, base});
        const unsigned scale = below(4);
        prefix_and_opcode(out, f, index >> 3, base >> 3);
        out.byte(mod << 6 | reg | 4);
        out.byte(scale << 6 | (index & 7) << 3 | (base & 7));
        set(index, random_());
        set(base, rest - (r.general[index] << scale));
        encode_displacement();
        break;
      }
      default: {  // index without a base
        const unsigned index = pick({rsp});
        prefix_and_opcode(out, f, index >> 3, below(2));
        out.byte(reg | 4);
        out.byte(0 << 6 | (index & 7) << 3 | 5);
        const auto far = static_cast<std::int32_t>(random_());
        set(index, offset - static_cast<std::uint64_t>(std::int64_t{far}));
        out.four_bytes(far);
        break;
      }
    }
  }

  // Picks a general register that is not in the list.
  unsigned pick(std::initializer_list<std::size_t> none_of) {
    for (;;) {
      const unsigned number = below(16);
      if (std::find(none_of.begin(), none_of.end(), number) == none_of.end()) return number;
    }
  }

  std::mt19937_64 random_;
  numbers numbers_;
  const pages& pages_;
  std::uint64_t fs_ = 0;
};

testing::AssertionResult same(const registers& got, const registers& expected) {
  auto failure = testing::AssertionFailure() << std::hex;
  bool differ = false;
  for (std::size_t i = 0; i < got.zmm.size(); ++i) {
    for (int at = 0; at < 16; ++at) {
      const auto a = got.zmm[i].get<std::uint32_t>(at);
      const auto b = expected.zmm[i].get<std::uint32_t>(at);
      if (a == b) continue;
      failure << "zmm" << std::dec << i << '[' << at << std::hex << "]: " << a << ", not " << b
              << '\n';
      differ = true;
    }
  }
  for (std::size_t i = 0; i < got.k.size(); ++i) differ |= got.k[i] != expected.k[i];
  for (std::size_t i = 0; i < got.general.size(); ++i)
    differ |= i != rsp && got.general[i] != expected.general[i];
  return differ ? failure : testing::AssertionSuccess();
}

class handler : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_avx512()) GTEST_SKIP() << "this processor lacks AVX-512";
    ASSERT_TRUE(memory_.exist());
    // Behind the emulator, so that it gets what the emulator refuses.
    struct sigaction action{};
    action.sa_handler = on_refusal;
    sigaction(SIGILL, &action, &before_);
    install();
  }
  void TearDown() override {
    if (has_avx512()) sigaction(SIGILL, &before_, nullptr);
  }

  bool runs_emulated(registers& r) {
    const unsigned long before = completed();
    const bool ran = runs(memory_.emulated(), r);
    EXPECT_EQ(completed() - before, ran ? 1U : 0U);
    return ran;
  }
  bool runs_native(registers& r) {
    const unsigned long before = completed();
    const bool ran = runs(memory_.native(), r);
    EXPECT_EQ(completed(), before);
    return ran;
  }

  pages memory_;
  struct sigaction before_{};
};

// The hash of all vectors that the instructions leave, found on a processor that has them.
constexpr std::uint64_t expected_fingerprint = 0x1fb281bb0c9d6b21;

TEST_F(handler, completes_what_the_processor_would) {
  const bool native = has_avx512_bf16();
  cases random(1, memory_);
  registers before, emulated;
  std::uint64_t fingerprint = 0xcbf29ce484222325U;
  for (int i = 0; i < 30'000; ++i) {
    const fields f = random.next_fields();
    const assembled code = random.next(f, before);
    memory_.write(code.code.data(), code.length);
    emulated = before;
    ASSERT_TRUE(runs_emulated(emulated)) << i;
    const std::uint8_t* const bytes = reinterpret_cast<const std::uint8_t*>(&emulated.zmm);
    for (std::size_t at = 0; at < sizeof emulated.zmm; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + at, sizeof word);
      fingerprint = (fingerprint ^ word) * 0x100000001b3U ^ fingerprint >> 29;
    }
    if (native) {
      registers expected = before;
      ASSERT_TRUE(runs_native(expected)) << i;
      ASSERT_TRUE(same(emulated, expected)) << i;
    }
    // Nothing but the destination changes.
    emulated.zmm[f.destination] = before.zmm[f.destination];
    ASSERT_TRUE(same(emulated, before)) << i;
  }
  EXPECT_EQ(fingerprint, expected_fingerprint) << std::hex << fingerprint;
}

TEST_F(handler, refuses_what_the_processor_would) {
  const bool native = has_avx512_bf16();
  cases random(2, memory_);
  registers before;
  int illegal = 0;
  for (int i = 0; i < 20'000; ++i) {
    fields f = random.next_fields();
    switch (random.below(6)) {
      case 0:
        f.wide = true;
        break;
      case 1:
        f.length = 3;
        break;
      case 2:
        f.zeroing = true;
        f.mask = 0;
        break;
      case 3:
        f.broadcast = true;
        break;
      case 4:
        f.first = random.below(32);
        break;
      default:
        break;
    }
    const assembled code = random.next(f, before);
    memory_.write(code.code.data(), code.length);
    registers emulated = before;
    const bool ran = runs_emulated(emulated);
    illegal += !ran;
    // Intel's manual has no register to broadcast; processors of another maker ignore that bit.
    if (native && (f.in_memory || !f.broadcast)) {
      registers expected = before;
      ASSERT_EQ(ran, runs_native(expected)) << i;
      ASSERT_TRUE(same(emulated, expected)) << i;
    }
  }
  EXPECT_GT(illegal, 5'000);
}

// The return address and what lies above it.
TEST_F(handler, reads_from_the_stack) {
  const fields f{operation::vcvtneps2bf16, 0, 3, 0, 0, 0, false, false, true, false};
  assembled code;
  prefix_and_opcode(code, f, 0, 0);
  code.byte(1 << 6 | 3 << 3 | 4);
  code.byte(4 << 3 | 4);
  code.byte(1);  // times 16
  memory_.write(code.code.data(), code.length);
  registers in_use{};  // one for both, because its address lies on the stack
  ASSERT_TRUE(runs_emulated(in_use));
  if (!has_avx512_bf16()) GTEST_SKIP() << "this processor lacks AVX512_BF16";
  const registers emulated = in_use;
  in_use = {};
  ASSERT_TRUE(runs_native(in_use));
  EXPECT_TRUE(same(emulated, in_use));
}

// Elements that the mask leaves out are not read.
TEST_F(handler, suppresses_faults) {
  for (const operation what : {operation::vcvtneps2bf16, operation::vdpbf16ps}) {
    for (unsigned readable = 0; readable <= 16; ++readable) {
      const fields f{what,  2,    17,   what == operation::vdpbf16ps ? 18U : 0U, 0, 1, false,
                     false, true, false};
      assembled code;
      prefix_and_opcode(code, f, 0, 0);
      code.byte(1 << 3 | 0);
      memory_.write(code.code.data(), code.length);
      registers emulated{};
      emulated.general[0] =
          reinterpret_cast<std::uint64_t>(memory_.data() + pages::size) - 4 * readable;
      emulated.k[1] = (1U << readable) - 1;
      registers expected = emulated;
      ASSERT_TRUE(runs_emulated(emulated));
      if (!has_avx512_bf16()) continue;
      ASSERT_TRUE(runs_native(expected));
      EXPECT_TRUE(same(emulated, expected));
    }
  }
}

// Components of the state that the program has not used since the processor started, or gave back.
TARGET void convert_with_initial_state(const std::uint8_t* area, const std::uint32_t* floats,
                                       vector& upper, vector& beside, vector& lower) {
  asm volatile(
      "xrstor (%0)\n\t"
      "ud2\n\tvcvtneps2bf16 (%1), %%ymm17\n\t"
      "vmovdqu64 %%zmm17, (%2)\n\tvmovdqu64 %%zmm18, (%3)\n\t"
      "xrstor (%0)\n\t"
      "ud2\n\tvcvtneps2bf16 (%1), %%ymm7\n\t"
      "vmovdqu64 %%zmm7, (%4)\n\tvzeroupper"
      :
      : "r"(area), "r"(floats), "r"(&upper), "r"(&beside), "r"(&lower), "a"(0xe6), "d"(0)
      : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
        "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19",
        "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29",
        "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7");
}

TEST_F(handler, finds_components_not_in_use) {
  alignas(64) std::array<std::uint8_t, 4096> area{};
  constexpr std::uint32_t default_mxcsr = 0x1f80;
  std::memcpy(&area[24], &default_mxcsr, sizeof default_mxcsr);
  std::array<std::uint32_t, 16> floats;
  floats.fill(0x3f810000);
  vector expected;
  for (int i = 0; i < 16; ++i) expected.set<std::uint16_t>(i, 0x3f81);
  vector upper, beside, lower;
  beside.set(0, 1);
  const unsigned long before = completed();
  convert_with_initial_state(area.data(), floats.data(), upper, beside, lower);
  EXPECT_EQ(completed() - before, 2U);
  EXPECT_EQ(upper.data, expected.data);
  EXPECT_EQ(beside.data, vector{}.data);
  EXPECT_EQ(lower.data, expected.data);
}

// The leaf must repair this: without its repair a subnormal is lost here as on the hardware.
TEST_F(handler, flushes_subnormals) {
  const fields f{operation::vcvtneps2bf16, 2, 0, 0, 1, 0, false, false, false, false};
  assembled code;
  prefix_and_opcode(code, f, 0, 0);
  code.byte(0xc1);
  memory_.write(code.code.data(), code.length);
  registers r{};
  for (int i = 0; i < 16; ++i) r.zmm[1].set<std::uint32_t>(i, i % 2 == 0 ? 0x00400000 : 0x807f0000);
  ASSERT_TRUE(runs_emulated(r));
  for (int i = 0; i < 16; ++i) EXPECT_EQ(r.zmm[0].get<std::uint16_t>(i), i % 2 == 0 ? 0 : 0x8000);
}

}  // namespace

#endif
