// SPDX-License-Identifier: Apache-2.0
// Codes of four or six bits without gaps between them.
#pragma once

#include <lowp/base/error_text.hpp>
#include <lowp/format/basic_float.hpp>

#include <span>  // the lightest header that declares the concepts of ranges

namespace lowp {

/// The order of PyTorch, safetensors and CUDA: the first element has the lowest bits. A byte holds
/// two codes of four bits, three bytes hold four codes of six.
struct pair_order {
  LOWP_FN static constexpr std::size_t together(int bits) { return bits == 4 ? 2 : 4; }
  /// Returns the place of an element's lowest bit.
  LOWP_FN static constexpr std::size_t bit(std::size_t i, int bits) {
    return i * static_cast<std::size_t>(bits);
  }
};

/// The order of ggml, in blocks of 32 codes: byte j holds element j, and j + 16 in its high half.
struct split_order {
  LOWP_FN static constexpr std::size_t together(int) { return 32; }
  LOWP_FN static constexpr std::size_t bit(std::size_t i, int) {
    return (i / 32 * 16 + i % 16) * 8 + i % 32 / 16 * 4;
  }
};

namespace detail {

/// Returns the bytes of `count` codes; a last byte may have unused bits.
LOWP_FN constexpr std::size_t bytes_of_codes(std::size_t count, int bits) {
  auto const all = static_cast<std::size_t>(bits);
  return count / 8 * all + (count % 8 * all + 7) / 8;
}

template <class T, class Order>
concept packable = narrow<T> && (T::descriptor.bits() == 4 || T::descriptor.bits() == 6) &&
                   (std::same_as<Order, pair_order> ||
                    (std::same_as<Order, split_order> && T::descriptor.bits() == 4));

// A constant: a compiler goes through the standard's concepts once, not in each concept made of it.
template <class R>
inline constexpr bool is_sized_array =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R>;

/// A contiguous range of known size. Kernels read no volatile elements.
template <class R>
concept array_range =
    is_sized_array<R> &&
    !std::is_volatile_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

/// A writable array_range. A temporary, which would die with its elements, is not one.
template <class R>
concept lasting_array =
    array_range<R> && std::ranges::borrowed_range<R> &&
    std::same_as<std::ranges::range_reference_t<R>, std::ranges::range_value_t<R>&>;

/// An array_range of numbers or enumerators of one byte.
template <class R>
concept byte_range = array_range<R> && sizeof(std::ranges::range_value_t<R>) == 1 &&
                     std::is_scalar_v<std::ranges::range_value_t<R>>;

}  // namespace detail

/// A view of packed codes, which operations take in the place of a span of T: casts, `blocks_of`,
/// `fused_add`, `update`, `transform`, `census` and `measure`. The result has the same bits. Unused
/// bits of the last byte are written as 0.
///
///     std::vector<std::uint8_t> bytes(500);
///     cast(floats, packed<float4_e2m1fn>(bytes, 1000));
///
/// @tparam T      float4_e2m1fn, float6_e2m3fn, float6_e3m2fn, or such a format of your own; const
///                if nothing is written
/// @tparam Order  pair_order; split_order for ggml's float4_e2m1fn in whole blocks of 32
template <class T, class Order = pair_order>
  requires detail::packable<std::remove_const_t<T>, Order>
class packed {
 public:
  using value_type = std::remove_const_t<T>;
  using order = Order;
  using byte_type = std::conditional_t<std::is_const_v<T>, std::uint8_t const, std::uint8_t>;
  static constexpr int bits = value_type::descriptor.bits();

  packed() = default;
  /// Views the codes of `size` elements. An operation refuses a wrong number of bytes. A temporary,
  /// which would die with its bytes, is only read.
  template <detail::byte_range Bytes>
    requires(std::is_const_v<T> ||
             (std::ranges::borrowed_range<Bytes> &&
              !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Bytes>>>))
  LOWP_HOST_FN packed(Bytes&& bytes, std::size_t size)
      : data_(reinterpret_cast<byte_type*>(std::ranges::data(bytes))),
        bytes_(static_cast<std::size_t>(std::ranges::size(bytes))),
        size_(size) {}

  LOWP_HOST_FN byte_type* data() const { return data_; }
  LOWP_HOST_FN std::size_t size() const { return size_; }
  [[nodiscard]] LOWP_HOST_FN std::size_t size_bytes() const { return bytes_; }

  LOWP_HOST_FN value_type operator[](std::size_t i) const {
    std::size_t const at = Order::bit(i, bits);
    unsigned word = data_[at / 8];
    if (at % 8 + bits > 8) word |= unsigned{data_[at / 8 + 1]} << 8;
    return value_type::from_bits(
        static_cast<std::uint8_t>(word >> at % 8 & value_type::descriptor.code_mask()));
  }

  /// Returns the view of elements [first, first + count).
  ///
  /// @param first  begins a byte: a multiple of 2, of 4 for six bits, of 32 for split_order. If T
  ///               is not const, so does the element behind the view: a write clears the rest of a
  ///               last byte
  /// @throws std::invalid_argument  one of these begins no byte, the elements are not all there, or
  ///                                the number of bytes is wrong
  LOWP_HOST_FN packed subspan(std::size_t first, std::size_t count) const {
    constexpr std::size_t unit = Order::together(bits);
    if (detail::error_text const why = invalid(); !why.empty())
      detail::refuse(detail::joined_text({"packed::subspan: ", why.c_str()}));
    if (first > size_ || count > size_ - first)
      detail::refuse(detail::joined_text(
          {"packed::subspan: elements ", first, " to ", first, " + ", count, " of ", size_}));
    std::size_t const end = first + count;
    bool const is_cut = !std::is_const_v<T> && end != size_ && end % unit != 0;
    if (first % unit != 0 || is_cut)
      detail::refuse(
          detail::joined_text({"packed::subspan: element ", first % unit != 0 ? first : end,
                               " begins no byte; that takes a multiple of ", unit}));
    packed part = *this;
    part.data_ += detail::bytes_of_codes(first, bits);
    part.bytes_ = detail::bytes_of_codes(count, bits);
    part.size_ = count;
    return part;
  }

  [[nodiscard]] LOWP_HOST_FN detail::error_text invalid() const {
    if (std::same_as<Order, split_order> && size_ % 32 != 0)
      return detail::joined_text({size_, " elements in split_order are no whole blocks of 32"});
    std::size_t const need = detail::bytes_of_codes(size_, bits);
    if (bytes_ == need) return {};
    return detail::joined_text(
        {size_, " elements of ", std::uint64_t{bits}, " bits need ", need, " bytes, not ", bytes_});
  }

 private:
  byte_type* data_ = nullptr;
  std::size_t bytes_ = 0, size_ = 0;
};

namespace detail {

template <class S>
inline constexpr bool is_packed = false;
template <class T, class Order>
inline constexpr bool is_packed<packed<T, Order>> = true;
template <class S>
concept packed_range = is_packed<std::remove_cvref_t<S>>;

}  // namespace detail

}  // namespace lowp
