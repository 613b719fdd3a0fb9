// SPDX-License-Identifier: Apache-2.0
// The error text of a call's arguments: no exception, because some callers build without them. And
// throwing, and numbers as text, without <string>.
#pragma once

#include <lowp/base/environment.hpp>

#include <charconv>

#if !defined(__GLIBCXX__)
#include <stdexcept>
#endif

namespace lowp::detail {

/// A std::string, which this header does not include: that takes half as long as an empty unit.
template <class T>
concept std_string = std::same_as<typename T::value_type, char> && requires {
  typename T::allocator_type;
  T::npos;
};

inline namespace LOWP_UNIT {

/// Throws Exception(arguments...). If exceptions are switched off, ends the program with a trap.
template <class Exception, class... Argument>
[[noreturn]] LOWP_COLD inline void raise(Argument const&... arguments) {
#if defined(__cpp_exceptions)
  throw Exception(arguments...);
#else
  (static_cast<void>(arguments), ...);
  __builtin_trap();
#endif
}

/// Throws std::invalid_argument or std::runtime_error. The functions of libstdc++ spare a unit
/// <stdexcept> and the <string> in it.
template <bool IsOfArguments>
[[noreturn]] LOWP_COLD inline void raise_text([[maybe_unused]] char const* text) {
#if !defined(__cpp_exceptions)
  __builtin_trap();
#elif defined(__GLIBCXX__)
  if constexpr (IsOfArguments)
    std::__throw_invalid_argument(text);
  else
    std::__throw_runtime_error(text);
#else
  raise<std::conditional_t<IsOfArguments, std::invalid_argument, std::runtime_error>>(text);
#endif
}

/// The shortest text that reads back as the same number, for an error text. `format` may be another
/// format and a precision.
struct shortest_text {
  char text[32];

  explicit shortest_text(auto value, auto... format) {
    default_environment const environment;  // otherwise a subnormal may be "0"
    *std::to_chars(text, text + sizeof(text) - 1, value, format...).ptr = '\0';
  }
};

struct this_unit;

}  // namespace LOWP_UNIT

inline namespace LOWP_SHARED {

/// An error text, empty if the arguments are valid. A std::string can be made of it. It has text of
/// its own, because every unit would compile the members of std::string anew. Its members are
/// calls, so that checks that pass cost little code.
class error_text {
 public:
  LOWP_HOST_FN error_text() {}
  LOWP_COLD_CALL error_text(char const* text);
  template <std_string String, class = this_unit>
  LOWP_COLD error_text(String const& text) {
    append(text.data(), text.size());
  }
  LOWP_COLD_CALL error_text(error_text const& other);
  error_text& operator=(error_text const& other);
  ~error_text();

  [[nodiscard]] LOWP_HOST_FN bool empty() const { return size_ == 0; }
  [[nodiscard]] LOWP_HOST_FN char const* c_str() const { return size_ == 0 ? "" : text_; }
  template <std_string String, class = this_unit>
  LOWP_COLD operator String() const {
    return String(c_str(), size_);
  }

  LOWP_COLD_CALL void append(char const* more, std::size_t count);

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
};

struct text_piece {
  char const* text;
  std::uint64_t number = 0;

  LOWP_HOST_FN text_piece(char const* characters) : text(characters) {}
  LOWP_HOST_FN text_piece(error_text const& other) : text(other.c_str()) {}
  LOWP_HOST_FN text_piece(std::uint64_t count) : text(nullptr), number(count) {}
};

LOWP_COLD_CALL error_text joined_text(std::initializer_list<text_piece> pieces);
[[noreturn]] LOWP_COLD_CALL void refuse(error_text const& what);
LOWP_HOST_FN void refuse_if(error_text const& what) {
  if (!what.empty()) refuse(what);
}

#if defined(LOWP_BODIES)

LOWP_COLD LOWP_LIB error_text::error_text(char const* text) {
  append(text, __builtin_strlen(text));
}
LOWP_COLD LOWP_LIB error_text::error_text(error_text const& other) {
  append(other.text_, other.size_);
}
LOWP_NOINLINE LOWP_LIB error_text& error_text::operator=(error_text const& other) {
  if (this != &other) {
    size_ = 0;
    append(other.text_, other.size_);
  }
  return *this;
}
LOWP_NOINLINE LOWP_LIB error_text::~error_text() { delete[] text_; }
LOWP_COLD LOWP_LIB void error_text::append(char const* more, std::size_t count) {
  if (count == 0) return;
  char* const longer = new char[size_ + count + 1];
  if (size_ != 0) __builtin_memcpy(longer, text_, size_);
  __builtin_memcpy(longer + size_, more, count);
  longer[size_ += count] = '\0';
  delete[] text_;
  text_ = longer;
}

LOWP_COLD LOWP_LIB error_text joined_text(std::initializer_list<text_piece> pieces) {
  error_text text;
  for (text_piece const& piece : pieces) {
    if (piece.text != nullptr) {
      text.append(piece.text, __builtin_strlen(piece.text));
    } else {  // std::to_string would take a fourth of all that a caller compiles for its errors
      char digits[20], *const end = digits + sizeof(digits), *first = end;
      std::uint64_t rest = piece.number;
      do *--first = static_cast<char>('0' + rest % 10);
      while ((rest /= 10) != 0);
      text.append(first, static_cast<std::size_t>(end - first));
    }
  }
  return text;
}

LOWP_COLD LOWP_LIB void refuse(error_text const& what) {
  raise_text<true>(joined_text({"lowp::", what.c_str()}).c_str());
}

#endif

}  // namespace LOWP_SHARED

/// The part of an executor that answers wrong arguments: throws std::invalid_argument.
struct throwing {
  LOWP_HOST_FN static void refuse_if(error_text const& what) { detail::refuse_if(what); }
};

}  // namespace lowp::detail
