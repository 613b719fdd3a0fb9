// SPDX-License-Identifier: Apache-2.0
// A model of several files is read whole, from whichever is named, or refused by name: half a model
// says nothing about the other half.
#include <cstdio>
#include <filesystem>

#include "gguf_text.hpp"
#include "tool.hpp"

namespace {

using namespace lowp_test;
namespace fs = std::filesystem;

gguf_tensor plain(std::string name, std::vector<float> const& values) {
  auto const* const bytes = reinterpret_cast<char const*>(values.data());
  return {std::move(name), {values.size()}, 0, {bytes, values.size() * sizeof(float)}};
}

class shards : public model_tool {
 protected:
  // The path of file `number` of `count`, from 0.
  [[nodiscard]] std::string path(int number, int count) const {
    char ending[64];
    std::snprintf(ending, sizeof ending, "m-%05d-of-%05d.gguf", number + 1, count);
    return folder.file(ending);
  }
  std::string refusal_of_all_ways(std::string const& from) {
    auto const before = folder.names();
    std::string const line = refusal({"audit", from, "--to", "float16"});
    EXPECT_EQ(refusal({"convert", from, out, "--to", "float16"}), line);
    EXPECT_EQ(refusal({"diff", from, from}), line);
    EXPECT_EQ(folder.names(), before);
    return line;
  }
  std::string index(std::string const& text, std::string const& name = "m.safetensors.index.json") {
    set_contents(folder.file(name), text);
    return folder.file(name);
  }
};

// The factor of blocks may be in another file, and the first file may have no tensor.
TEST_F(shards, of_gguf_are_the_whole_model_from_each) {
  gguf_tensor const blocks{"w.weight", {64}, 40, std::string(36, '\x21')};
  gguf_tensor const factor = plain("w.scale", {0.5f}), large = plain("b", {1e6f, 2, 3});
  std::string const whole = folder.file("whole.gguf");
  set_contents(whole, gguf_of({blocks, large, factor}));
  set_contents(path(0, 3), gguf_of({}, gguf_place{0, 3, 3}));
  set_contents(path(1, 3), gguf_of({blocks}, gguf_place{1, 3, 3}));
  set_contents(path(2, 3), gguf_of({large, factor}, gguf_place{2, 3, 3}));
  auto const converted = [&](std::string const& from) {
    EXPECT_EQ(tool({"convert", from, out, "--to", "float32"}).status, 0);
    return contents(out);
  };
  std::string const expected = converted(whole);
  for (int i = 0; i < 3; ++i) {
    said const s = tool({"audit", path(i, 3), "--to", "float16"});
    EXPECT_EQ(s.status, 1);
    EXPECT_EQ(s.err, "");
    EXPECT_TRUE(has(s.out, "overflow 1 value in 1 tensor"));
    EXPECT_EQ(tool({"diff", whole, path(i, 3)}).out, "2 of 2 tensors have equal bits\n");
    EXPECT_TRUE(converted(path(i, 3)) == expected) << i;
    for (int other = 0; other < 3; ++other) {
      EXPECT_TRUE(
          has(refusal({"convert", path(i, 3), path(other, 3), "--to", "float16"}), "is a part of"));
      EXPECT_TRUE(has(refusal({"audit", path(i, 3), "--to", "float16", "--json", path(other, 3)}),
                      "is a part of"));
    }
  }
  // The name of a link counts, not that of its file.
  fs::create_directory(folder.file("links"));
  for (int i = 0; i < 3; ++i) {
    std::string const blob = "blob" + std::to_string(i);
    fs::rename(path(i, 3), folder.file(blob));
    fs::create_symlink("../" + blob,
                       folder.file("links/" + fs::path(path(i, 3)).filename().string()));
  }
  EXPECT_TRUE(converted(folder.file("links/m-00002-of-00003.gguf")) == expected);
  set_contents(model, gguf_of({large}, gguf_place{0, 1, 1}));
  EXPECT_EQ(tool({"audit", model, "--to", "float16"}).status, 1) << "the only one has any name";
}

TEST_F(shards, of_gguf_that_do_not_fit_are_refused) {
  gguf_tensor const b = plain("b", {1e6f});
  std::string const first = path(0, 2), second = path(1, 2);
  set_contents(first, gguf_of({plain("a", {1, 2})}, gguf_place{0, 2, 2}));
  auto const beside = [&](std::string const& bytes) {
    set_contents(second, bytes);
    return refusal_of_all_ways(first);
  };
  std::string const by_first = ", and by '" + first + "' it is ";
  EXPECT_TRUE(has(beside(gguf_of({b}, gguf_place{0, 2, 2})),
                  "'" + second + "': split.no is 0" + by_first + "1"));
  EXPECT_TRUE(has(beside(gguf_of({b}, gguf_place{1, 3, 2})), "split.count is 3" + by_first + "2"));
  EXPECT_TRUE(
      has(beside(gguf_of({b}, gguf_place{1, 2, 3})), "split.tensors.count is 3" + by_first + "2"));
  EXPECT_TRUE(has(beside(gguf_of({b})), "it has no split.count, and '" + first + "' has 2"));
  EXPECT_TRUE(has(beside(gguf_of({b, plain("c", {1})}, gguf_place{1, 2, 2})),
                  "'" + first + "': split.tensors.count is 2, and the files have 3 tensors"));
  EXPECT_TRUE(has(beside(gguf_of({plain("a", {1})}, gguf_place{1, 2, 2})),
                  "'" + second + "': tensor 'a' is in '" + first + "', too"));
  EXPECT_TRUE(has(beside("It was a dark and stormy night"), "it does not begin with GGUF"));
  EXPECT_TRUE(has(beside(""), "would need 4 bytes, and the file has 0 more"));
  fs::remove(second);
  EXPECT_TRUE(has(refusal_of_all_ways(first),
                  "'" + first + "': it is file 1 of 2, and '" + second + "' is missing"));

  auto const alone = [&](std::string const& bytes) {
    set_contents(model, bytes);
    return refusal_of_all_ways(model);
  };
  EXPECT_TRUE(has(alone(gguf_of({b}, gguf_place{1, 2, 2})),
                  "it is file 2 of 2, and its name does not end in -00002-of-00002.gguf"));
  EXPECT_TRUE(has(alone(gguf_of({b}, gguf_place{2, 2, 2})), "split.no is 2, and split.count is 2"));
  EXPECT_TRUE(has(alone(gguf_of({b}, gguf_place{0, 1, 2})),
                  "split.tensors.count is 2, and it has 1 tensor"));
  EXPECT_TRUE(has(alone(gguf_of({b}, gguf_place{0, 2, -1})), "split.tensors.count is -1"));
  auto const with = [&](std::string_view key, std::uint32_t type, std::string_view value) {
    gguf_text file;
    file.start(0, 2).name("split.count").number(4u).number(2u).name(key).number(type).text += value;
    return alone(file.text);
  };
  EXPECT_TRUE(has(with("other", 0, "\1"), "split.count is 2, and there is no split.no"));
  EXPECT_TRUE(has(with("split.no", 0, "\1"), "there is no split.tensors.count"));
  for (std::uint32_t const type : {6u, 7u, 8u, 9u, 12u})
    EXPECT_TRUE(has(with("split.no", type, std::string(8, '\0')),
                    "value 'split.no' has type " + std::to_string(type) + ", not an integer's"));
}

TEST_F(shards, of_gguf_have_each_name_once) {
  auto const alone = [&](std::vector<gguf_tensor> const& tensors) {
    set_contents(model, gguf_of(tensors));
    return refusal_of_all_ways(model);
  };
  EXPECT_TRUE(has(alone({plain("a", {1}), plain("b", {2}), plain("a", {3})}),
                  "'" + model + "': tensor 'a' is there twice"));
  gguf_tensor const blocks{"w", {32}, 39, std::string(17, '\1')};
  EXPECT_TRUE(has(alone({blocks, plain("w_scale", {1})}),
                  "tensor 'w_scale' is there by itself and as a part of another"));
}

// A shard may hold a tensor that the model has no more, or an older one of another shard.
TEST_F(shards, of_an_index_have_what_it_names) {
  using many = std::vector<float>;
  write(folder.file("1"), {of("a", many{1}), of("b", many{1e9f}), of("old", many{1e9f})},
        {{"scalar.b.scale", "4"}, {"scalar.old.scale", "2"}});
  write(folder.file("2"), {of("b", many{2}), of("older", many{1e9f}), of("old", many{-1e9f})},
        {{"scalar.b.scale", "8"}});
  std::string const all = index(R"({"weight_map": {"a": "1", "b": "2"}})");
  std::string const note =
      "lowp-model: note: '" + all + "' names not all tensors of its files: without old, older\n";
  said const audit = tool({"audit", all, "--to", "float16", "--json", "-"});
  EXPECT_EQ(audit.status, 0);
  EXPECT_EQ(audit.err, note);
  auto const found = nlohmann::json::parse(audit.out);
  EXPECT_EQ(found["tensors"].size() + found["names_of_others"].size(), 2U);
  EXPECT_EQ(found["as_it_is"]["max_abs"], 1);  // b is 2 over its scale of 8
  said const converted = tool({"convert", all, out, "--to", "float32"});
  EXPECT_EQ(converted.err, note);
  st::file const file(out);
  EXPECT_EQ(file.tensors().size(), 2U);
  EXPECT_EQ(file.read<float>(file.at("b")), many{2});
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"scalar.b.scale", "8"}}));
  EXPECT_EQ(tool({"diff", all, out}).err, note);

  // A name twice is one if it has one file.
  EXPECT_EQ(
      tool({"diff", all, index(R"({"weight_map": {"a": "1", "b": "2", "a": "1"}})", "again.json")})
          .status,
      0);
  EXPECT_TRUE(
      has(refusal_of_all_ways(index(R"({"weight_map": {"b": "1", "b": "2"}})", "both.json")),
          "tensor 'b' is in '"));
  EXPECT_TRUE(has(refusal_of_all_ways(index(R"({"weight_map": {}})", "empty.json")),
                  "its \"weight_map\" names no tensor"));
}

TEST_F(shards, alone_are_mentioned) {
  std::string const first = folder.file("model-00001-of-00003.safetensors");
  write(first, {of("w", std::vector<float>{1})});
  said const s = tool({"audit", first, "--to", "float16"});
  EXPECT_EQ(s.status, 0);
  EXPECT_EQ(s.err,
            "lowp-model: note: '" + first +
                "' has the name of one of several files: name their index for all of them\n");
  for (std::string const name :
       {"-00001-of-00001", "-0001-of-00003", "-00001-of-0000x", "1-of-3"}) {
    std::string const other = folder.file("model" + name + ".safetensors");
    fs::copy_file(first, other);
    EXPECT_EQ(tool({"audit", other, "--to", "float16"}).err, "") << name;
  }
}

TEST_F(shards, are_named_where_a_folder_is) {
  std::string const of_models = folder.file("models.json");
  fs::create_directory(of_models);
  auto const add = [&](std::string const& name) {
    set_contents(of_models + "/" + name, "{}");
    return "'" + of_models + "/" + name + "'";
  };
  std::string const begin = "'" + of_models + "': it is a folder: ";
  EXPECT_TRUE(has(refusal_of_all_ways(of_models), begin + "with no index and no model\n"));
  add("pytorch_model.bin.index.json");
  std::string const file = add("model.safetensors");
  EXPECT_TRUE(has(refusal_of_all_ways(of_models), begin + "name its file " + file + "\n"));
  std::string const one = add("model.safetensors.index.json");
  EXPECT_TRUE(has(refusal_of_all_ways(of_models), begin + "name its index " + one + "\n"));
  std::string const two = add("a.safetensors.index.json");
  EXPECT_TRUE(
      has(refusal_of_all_ways(of_models), begin + "name its index " + two + " or " + one + "\n"));
}

TEST_F(shards, may_be_pointers_of_git) {
  std::string const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
  std::string const said_of_it = "': it is a Git LFS pointer: fetch the file with git lfs pull\n";
  set_contents(model, pointer);
  EXPECT_TRUE(has(refusal_of_all_ways(model), model + said_of_it));
  EXPECT_TRUE(has(refusal_of_all_ways(index(pointer)), "m.safetensors.index.json" + said_of_it));
  EXPECT_TRUE(has(refusal_of_all_ways(index(R"({"weight_map": {"a": "model.safetensors"}})")),
                  model + said_of_it));
  set_contents(path(0, 2), gguf_of({}, gguf_place{0, 2, 2}));
  set_contents(path(1, 2), pointer);
  EXPECT_TRUE(has(refusal_of_all_ways(path(0, 2)), path(1, 2) + said_of_it));
}

TEST_F(shards, may_be_big_endian) {
  std::string bytes = gguf_text().start(0, 0).text;
  std::swap(bytes[4], bytes[7]);
  set_contents(model, bytes);
  EXPECT_TRUE(has(refusal_of_all_ways(model), "it is GGUF of version 3 in big-endian order"));
}

TEST_F(shards, have_no_remains_that_nobody_mentions) {
  write(model, {of("w", std::vector<float>{1})});
  std::string const left = out + ".part-2147483647-3";
  set_contents(left, "half a file");
  set_contents(out + ".part-x-1", "another's");
  set_contents(folder.file("other.part-2147483647-3"), "of another");
  std::string const note = "lowp-model: note: '" + left +
                           "', 11 bytes, is of process 2147483647, which does not run here: "
                           "remove it\n";
  EXPECT_EQ(tool({"convert", model, out, "--to", "float16"}).err, note);
  EXPECT_EQ(tool({"audit", model, "--to", "float16", "--json", out}).err, note);
  EXPECT_EQ(contents(left), "half a file");
  EXPECT_EQ(tool({"convert", model, folder.file("new"), "--to", "float16"}).err, "");
}

}  // namespace
