// SPDX-License-Identifier: Apache-2.0
// Whatever lies in a file, the program ends with a status and one line; and it does so within
// bounds.
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>

#include "gguf_text.hpp"
#include "tool.hpp"

namespace {

using namespace lowp_test;

// The bytes of a file with that header, true or not.
std::string file_of(std::string const& header, std::string const& data) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + data;
}

class hostile : public model_tool {
 protected:
  // Asks each command about the file.
  std::vector<said> all_ways(std::string const& path, bool has_reports = true) {
    std::vector<std::string> audit{"audit", path, "--to", "float8_e4m3fn"};
    if (has_reports)
      audit.insert(audit.end(), {"--json", folder.file("json"), "--html", folder.file("html")});
    return {tool(audit),
            tool({"convert", path, out, "--to", "float16", "--scale", "tensor", "--rounding",
                  "stochastic"}),
            tool({"diff", path, good}), tool({"diff", good, path})};
  }
  // The line with which all of them refuse.
  std::string refusal_of_all_ways(std::string const& bytes) {
    set_contents(model, bytes);
    auto const before = folder.names().size();
    std::string line;
    for (said const& s : all_ways(model)) {
      EXPECT_EQ(s.status, 2) << s.out << s.err;
      EXPECT_EQ(s.out, "");
      EXPECT_TRUE(line.empty() || line == s.err) << line << s.err;
      line = s.err;
    }
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
    EXPECT_LT(line.size(), 700U) << line;
    EXPECT_EQ(folder.names().size(), before);
    return line;
  }

  void SetUp() override { write(good, {of("w", std::vector<float>{1, 2})}); }
  std::string const good = folder.file("good.safetensors");
};

TEST_F(hostile, files_get_one_clear_line) {
  auto const w = [](std::string const& type, std::string const& shape, std::string const& offsets) {
    return R"("w":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
           "}";
  };
  std::string const data(8, '\1');
  std::string const fine = w("F32", "[2]", "[0,8]");
  EXPECT_TRUE(has(refusal_of_all_ways(""), "it has 0 bytes"));
  EXPECT_TRUE(has(refusal_of_all_ways(std::string(8, '\xff') + "{}"), "and may have 100000000"));
  // Files of another kind: a text, an archive, a pickle. The program speaks for itself alone.
  for (std::string const other :
       {"It was a dark and stormy night.", "PK\x03\x04\x14\x00\x08\x08\x08\x00",
        "\x80\x02}q\x00(X\x06\x00\x00\x00weight"}) {
    std::string const line = refusal_of_all_ways(other + std::string(20, 'x'));
    EXPECT_TRUE(has(line, "is it a safetensors file?"));
    EXPECT_TRUE(line.starts_with("lowp-model: '" + model + "': its header has ")) << line;
  }
  EXPECT_TRUE(
      has(refusal_of_all_ways(file_of("{" + fine + "x}", data)), "its header is no JSON at byte "));
  EXPECT_TRUE(has(refusal_of_all_ways(file_of("{" + fine + "}", data).substr(0, 40)),
                  "and the file only 40"));
  EXPECT_TRUE(has(refusal_of_all_ways(file_of("{" + fine + "}", data + "x")),
                  "have 8 bytes, and the data 9"));
  EXPECT_TRUE(has(refusal_of_all_ways(file_of("{" + fine + "}", data.substr(1))),
                  "reach beyond the data, 7 bytes"));
  EXPECT_TRUE(has(refusal_of_all_ways(file_of("{" + fine + "," + fine + "}", data)), "twice"));
  EXPECT_TRUE(has(refusal_of_all_ways(file_of("{" + w("F33", "[2]", "[0,8]") + "}", data)),
                  "unknown dtype 'F33'"));
  EXPECT_TRUE(has(refusal_of_all_ways(file_of("{" + w("F32", "[3]", "[0,8]") + "}", data)),
                  "are 8 bytes, but F32 [3] has 12"));
  EXPECT_TRUE(has(
      refusal_of_all_ways(file_of("{" + w("F32", "[4294967296,4294967296]", "[0,8]") + "}", data)),
      "more than 2^64 bits"));
  EXPECT_TRUE(
      has(refusal_of_all_ways(file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                      R"("b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
                                      data)),
          "overlap"));
  EXPECT_TRUE(
      has(refusal_of_all_ways(file_of("{" + fine + "}" + std::string(1'000'000, '['), data)),
          "no JSON"));
  // No escape sequence of a name reaches the terminal, nor does a line of it.
  std::string const line = refusal_of_all_ways(file_of(
      R"({"\u001b[2J\nlowp-model: fine":{"dtype":"?","shape":[],"data_offsets":[0,8]}})", data));
  EXPECT_TRUE(has(line, "\\x1b[2J\\x0alowp-model: fine"));
  for (char const* scale : {"", "3", "0", "-2", "inf", "nan", "0x1p4", "1e999", "1e-39", "2 "})
    EXPECT_TRUE(has(refusal_of_all_ways(file_of(R"({"__metadata__":{"scalar.w.scale":")" +
                                                    std::string(scale) + "\"}," + fine + "}",
                                                data)),
                    "the scale of tensor 'w' is '" + std::string(scale) + "', not a power of two"));
}

TEST_F(hostile, indexes_get_one_clear_line) {
  std::string const index = folder.file("model.json");
  auto const said_of = [&](std::string const& text) {
    set_contents(index, text);
    std::string line;
    for (said const& s : all_ways(index)) {
      EXPECT_EQ(s.status, 2) << s.out << s.err;
      line = s.err;
    }
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
    return line;
  };
  EXPECT_TRUE(has(said_of(""), "model.json': it is no JSON at byte 1\n"));
  EXPECT_TRUE(has(said_of(R"({"weight_map": 1e999})"), "it is no JSON at byte "));
  EXPECT_TRUE(has(said_of("[]"), "it is no index"));
  EXPECT_TRUE(has(said_of("{}"), "it is no index"));
  EXPECT_TRUE(has(said_of(R"({"weight_map": 1})"), "it is no index"));
  EXPECT_TRUE(has(said_of(R"({"weight_map": {"w": 1}})"), "a number is not the name of a file"));
  EXPECT_TRUE(has(said_of(R"({"weight_map": {"w": []}})"), "an array is not the name of a file"));
  EXPECT_TRUE(has(said_of(R"({"a": {"weight_map": {"w": "none"}}})"), "it is no index"));
  EXPECT_TRUE(has(said_of(R"({"weight_map": {"w": "none"}, "a": )"), "none': cannot open it"));
  EXPECT_TRUE(has(said_of(std::string(1'000'000, '[')), "it is no index"));
  EXPECT_TRUE(
      has(said_of(R"({"metadata": )" + std::string(1'000'000, '[')), "it is no JSON at byte "));
  for (char const* name : {"", ".", "..", "/etc/passwd", "../good.safetensors", "a/b", "a\\u0000b"})
    EXPECT_TRUE(has(said_of(R"({"weight_map": {"w": ")" + std::string(name) + "\"}}"),
                    "is not the name of a file beside the index"))
        << name;
  EXPECT_TRUE(has(said_of(R"({"weight_map": {"w": "none"}})"), "none': cannot open it"));
  EXPECT_TRUE(has(said_of(R"({"weight_map": {"v": "good.safetensors"}})"),
                  "tensor 'v' is not in '" + good + "'"));
  write(folder.file("other"), {of("v", std::vector<float>{1}), of("w", std::vector<float>{1})});
  EXPECT_TRUE(
      has(said_of(R"({"weight_map": {"v": "other", "w": "good.safetensors", "w": "other"}})"),
          "tensor 'w' is in '"));
}

bool is_plain(std::string const& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
}

// No name of a file or of a tensor commands a terminal, on whichever way it gets there.
// A search for each name through all tensors would take minutes.
TEST_F(hostile, indexes_may_name_tensors_of_gguf_many_times) {
  constexpr std::uint64_t tensors = 20'000, times = 200'000;
  gguf_text file;
  file.start(tensors, 0);
  for (std::uint64_t i = 0; i < tensors; ++i)
    file.info({std::to_string(i + tensors), {0}, 0, {}}, 0);
  set_contents(model, file.pad(32).text);
  std::string names;
  for (std::uint64_t i = 0; i < times; ++i) names += R"("39999": "model.safetensors", )";
  std::string const index = folder.file("m.json");
  set_contents(index, "{\"weight_map\": {" + names + R"("20000": "model.safetensors"}})");
  std::clock_t const start = std::clock();
  EXPECT_EQ(tool({"audit", index, "--to", "float16"}).status, 0);
  EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, 4);
}

TEST_F(hostile, names_command_no_terminal) {
  std::string const name = "\x1b]0;x\x07\x7f\xc2\x85\xc2\x9b\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8b";
  std::string const shown =
      R"(\x1b]0;x\x07\x7f\xc2\x85\xc2\x9b\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8b)";
  std::string const index = folder.file("model.json"), there = folder.file(name);
  set_contents(index, nlohmann::json{{"weight_map", {{"w", name}}}}.dump());
  for (said const& s : all_ways(index)) {
    EXPECT_TRUE(has(s.err, shown + "': cannot open it"));
    EXPECT_TRUE(is_plain(s.err)) << s.err;
  }
  write(there,
        {of(name, std::vector<float>{1, 1e9f}), of("ids" + name, std::vector<std::int64_t>{1})},
        {{name, name}});
  EXPECT_TRUE(is_plain(refusal({"audit", there, "--to", "float16", "--json", there})));
  EXPECT_TRUE(is_plain(refusal({"audit", name, "--to", name})));
  for (std::string const report : {"--json", "--html"}) {
    said const s = tool({"audit", there, "--to", "float16", report, "-"});
    EXPECT_EQ(s.status, 1);
    EXPECT_TRUE(is_plain(s.out)) << s.out;
    if (report == "--html") continue;
    auto const j = nlohmann::json::parse(s.out);
    EXPECT_EQ(j["model"], there);
    EXPECT_EQ(j["tensors"][0]["name"], name);
    EXPECT_EQ(j["names_of_others"][0], "ids" + name);
  }
  EXPECT_TRUE(is_plain(tool({"audit", there, "--to", "float16"}).out));
  said const diff = tool({"diff", there, good, "--json", "-"});
  EXPECT_TRUE(is_plain(diff.out)) << diff.out;
  EXPECT_EQ(nlohmann::json::parse(diff.out)["metadata"][0], name);
  EXPECT_TRUE(is_plain(tool({"diff", there, good}).out));
  said const converted = tool({"convert", there, out + name, "--to", "float16"});
  EXPECT_TRUE(is_plain(converted.out)) << converted.out;
  EXPECT_TRUE(has(converted.out, out + shown + ": 1 tensor converted"));
}

// A name of a megabyte, and a pattern with which a matcher that recurses would run out of stack.
TEST_F(hostile, names_may_be_long) {
  write(model, {of(std::string(1'000'000, 'a'), std::vector<float>{1e9f})});
  said const s = tool({"audit", model, "--to", "float16", "--keep", "(a|b)*c"});
  EXPECT_EQ(s.status, 1);
  EXPECT_LT(s.out.size(), 2000U);
  EXPECT_EQ(tool({"convert", model, out, "--to", "float16", "--keep", "^(a|b)*$"}).status, 0);
  EXPECT_EQ(tool({"diff", model, out}).status, 0);
}

// Bits, bytes and pieces of files and of an index are changed. Every use of them ends as it may.
TEST_F(hostile, mutations_never_crash) {
  write(
      model,
      {of("layer.0.weight", patterns(40, 9), {5, 8}), of("layer.0.bias", patterns(8, 10)),
       of("half", std::vector<lowp::float16>(6, lowp::float16(3.0f))),
       of("wide", std::vector<double>{1, 1e300, -1e-300}),
       of("ids", std::vector<std::int64_t>{1, 2}),
       of("a.weight", std::vector<std::uint8_t>(16, 0x4b), {2, 8}),
       of("a.weight_scale", std::vector<lowp::float8_e4m3fn>(2, lowp::float8_e4m3fn(2.0f)), {2, 1}),
       of("a.weight_scale_2", std::vector<float>{0.01f}),
       of("b_blocks", std::vector<std::uint8_t>(32, 0x4b), {2, 1, 16}),
       of("b_scales", std::vector<std::uint8_t>(2, 120), {2, 1})},
      {{"format", "pt"}, {"scalar.half.scale", "4"}});
  std::string const file = contents(model);
  std::string const blocks_of_ggml =
      gguf_of({{"layer.0.weight", {32, 2}, 39, std::string(34, '\1')},
               {"layer.1.weight", {64}, 40, std::string(36, '\1')},
               {"layer.1.scale", {1}, 0, std::string("\0\0\x80?", 4)}});
  std::string const index_text =
      R"({"metadata": {"total_size": 9}, "weight_map": {"w": "good.safetensors"}})";
  std::string const index = folder.file("model.json");
  std::mt19937_64 random(2024);
  auto const below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  auto const mutated = [&](std::string bytes) {
    for (std::size_t changes = 1 + below(3); changes != 0; --changes) {
      std::size_t const at = below(bytes.size()), length = 1 + below(9);
      switch (below(6)) {
        case 0:
          bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8));
          break;
        case 1:
          bytes[at] = static_cast<char>(random());
          break;
        case 2:
          bytes.erase(at, length);
          break;
        case 3:
          bytes.insert(at, bytes.substr(below(bytes.size()), length));
          break;
        case 4:
          bytes.replace(at, 1, std::string(1, "0123456789[]{},:\"-.eE\\"[below(22)]));
          break;
        default:
          bytes.resize(1 + at);
      }
      if (bytes.empty()) bytes = "{";
    }
    return bytes;
  };
  std::map<int, int> statuses;
  for (int i = 0; i < 2000; ++i) {
    bool const is_index = i % 4 == 0;
    std::string const& path = is_index ? index : model;
    std::string const bytes = mutated(is_index ? index_text : i % 4 == 3 ? blocks_of_ggml : file);
    set_contents(path, bytes);
    // Each report waits for the disk.
    std::vector<said> ways = all_ways(path, i % 16 == 1);
    ways.push_back(tool({"convert", path, out, "--to", "nvfp4_modelopt"}));
    for (said const& s : ways) {
      ++statuses[s.status];
      ASSERT_TRUE(s.status >= 0 && s.status <= 2) << i;
      ASSERT_EQ(std::count(s.err.begin(), s.err.end(), '\n'), s.status == 2 ? 1 : 0) << i << s.err;
      for (char const c : s.err.substr(0, s.err.size() - (s.err.empty() ? 0 : 1)))
        ASSERT_GE(static_cast<unsigned char>(c), 0x20) << i << s.err;
    }
  }
  // Both of what is refused and of what still is a file there are plenty.
  EXPECT_GT(statuses[2], 2000);
  EXPECT_GT(statuses[0] + statuses[1], 400);
}

std::uint64_t pages_in_use() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

// Freed large blocks go back to the system, so that a test leaves the next one no room.
int const large_blocks_are_mapped = ::mallopt(M_MMAP_THRESHOLD, 1 << 17);

// Runs `work` in a process that may have this many bytes more than this one.
int status_within(std::uint64_t bytes, std::function<int()> const& work) {
  pid_t const child = ::fork();
  if (child == 0) {
    ::malloc_trim(0);  // what other tests have freed could be used again
    std::uint64_t const now = pages_in_use() * static_cast<std::uint64_t>(::getpagesize());
    rlimit const limit{now + bytes, now + bytes};
    ::_exit(::setrlimit(RLIMIT_AS, &limit) == 0 ? work() : 99);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Little is kept of a tensor, whatever the file says, and nothing of an index.
TEST_F(hostile, memory_grows_little_with_the_number_of_tensors) {
  constexpr int many = 20'000;
  constexpr std::uint64_t most = many * 2000;
  std::vector<named_bytes> tensors;
  std::string index_text = R"({"metadata": [1)";
  for (int i = 0; i < 4'000'000; ++i) index_text += ",1";
  index_text += R"(], "weight_map": {)";
  for (int i = 0; i < many; ++i) {
    std::string const name = "a.layer.of.a.model." + std::to_string(i);
    tensors.push_back(of(name, std::vector<float>{1e-9f, 1, 1e9f}));
    index_text += "\"" + name + "\":\"model.safetensors\",";
  }
  write(model, tensors);
  tensors = {};
  std::string const index = folder.file("model.json");
  set_contents(index, index_text + R"("w":"good.safetensors"}})");
  index_text = {};
  EXPECT_EQ(status_within(most,
                          [&] {
                            return tool({"audit", index, "--to", "float16", "--json",
                                         folder.file("json"), "--html", folder.file("html")})
                                .status;
                          }),
            1);
  EXPECT_GT(std::filesystem::file_size(folder.file("html")) +
                std::filesystem::file_size(folder.file("json")),
            most);
  EXPECT_EQ(
      status_within(most, [&] { return tool({"convert", index, out, "--to", "float16"}).status; }),
      0);
  EXPECT_EQ(
      status_within(
          most, [&] { return tool({"diff", model, out, "--json", folder.file("json")}).status; }),
      1);
}

// A gigabyte of zeros of which the disk holds none, in the memory of a thirtieth.
TEST_F(hostile, memory_does_not_grow_with_the_file) {
  constexpr std::uint64_t megabyte = 1 << 20, size = 1024 * megabyte, most = 32 * megabyte;
  std::string const header = R"({"w":{"dtype":"F32","shape":[262144,1024],"data_offsets":[0,)" +
                             std::to_string(size) + "]}}";
  set_contents(model, file_of(header, ""));
  std::filesystem::resize_file(model, 8 + header.size() + size);
  ASSERT_EQ(status_within(most,
                          [] {
                            try {
                              return std::vector<char>(most + megabyte).empty() ? 98 : 97;
                            } catch (std::bad_alloc const&) {
                              return 42;
                            }
                          }),
            42)
      << "the limit is none";
  EXPECT_EQ(status_within(most, [&] { return tool({"audit", model, "--to", "float16"}).status; }),
            0);
  EXPECT_EQ(status_within(most,
                          [&] {
                            return tool({"convert", model, out, "--to", "float8_e4m3fn", "--scale",
                                         "tensor", "--rounding", "stochastic"})
                                .status;
                          }),
            0);
  EXPECT_GT(std::filesystem::file_size(out), size / 4);
  EXPECT_EQ(status_within(most, [&] { return tool({"diff", model, out, "--within", "0"}).status; }),
            0);
}

}  // namespace
