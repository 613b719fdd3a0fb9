# SPDX-License-Identifier: Apache-2.0
# Sourced after tests/setup.sh.

# build_benches [TARGET...]: all, or these, with the libraries that lowp is measured against; if `quick`
# is ON, with kernels of one backend.
quick=OFF
build_benches() {
  need_toolchain
  need libbenchmark-dev benchmark/benchmark.h
  wish libeigen3-dev eigen3/Eigen/Core Eigen/Core
  wish libfp16-dev fp16/fp16.h
  wish libhwy-dev hwy/highway.h
  wish libdnnl-dev oneapi/dnnl/dnnl.hpp
  install_missing
  build_target "${*:-benches}" -DLOWP_BUILD_BENCH=ON -DLOWP_BENCH_QUICK=$quick
}
