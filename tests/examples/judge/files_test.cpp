// SPDX-License-Identifier: Apache-2.0
// Bad input is refused by what was due and seen; files are written whole or not at all.
#include "tool.hpp"

namespace {

using namespace lowp_test;

class judge_files : public testing::Test {
 protected:
  void SetUp() override {
    set_contents(in(), npy_of("<f4", "(4,)", bytes_of({0x3f800000, 0x3f880000, 0, 0x40000000}, 4)));
  }
  [[nodiscard]] std::string in() const { return folder_.file("in.npy"); }
  [[nodiscard]] said name(std::string const& out, std::string const& bytes,
                          std::string const& to = "float8_e4m3fn") const {
    set_contents(folder_.file(out), bytes);
    return judged({"name", in(), folder_.file(out), "--to", to});
  }
  void expect_refusal(said const& s, std::string const& part) const {
    EXPECT_EQ(s.status, 2);
    EXPECT_EQ(s.out, "");
    EXPECT_TRUE(s.err.starts_with("lowp-judge: ") && s.err.ends_with("\n")) << s.err;
    EXPECT_TRUE(has(s.err, part)) << s.err;
  }
  scratch_folder folder_;
};

std::string const right = bytes_of({0x38, 0x38, 0, 0x40}, 1);

TEST_F(judge_files, of_every_kind_are_read) {
  EXPECT_EQ(name("out.npy", npy_of("|u1", "(4,)", right)).status, 0);
  EXPECT_EQ(name("out.npy", npy_of("|V1", "(2, 2)", right)).status, 0);
  EXPECT_EQ(name("out.npy", npy_of("<i8", "(4,)", bytes_of({0x38, 0x38, 0, 0x40}, 8))).status, 0);
  EXPECT_EQ(name("out.bin", right).status, 0);
  EXPECT_EQ(name("out.hex", "// codes\n@0 38 38\n@2 00 0x40\n").status, 0);
  std::string const header = R"({"y":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}})";
  EXPECT_EQ(name("out.safetensors", bytes_of({header.size()}, 8) + header + right).status, 0);
  set_contents(folder_.file("in.hex"), "3f800000 3f880000 0 40000000\n");
  EXPECT_EQ(
      judged({"name", folder_.file("in.hex"), folder_.file("out.bin"), "--to", "float8_e4m3fn"})
          .status,
      0);
}

TEST_F(judge_files, that_are_wrong_are_refused) {
  std::string const good = npy_of("|u1", "(4,)", right);
  expect_refusal(name("out.npy", npy_of("|u1", "(3,)", right.substr(1))),
                 "has 3 codes, and '" + in() + "' 4 numbers");
  expect_refusal(name("out.npy", good.substr(0, good.size() - 1)),
                 "its shape has 4 elements, and its data 3 bytes, 1 each");
  expect_refusal(name("out.npy", good.substr(0, 40)), "it is truncated");
  expect_refusal(name("out.npy", "abc"), "it does not begin as a .npy file");
  expect_refusal(name("out.npy", npy_of(">u2", "(2,)", right)), "it is big-endian (>u2)");
  expect_refusal(name("out.npy", npy_of("|u1", "(2, 2)", right, "True")), "Fortran order");
  expect_refusal(name("out.npy", npy_of("<f4", "(4,)", bytes_of({0x7fc00000, 0, 0, 0}, 4))),
                 "its elements are '<f4'; float8_e4m3fn is due");
  expect_refusal(name("out.npy", npy_of("<f2", "(4,)", bytes_of({0, 0, 0, 0}, 2)), "bfloat16"),
                 "its elements are '<f2'; bfloat16 is due");
  expect_refusal(name("out.npy", npy_of("<i4", "(4,)", bytes_of({0x38, 0x38, 0, 0xffffffff}, 4))),
                 "element 3 is negative");
  expect_refusal(name("out.npy", npy_of("|u1", "(4,)", right), "float4_e2m1fn"),
                 "element 0 is 56, and a code of float4_e2m1fn is at most 15");
  expect_refusal(name("out.npy", good, "float8_e4m4"), "there is no format 'float8_e4m4'");
  expect_refusal(name("out.npy", good, "float64"), "float64 is a type of inputs alone");
  expect_refusal(name("out.hex", "38\nxy\n"), "line 2: 'xy' is no hex number");
  expect_refusal(name("out.hex", "138\n"), "has more than the 8 bits");
  expect_refusal(name("out.hex", "38 @5 38"), "address @5 after 1 codes");
  expect_refusal(name("out.bin", "abc", "float16"), "it has 3 bytes");
  expect_refusal(name("out.safetensors", "abc"), "it has 3 bytes");
  std::string const header = R"({"y":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  expect_refusal(name("out.safetensors", bytes_of({header.size()}, 8) + header + right),
                 "its tensor is F32; float8_e4m3fn is due");
  expect_refusal(judged({"name", in(), folder_.file("none"), "--to", "float16"}), "cannot read it");
  expect_refusal(judged({"nonsense"}), "see --help");
}

TEST_F(judge_files, are_written_whole_or_not_at_all) {
  EXPECT_EQ(judged({"inputs", "--to", "float4_e2m1fn", "-o", folder_.file("new.npy")}).status, 0);
  std::string const file = contents(folder_.file("new.npy"));
  EXPECT_TRUE(has(file, "'descr': '<f4', 'fortran_order': False"));
  EXPECT_EQ((file.size() - words_of_npy(file, 4).size() * 4) % 64, 0U);
  auto const names = folder_.names();
  expect_refusal(judged({"inputs", "--to", "float16", "-o", folder_.file("no/in.npy")}),
                 "cannot write");
  stop = true;
  EXPECT_EQ(judged({"inputs", "--to", "float16", "--all", "-o", folder_.file("all.npy")}).status,
            130);
  stop = false;
  EXPECT_EQ(folder_.names(), names);
}

}  // namespace
