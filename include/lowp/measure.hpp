// SPDX-License-Identifier: Apache-2.0
// Numbers of tensors:
//
//     census<To>(in), abs_range_of<To>(in)    what a format does to them
//     sum(x), mean(x), dot(a, b), norm(x)
//     measure(g)                              norm, largest magnitude, infinities and NaN
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/measure/census/abs_range.hpp>
#include <lowp/measure/census/census.hpp>
#include <lowp/measure/sums.hpp>
#include <lowp/simd/dispatch.hpp>
#include <lowp/train/gradients.hpp>

#include <lowp/base/restore_macros.inc>
