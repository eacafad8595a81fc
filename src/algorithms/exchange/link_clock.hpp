#pragma once
// When what travels between devices arrives.

#include <cstddef>
#include <vector>

#include "algorithms/exchange/exchange_model.hpp"

namespace ob::algorithms {

/// The links of a ExchangeModel. Each carries one block at a time in each direction; blocks of
/// different transfers share it as they come, and what must wait at its other end leaves it free.
/// Time is whatever the caller counts in seconds.   Threads: one at a time
class LinkClock {
 public:
  explicit LinkClock(const ExchangeModel& model);

  /// When each block of something on its way is there. Empty: all of it is there since `ready`.
  struct Passing {
    double ready = 0;
    std::vector<double> blocks;
    double last() const { return blocks.empty() ? ready : blocks.back(); }
  };

  /// From this process to a device: when all of it is there.
  double send(std::size_t to, double bytes, double ready);
  /// From a device to this process.
  double fetch(std::size_t from, double bytes, double ready);
  /// From device to device; blocks go on as they arrive.
  /// @param free when the receiver has room
  Passing forward(std::size_t from, std::size_t to, double bytes, const Passing& there,
                  double free);
  /// The two halves of a way through this process.
  Passing up(std::size_t from, double bytes, double ready);
  Passing down(std::size_t to, double bytes, const Passing& here, double free);

 private:
  struct Busy {
    double from;
    double until;
  };
  // One direction of a link, in order of time, neighbours merged.
  struct Link {
    double bytes_per_s = 0;
    std::vector<Busy> busy;
    double free_at(double time, double duration) const;
    void occupy(double from, double duration);
  };
  Passing pass(Link& out, Link& in, double bytes, const Passing& there, double free,
               double bytes_per_s = 0);

  const double message_s_;
  const double block_bytes_;
  const double peer_bytes_per_s_;
  Link client_out_;
  Link client_in_;
  std::vector<Link> out_;
  std::vector<Link> in_;
};

}  // namespace ob::algorithms
