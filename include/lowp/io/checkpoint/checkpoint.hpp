// SPDX-License-Identifier: Apache-2.0
// A model's training state in a safetensors file: saved whole or not at all, loaded if all fits.
//
//     checkpoint state;
//     state.parameter("w", {768, 768}, kahan{p, c}, m, v);
//     state.scalar("seed", seed).scalar("step", step);
//     state.load(path);
//     ...
//     state.save(path);
#pragma once

#include <lowp/ops/storage_operands.hpp>

#if defined(LOWP_COMPILED_CHECKPOINTS)  // lowp::compiled has them
#include <lowp/io/checkpoint/compiled_state.hpp>
#else
#include <lowp/io/checkpoint/state.hpp>
#endif

#include <string>
#include <vector>

namespace lowp::detail {

/// An array in a checkpoint: of floats, codes, or the integers of storages.
template <class R>
concept saved_range = lasting_array<R> && (narrow<std::ranges::range_value_t<R>> ||
                                           safetensors::stored<std::ranges::range_value_t<R>>);

}  // namespace lowp::detail

namespace lowp::inline LOWP_UNIT {

/// The addresses of a model's state, by name. It owns nothing, so all that is added must stay in
/// place. The file is plain safetensors: each array is a tensor. A composite storage is several
/// ("w" and "w.compensation", "w.copy", "w.low" or "w.scales"). Scalars are texts in the metadata
/// that read back to the same bits.
class checkpoint {
 public:
  using shape_type = std::vector<std::uint64_t>;

  /// Adds an array or a storage; without a shape it is a vector. The shape has the outermost extent
  /// first. Pass `scaled` as a variable, because loading also changes its scale and next.
  /// @throws std::invalid_argument  the shape has another number of elements; a name occurs twice
  template <class S>
  checkpoint& tensor(std::string const& name, shape_type const& shape, S&& storage) {
    using storage_type = std::remove_cvref_t<S>;
    if constexpr (detail::layered<storage_type>) {
      std::size_t i = 0;
      auto const add = [&](auto const& part) {
        // The first part has the shape; others may be smaller, such as scales of blocks.
        bool const has_shape =
            i == 0 || safetensors::detail::bytes_of(safetensors::dtype::u8, shape) == part.size();
        array(name + storage_type::names[i++], has_shape ? shape : shape_type{part.size()}, part);
      };
      std::apply([&](auto const&... part) { (add(part), ...); }, storage.parts());
      if constexpr (requires { storage.next; }) {
        static_assert(std::is_lvalue_reference_v<S> && !std::is_const_v<std::remove_reference_t<S>>,
                      "a checkpoint needs `scaled` as a variable: loading changes its scale");
        member(name, ".scale", storage.scale).member(name, ".next", storage.next);
      }
    } else {
      static_assert(detail::saved_range<S>,
                    "a checkpoint holds writable contiguous ranges, not temporaries, of float, a "
                    "narrow type or an integer type; and storages");
      array(name, shape, storage);
    }
    return *this;
  }
  template <class S>
  checkpoint& tensor(std::string const& name, S&& storage) {
    if constexpr (detail::layered<std::remove_cvref_t<S>>)
      return tensor(name, {std::get<0>(storage.parts()).size()}, std::forward<S>(storage));
    else
      return tensor(name, {std::ranges::size(storage)}, std::forward<S>(storage));
  }

  /// Adds a parameter and its moments: NAME, and NAME.momentum (SGD) or NAME.m and NAME.v (AdamW).
  template <class P, class... Moment>
    requires(sizeof...(Moment) <= 2)
  checkpoint& parameter(std::string const& name, shape_type const& shape, P&& p,
                        Moment&&... moments) {
    [[maybe_unused]] constexpr char const* suffix[] = {sizeof...(Moment) == 1 ? ".momentum" : ".m",
                                                       ".v"};
    std::size_t i = 0;
    tensor(name, shape, std::forward<P>(p));
    (tensor(name + suffix[i++], shape, std::forward<Moment>(moments)), ...);
    return *this;
  }

  template <checkpoint_scalar T>
  checkpoint& scalar(std::string const& name, T& value) {
    static_assert(!std::is_const_v<T>, "loading changes a scalar");
    auto const text = [](void const* from) {
      return detail::scalar_text(*static_cast<T const*>(from));
    };
    auto const parse = [](std::string_view read, void* to) {
      return detail::parse_scalar(read, static_cast<T*>(to));
    };
    state_.add(name, detail::saved_scalar{&value, text, parse});
    return *this;
  }
  /// Adds a stochastic mode's numbers and its generator's name: `load` refuses another generator.
  template <detail::draws_bits R>
  checkpoint& rounding(std::string const& name, R& mode) {
    state_.add(name + ".generator",
               detail::saved_scalar{nullptr, [](void const*) { return std::string(R::generator); },
                                    [](std::string_view, void*) { return true; }, R::generator});
    return member(name, ".seed", mode.seed)
        .member(name, ".stream", mode.stream)
        .member(name, ".offset", mode.offset);
  }
  /// Adds a loss_scaler, without its minimum. `load` clears its record of the last overflow, which
  /// may be of a step that is taken anew.
  template <class S>
    requires requires(S& s) { s.growth_tracker; }
  checkpoint& scaler(std::string const& name, S& s) {
    auto const text = [](void const* from) {
      return detail::scalar_text(static_cast<S const*>(from)->updates);
    };
    auto const parse = [](std::string_view read, void* to) {
      if (to == nullptr) return detail::parse_scalar<std::uint64_t>(read, nullptr);
      static_cast<S*>(to)->overflow = {};
      return detail::parse_scalar(read, &static_cast<S*>(to)->updates);
    };
    state_.add(name + ".updates", detail::saved_scalar{&s, text, parse});
    return member(name, ".scale", s.scale)
        .member(name, ".growth_factor", s.growth_factor)
        .member(name, ".backoff_factor", s.backoff_factor)
        .member(name, ".growth_interval", s.growth_interval)
        .member(name, ".growth_tracker", s.growth_tracker)
        .member(name, ".skipped", s.skipped);
  }
  /// Adds a delayed_scale, with its history as a tensor.
  template <class S>
    requires requires(S& s) { s.history[0].bits; }
  checkpoint& scaler(std::string const& name, S& s) {
    static_assert(sizeof(s.history[0]) == sizeof(std::uint32_t));
    std::uint64_t const length = sizeof(s.history) / sizeof(std::uint32_t);
    state_.add(name + ".history",
               detail::saved_tensor{std::span(&length, 1), safetensors::dtype::u32, "",
                                    std::as_writable_bytes(std::span(s.history))});
    return member(name, ".scale", s.scale)
        .member(name, ".margin", s.margin)
        .member(name, ".algorithm", s.algorithm)
        .member(name, ".interval", s.interval)
        .member(name, ".length", s.length)
        .member(name, ".updates", s.updates);
  }

  /// Replaces the file at `path`, whole or not at all: see atomic_file.
  /// @throws std::runtime_error  the file cannot be written; a name is not UTF-8
  void save(std::string const& path) const { state_.save(path); }

  /// Loads all that was added.
  /// @throws std::runtime_error  naming the tensor or scalar: the file is not a safetensors file,
  ///         not a checkpoint or of another version; something is missing, unknown, or of another
  ///         shape, type, format or generator. Then nothing has been written. If reading fails
  ///         later, some tensors have been written.
  void load(std::string const& path) const { state_.load(path); }

 private:
  template <class T>
  LOWP_NOINLINE checkpoint& member(std::string const& name, char const* suffix, T& value) {
    return scalar(name + suffix, value);
  }
  template <class R>
  void array(std::string const& name, shape_type const& shape, R& range) {
    using T = std::ranges::range_value_t<R>;
    auto const bytes = std::as_writable_bytes(std::span(range));
    if constexpr (safetensors::stored<T>)
      state_.add(name, detail::saved_tensor{shape, safetensors::dtype_of<T>, "", bytes});
    else
      state_.add(name, detail::saved_tensor{shape, safetensors::dtype_of<typename T::storage>,
                                            detail::format_text(T::descriptor), bytes,
                                            static_cast<std::byte>(T::descriptor.code_mask() >>
                                                                   8 * (sizeof(T) - 1))});
  }

  detail::checkpoint_state state_;
};

}  // namespace lowp::inline LOWP_UNIT
