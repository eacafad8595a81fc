#include "overlap/agreement.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <numeric>

#include "overlap/mpi_calls.hpp"

namespace ob::overlap {
namespace {

/// One end's description of a message.
struct Announcement {
  std::int64_t peer;  ///< the other end, seen from whoever holds the announcement
  std::int64_t tag;
  std::int64_t bytes;
  std::uint64_t signature;
};
static_assert(sizeof(Announcement) == 32);

/// Tells each receiver what is sent to it, and returns what is sent to this rank. Collective.
Result<std::vector<Announcement>> exchange_announcements(MPI_Comm comm,
                                                         const std::vector<Message>& messages) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  std::vector<const Message*> sends;
  for (const Message& message : messages)
    if (message.sends) sends.push_back(&message);
  std::stable_sort(sends.begin(), sends.end(),
                   [](const Message* a, const Message* b) { return a->peer < b->peer; });
  std::vector<Announcement> out;
  std::vector<int> out_bytes(size), in_bytes(size), out_at(size), in_at(size);
  for (const Message* m : sends) {
    out.push_back({rank, m->tag, std::int64_t(m->bytes()), m->signature()});
    out_bytes[m->peer] += int(sizeof(Announcement));
  }
  OB_RETURN_IF_ERROR(mpi_status("MPI_Alltoall", MPI_Alltoall(out_bytes.data(), 1, MPI_INT,
                                                             in_bytes.data(), 1, MPI_INT, comm)));
  std::exclusive_scan(out_bytes.begin(), out_bytes.end(), out_at.begin(), 0);
  std::exclusive_scan(in_bytes.begin(), in_bytes.end(), in_at.begin(), 0);
  std::vector<Announcement> in(std::size_t(in_at.back() + in_bytes.back()) / sizeof(Announcement));
  OB_RETURN_IF_ERROR(mpi_status(
      "MPI_Alltoallv", MPI_Alltoallv(out.data(), out_bytes.data(), out_at.data(), MPI_BYTE,
                                     in.data(), in_bytes.data(), in_at.data(), MPI_BYTE, comm)));
  return in;
}

std::string link(std::int64_t from, std::int64_t to, std::int64_t tag) {
  return "rank " + std::to_string(from) + " to rank " + std::to_string(to) + ", tag " +
         std::to_string(tag);
}

/// Returns the first difference between what is sent to this rank and what it receives.
Status compare(int rank, const std::vector<Message>& messages, std::vector<Announcement> sent) {
  for (const Message& m : messages) {
    if (m.sends) continue;
    const auto found = std::find_if(sent.begin(), sent.end(), [&](const Announcement& a) {
      return a.peer == m.peer && a.tag == m.tag;
    });
    const std::string where = "message from " + link(m.peer, rank, m.tag) + ": ";
    if (found == sent.end())
      return Status(Code::invalid_argument, where + "received but not sent (the plans differ)");
    if (found->bytes != std::int64_t(m.bytes()))
      return Status(Code::invalid_argument, where + std::to_string(found->bytes) +
                                                " bytes are sent and " + std::to_string(m.bytes()) +
                                                " received (the regions differ in size)");
    if (found->signature != m.signature())
      return Status(
          Code::invalid_argument,
          where + "the regions differ in extents, element size, order of dimensions or mask");
    sent.erase(found);
  }
  if (sent.empty()) return {};
  return Status(Code::invalid_argument, "message from " +
                                            link(sent.front().peer, rank, sent.front().tag) +
                                            ": sent but not received (the plans differ)");
}

Status check_own(MPI_Comm comm, const std::vector<Message>& messages) {
  int size = 1;
  MPI_Comm_size(comm, &size);
  for (const Message& m : messages) {
    if (m.peer < 0 || m.peer >= size)
      return Status(Code::invalid_argument, "rank " + std::to_string(m.peer) +
                                                " does not exist (the communicator has " +
                                                std::to_string(size) + ")");
    if (m.tag < 0 || m.tag > 32767)  // the least upper bound that MPI permits
      return Status(Code::invalid_argument,
                    "tag " + std::to_string(m.tag) + " is not in 0 to 32767");
  }
  return {};
}

/// Gives all ranks the failure of the lowest rank that has one. Collective.
Status share(MPI_Comm comm, const Status& own) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  int failed = own.ok() ? INT_MAX : rank;
  OB_RETURN_IF_ERROR(
      mpi_status("MPI_Allreduce", MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MIN, comm)));
  if (failed == INT_MAX) return {};
  std::array<char, 512> words{};
  int code = int(own.code());
  own.message().copy(words.data(), words.size() - 1);
  MPI_Bcast(&code, 1, MPI_INT, failed, comm);
  MPI_Bcast(words.data(), int(words.size()), MPI_CHAR, failed, comm);
  return own.ok() ? Status(Code(code), "rank " + std::to_string(failed) + ": " + words.data())
                  : own;
}

}  // namespace

Status agree(MPI_Comm comm, const std::vector<Message>& messages, const Status& own) {
  OB_RETURN_IF_ERROR(share(comm, own.ok() ? check_own(comm, messages) : own));
  const Result<std::vector<Announcement>> sent = exchange_announcements(comm, messages);
  if (!sent.ok()) return sent.status();
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return share(comm, compare(rank, messages, *sent));
}

Status agree_on_values(MPI_Comm comm, const std::vector<std::int64_t>& values,
                       const std::function<std::string(std::size_t)>& name_of) {
  std::vector<std::int64_t> first = values;
  OB_RETURN_IF_ERROR(
      mpi_status("MPI_Bcast", MPI_Bcast(first.data(), int(first.size()), MPI_INT64_T, 0, comm)));
  const auto differs = std::mismatch(values.begin(), values.end(), first.begin());
  Status own;
  if (differs.first != values.end())
    own = Status(Code::invalid_argument, name_of(std::size_t(differs.first - values.begin())) +
                                             ": " + std::to_string(*differs.first) + " here and " +
                                             std::to_string(*differs.second) +
                                             " on rank 0 (the plans differ)");
  return share(comm, own);
}

}  // namespace ob::overlap
