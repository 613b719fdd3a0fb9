// SPDX-License-Identifier: Apache-2.0
// TYPED_TEST_SUITE and TYPED_TEST of GoogleTest, with the same names of tests. GoogleTest's own
// compile a registration of 3 KB for each test and type; here one function registers all.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace lowp_test {

struct typed_test {
  std::string type;
  testing::Test* (*make)();
};
__attribute__((noinline)) inline bool register_tests(char const* suite, char const* name,
                                                     char const* file, int line,
                                                     std::initializer_list<typed_test> tests) {
  for (typed_test const& test : tests)
    testing::RegisterTest((std::string(suite) + '/' + test.type).c_str(), name, nullptr, nullptr,
                          file, line, test.make);
  return true;
}

struct by_number {
  template <class>
  static std::string GetName(int i) {
    return std::to_string(i);
  }
};
template <class Names = by_number>
using names_or_numbers = Names;

template <class List>
struct typed_tests;
template <class... T>
struct typed_tests<testing::Types<T...>> {
  template <template <class> class Test, class Names>
  static bool add(char const* suite, char const* name, char const* file, int line) {
    int i = 0;
    return register_tests(
        suite, name, file, line,
        {{Names::template GetName<T>(i++), []() -> testing::Test* { return new Test<T>; }}...});
  }
};

}  // namespace lowp_test

#undef TYPED_TEST_SUITE
#undef TYPED_TEST
#define TYPED_TEST_SUITE(suite, types, ...)            \
  using suite##_tests = lowp_test::typed_tests<types>; \
  using suite##_names = lowp_test::names_or_numbers<__VA_ARGS__>
#define TYPED_TEST(suite, name)                                                                    \
  template <class TypeParam>                                                                       \
  class suite##_##name##_Test : public suite<TypeParam> {                                          \
    using TestFixture = suite<TypeParam>;                                                          \
    void TestBody() override;                                                                      \
  };                                                                                               \
  [[maybe_unused]] static const bool suite##_##name##_is_registered =                              \
      suite##_tests::add<suite##_##name##_Test, suite##_names>(#suite, #name, __FILE__, __LINE__); \
  template <class TypeParam>                                                                       \
  void suite##_##name##_Test<TypeParam>::TestBody()
