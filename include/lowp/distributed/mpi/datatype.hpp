// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/base/raise.hpp>
#include <lowp/format/basic_float.hpp>

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

}  // namespace lowp::detail

namespace lowp::mpi {

/// Committed contiguous bytes, for the caller's own messages. MPI has no 16-bit or 8-bit float, and
/// refuses to sum these: a sum in steps would be rounded at each of them.
///
///     mpi::datatype const type = mpi::datatype::of<bfloat16>();
///     MPI_Send(values.data(), n, type, to, tag, comm);
///
/// Free it before MPI_Finalize, as MPI asks.
class datatype {
 public:
  /// @throws mpi::error  MPI refuses
  explicit datatype(int bytes) {
    detail::check_mpi("MPI_Type_contiguous", MPI_Type_contiguous(bytes, MPI_BYTE, &type_));
    detail::check_mpi("MPI_Type_commit", MPI_Type_commit(&type_));
  }
  template <element T>
  static datatype of() {
    return datatype(sizeof(T));
  }
  datatype(datatype const&) = delete;
  datatype& operator=(datatype const&) = delete;
  ~datatype() { MPI_Type_free(&type_); }

  operator MPI_Datatype() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace lowp::mpi
