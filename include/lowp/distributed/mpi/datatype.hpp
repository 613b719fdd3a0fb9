// SPDX-License-Identifier: Apache-2.0
// Failures of MPI, and elements in messages of your own.
#pragma once

#include <lowp/base/error_text.hpp>
#include <lowp/ops/arguments.hpp>

// Without the C++ bindings, which MPI 3 removed.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <stdexcept>
#include <string>

namespace lowp::mpi {

/// An MPI function failed. The text has the function and the words of MPI.
struct error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace lowp::mpi

namespace lowp::detail {

inline void check_mpi(char const* function, int code) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int size = 0;
  MPI_Error_string(code, text, &size);
  raise<mpi::error>(std::string(function) + ": " + text);
}

inline bool is_mpi_over() {
  int is_over = 0;
  MPI_Finalized(&is_over);
  return is_over != 0;
}
/// Throws where another function of MPI would end the job.
inline void check_mpi_runs() {
  int has_begun = 0;
  MPI_Initialized(&has_begun);
  if (has_begun == 0 || is_mpi_over())
    raise<mpi::error>(has_begun == 0 ? "lowp::mpi: MPI_Init has not been called"
                                     : "lowp::mpi: MPI_Finalize has been called");
}

}  // namespace lowp::detail

namespace lowp::mpi {

/// Committed contiguous bytes, for the caller's own messages. MPI has no 16-bit or 8-bit float, and
/// refuses to sum these: a sum in steps would be rounded at each of them.
///
///     mpi::datatype const type = mpi::datatype::of<bfloat16>();
///     MPI_Send(values.data(), n, type, to, tag, comm);
class datatype {
 public:
  /// @throws mpi::error  MPI refuses, or does not run
  explicit datatype(int bytes) {
    detail::check_mpi_runs();
    detail::check_mpi("MPI_Type_contiguous", MPI_Type_contiguous(bytes, MPI_BYTE, &type_));
    detail::check_mpi("MPI_Type_commit", MPI_Type_commit(&type_));
  }
  template <element T>
  static datatype of() {
    return datatype(sizeof(T));
  }
  datatype(datatype const&) = delete;
  datatype& operator=(datatype const&) = delete;
  ~datatype() {
    if (!detail::is_mpi_over()) MPI_Type_free(&type_);
  }

  operator MPI_Datatype() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace lowp::mpi
