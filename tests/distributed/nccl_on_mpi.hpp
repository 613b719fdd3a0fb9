// SPDX-License-Identifier: Apache-2.0
// The functions of NCCL that lowp calls, over MPI and host memory: nccl::communicator runs without
// a GPU. The signatures are those of the real nccl.h.
#pragma once

#include <lowp/mpi.hpp>

#include <nccl.h>

#include <vector>

inline std::vector<MPI_Request> requests;
inline bool is_group = false;
inline int sends = 0;
inline bool is_broken = false;  // messages fail

inline ncclResult_t answer(int code) { return code == MPI_SUCCESS ? ncclSuccess : ncclSystemError; }

extern "C" {
char const* ncclGetErrorString(ncclResult_t) { return "failed"; }
// A null communicator fails, as NCCL's does.
ncclResult_t ncclCommCount(ncclComm_t const comm, int* count) {
  if (comm == nullptr) return ncclInvalidArgument;
  return answer(MPI_Comm_size(MPI_COMM_WORLD, count));
}
ncclResult_t ncclCommUserRank(ncclComm_t const comm, int* rank) {
  if (comm == nullptr) return ncclInvalidArgument;
  return answer(MPI_Comm_rank(MPI_COMM_WORLD, rank));
}
ncclResult_t ncclGroupStart() {
  if (is_group) return ncclInvalidUsage;
  is_group = true;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  is_group = false;
  int const code =
      MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  requests.clear();
  return answer(code);
}
// Messages to several ranks need a group: NCCL's could wait for each other without one.
ncclResult_t ncclSend(void const* data, size_t count, ncclDataType_t, int peer, ncclComm_t,
                      cudaStream_t) {
  if (!is_group || is_broken) return ncclInvalidUsage;
  ++sends;
  return answer(MPI_Isend(data, static_cast<int>(count), MPI_BYTE, peer, 0, MPI_COMM_WORLD,
                          &requests.emplace_back()));
}
ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t, int peer, ncclComm_t,
                      cudaStream_t) {
  return answer(MPI_Irecv(data, static_cast<int>(count), MPI_BYTE, peer, 0, MPI_COMM_WORLD,
                          &requests.emplace_back()));
}
ncclResult_t ncclBroadcast(void const*, void* data, size_t count, ncclDataType_t, int root,
                           ncclComm_t, cudaStream_t) {
  if (!is_group || is_broken) return ncclInvalidUsage;
  return answer(MPI_Bcast(data, static_cast<int>(count), MPI_BYTE, root, MPI_COMM_WORLD));
}
ncclResult_t ncclAllReduce(void const*, void* data, size_t count, ncclDataType_t type,
                           ncclRedOp_t how, ncclComm_t, cudaStream_t) {
  if (type != ncclUint32 || how != ncclMax || is_group) return ncclInvalidArgument;
  return answer(MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), MPI_UINT32_T, MPI_MAX,
                              MPI_COMM_WORLD));
}
}
