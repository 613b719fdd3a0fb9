// SPDX-License-Identifier: Apache-2.0
// Matrices and arrays of narrow types in Eigen 3.4:
//
//     using matrix = Eigen::Matrix<lowp::bfloat16, Eigen::Dynamic, Eigen::Dynamic>;
//     matrix c = (a.cast<float>() * b.cast<float>()).cast<lowp::bfloat16>();   // rounded once
//     matrix d = a * b;                                    // rounded at every step: avoid it
//
// Works with products, reductions, decompositions, cast, Random and output. A narrow scalar is
// rounded after every addition, as Eigen::half is: sums of many terms stop growing. So compute in
// float, and keep matrices narrow. tests/peers/eigen measures the difference. Eigen's JacobiSVD
// squares quotients, which overflow float16 and Eigen::half: give it a.cast<float>().
//
// Eigen refuses factors of another type, as it does for float and double: write `T(0.5f) * a`.
// isApprox() and its kin compare within 8 epsilons, at most 1/2. That is what their
// dummy_precision() is.
//
// Vectors, columns and maps whose elements follow each other are contiguous ranges: operations take
// them as they are. An Eigen::Map<matrix> maps a span's data. The reverse is view() of
// lowp/view.hpp: it takes Eigen::half* and Eigen::bfloat16* as ours.
#pragma once

#include <lowp/interop/eigen.hpp>
#include <lowp/view.hpp>
