// SPDX-License-Identifier: Apache-2.0
// The macros of the library.
#pragma once

#if __cplusplus < 202002L
#error \
    "lowp needs C++20: compile with -std=c++20, in CMake target_compile_features(... PRIVATE cxx_std_20)"
#include <lowp-needs-std=c++20>  // Compilers continue after #error, but not after a missing file.
#endif

// Every header of the library takes these from here.
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <utility>

#if defined(__i386__) && !defined(__SSE2_MATH__)
#error "lowp needs arithmetic without excess precision: compile with -msse2 -mfpmath=sse"
#endif

#define LOWP_VERSION_MAJOR 0
#define LOWP_VERSION_MINOR 2
#define LOWP_VERSION_PATCH 0
#define LOWP_VERSION (LOWP_VERSION_MAJOR * 10000 + LOWP_VERSION_MINOR * 100 + LOWP_VERSION_PATCH)

#if defined(__CUDACC__)
#define LOWP_HOST_DEVICE __host__ __device__
#else
#define LOWP_HOST_DEVICE
#endif

// A function that emits no body of its own. Otherwise the linker could keep a body compiled with
// -mavx2 for a unit built without it. If __device__ came first, nvcc with clang would take a member
// with `auto` parameters for the host's alone.
#define LOWP_FN inline __attribute__((always_inline)) LOWP_HOST_DEVICE
#define LOWP_HOST_FN inline __attribute__((always_inline))

// Called, not inlined: checks would take most of a caller's compile time.
#define LOWP_NOINLINE __attribute__((noinline))
// Code that runs only after an error. What leads to it is compiled for size.
#define LOWP_COLD __attribute__((noinline, cold))
#define LOWP_COLD_CALL __attribute__((cold))  // declares it

// A call across which no optimiser moves floating-point work.
#if defined(__clang__)
#define LOWP_OPAQUE __attribute__((noinline))
#else
#define LOWP_OPAQUE __attribute__((noinline, noipa))
#endif
// Such a function for kernels, too, where no caller has an environment of its own.
#if defined(__CUDA_ARCH__)
#define LOWP_OPAQUE_FN LOWP_FN
#else
#define LOWP_OPAQUE_FN LOWP_HOST_DEVICE LOWP_OPAQUE inline
#endif

#if defined(__CUDA_ARCH__)
#define LOWP_UNROLL _Pragma("unroll")
#define LOWP_UNROLL_BY_TWO _Pragma("unroll 2")
#define LOWP_KEEP_LOOP _Pragma("unroll 1")
#define LOWP_UNROLL_ON_GPU LOWP_UNROLL  // no variable can index a thread's registers
#elif defined(__CUDACC__)               // nvcc's host pass knows neither spelling
#define LOWP_UNROLL
#define LOWP_UNROLL_BY_TWO
#define LOWP_KEEP_LOOP
#define LOWP_UNROLL_ON_GPU
#else
#define LOWP_UNROLL _Pragma("GCC unroll 16")
#define LOWP_UNROLL_BY_TWO _Pragma("GCC unroll 2")
#define LOWP_KEEP_LOOP _Pragma("GCC unroll 1")  // unrolled, it would be larger or spill
#define LOWP_UNROLL_ON_GPU
#endif

// Hides a value from the optimiser, so that it neither contracts nor regroups operations. An
// element function may be a caller's own, compiled with the caller's flags. In g++ the caller's
// flags replace those of an inlined function. Under -ffast-math a function of several instructions
// is therefore a LOWP_LANE_FN, which is not inlined.
#if defined(__x86_64__) && (defined(__FAST_MATH__) || defined(__FMA__))
#define LOWP_HIDE(value) asm("" : "+v"(value))
#elif defined(__aarch64__)
#define LOWP_HIDE(value) asm("" : "+w"(value))
#else
#define LOWP_HIDE(value) static_cast<void>(value)
#endif
#if defined(__FAST_MATH__) && !defined(__clang__)
#define LOWP_LANE_FN inline LOWP_OPAQUE
#else
#define LOWP_LANE_FN LOWP_HOST_FN
#endif

// A unit with instrumented kernels, which take long to compile. g++ tells of no UBSan.
#if defined(__SANITIZE_ADDRESS__)
#define LOWP_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define LOWP_SANITIZED 1
#endif
#endif

// Between these two macros, -ffast-math and contraction of the including unit are off. Instrumented
// code is not optimised further: points-to analysis and redundancies took two thirds of the time.
#if defined(__clang__) && !defined(__x86_64__)  // clang has no such pragma for other processors
#define LOWP_EXACT_BEGIN
#define LOWP_EXACT_END
#elif defined(__clang__)
#define LOWP_EXACT_BEGIN _Pragma("float_control(push)") _Pragma("float_control(precise, on)")
#define LOWP_EXACT_END _Pragma("float_control(pop)")
#elif defined(__CUDACC__)
#define LOWP_EXACT_BEGIN                                                                     \
  _Pragma("nv_diagnostic push") _Pragma("nv_diag_suppress 1675") _Pragma("GCC push_options") \
      _Pragma("GCC optimize(\"no-fast-math\",\"fp-contract=off\")")
#define LOWP_EXACT_END _Pragma("GCC pop_options") _Pragma("nv_diagnostic pop")
#elif defined(LOWP_SANITIZED) && defined(__OPTIMIZE__)
#define LOWP_EXACT_BEGIN      \
  _Pragma("GCC push_options") \
      _Pragma("GCC optimize(\"O1\",\"no-tree-pta\",\"no-fast-math\",\"fp-contract=off\")")
#define LOWP_EXACT_END _Pragma("GCC pop_options")
#else
#define LOWP_EXACT_BEGIN \
  _Pragma("GCC push_options") _Pragma("GCC optimize(\"no-fast-math\",\"fp-contract=off\")")
#define LOWP_EXACT_END _Pragma("GCC pop_options")
// Opens such a region of functions that a kernel inlines, each with all that it calls. g++ then
// optimises the kernel alone: it took a sixth of its time to optimise each layer of the loop.
#define LOWP_LAYERS_BEGIN     \
  _Pragma("GCC push_options") \
      _Pragma("GCC optimize(\"O0\",\"strict-aliasing\",\"no-fast-math\",\"fp-contract=off\")")
#endif
#if !defined(LOWP_LAYERS_BEGIN)
#define LOWP_LAYERS_BEGIN LOWP_EXACT_BEGIN
#endif

// Kernels live in an inline namespace that spells the unit's own instruction sets: units built with
// different flags never share a kernel. It also spells what decides the list of backends, and
// exceptions: a unit without them must not lend its trap. A flag such as __SSE3__ expands to 1 or
// to its own name. Only LOWP_HAS_1 is a macro, which puts a 1 in the second place.
#define LOWP_HAS_1 , 1
#define LOWP_SECOND_(first, second, ...) second
#define LOWP_SECOND(...) LOWP_SECOND_(__VA_ARGS__)
#define LOWP_HAS_(flag) LOWP_SECOND(LOWP_HAS_##flag, 0, )
#define LOWP_HAS(flag) LOWP_HAS_(flag)
#define LOWP_JOIN_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t) \
  unit_##a##b##c##d##e##f##g##h##i##j##k##l##m##n##o##p##q##r##s##t
#define LOWP_JOIN(...) LOWP_JOIN_(__VA_ARGS__)
#if defined(__aarch64__)
#define LOWP_UNIT                                                                              \
  LOWP_JOIN(LOWP_HAS(__ARM_FEATURE_ATOMICS), LOWP_HAS(__ARM_FEATURE_CRC32),                    \
            LOWP_HAS(__ARM_FEATURE_QRDMX), LOWP_HAS(__ARM_FEATURE_DOTPROD),                    \
            LOWP_HAS(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC), LOWP_HAS(__ARM_FEATURE_FP16_FML),  \
            LOWP_HAS(__ARM_FEATURE_COMPLEX), LOWP_HAS(__ARM_FEATURE_JCVT),                     \
            LOWP_HAS(__ARM_FEATURE_FRINT), LOWP_HAS(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC),     \
            LOWP_HAS(__ARM_FEATURE_MATMUL_INT8), LOWP_HAS(__ARM_FEATURE_AES),                  \
            LOWP_HAS(__ARM_FEATURE_SHA3), LOWP_HAS(__ARM_FEATURE_SHA512),                      \
            LOWP_HAS(__ARM_FEATURE_SVE), LOWP_HAS(__ARM_FEATURE_SVE2), LOWP_HAS(__EXCEPTIONS), \
            LOWP_HAS(LOWP_ALL_BACKENDS), LOWP_HAS(LOWP_SANITIZED), LOWP_HAS(LOWP_COMPILED))
#else
#define LOWP_UNIT                                                                                \
  LOWP_JOIN(LOWP_HAS(__SSE3__), LOWP_HAS(__SSSE3__), LOWP_HAS(__SSE4_1__), LOWP_HAS(__SSE4_2__), \
            LOWP_HAS(__POPCNT__), LOWP_HAS(__LZCNT__), LOWP_HAS(__BMI__), LOWP_HAS(__BMI2__),    \
            LOWP_HAS(__AVX__), LOWP_HAS(__F16C__), LOWP_HAS(__FMA__), LOWP_HAS(__AVX2__),        \
            LOWP_HAS(__AVX512F__), LOWP_HAS(__AVX512BW__), LOWP_HAS(__AVX512BF16__),             \
            LOWP_HAS(__AVX512FP16__), LOWP_HAS(__EXCEPTIONS), LOWP_HAS(LOWP_ALL_BACKENDS),       \
            LOWP_HAS(LOWP_SANITIZED), LOWP_HAS(LOWP_COMPILED))
#endif

// Texts, checks and watches run seldom, so the library lowp::compiled has their bodies, for units
// with any flags. Where a class or a throw differs from the library's, a unit has its own.
#if (defined(LOWP_COMPILED) || defined(LOWP_COMPILING)) && defined(__cpp_exceptions) && \
    !defined(_GLIBCXX_DEBUG) && !defined(__CUDACC__)
#define LOWP_SHARED compiled
#define LOWP_LIB __attribute__((visibility("default")))
#if defined(LOWP_PART_shared)
#define LOWP_BODIES
#endif
#else
#define LOWP_SHARED LOWP_UNIT
#define LOWP_LIB inline
#define LOWP_BODIES
#endif
