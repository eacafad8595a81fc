#pragma once
// The times at which messages between devices arrive.

#include <cstddef>
#include <vector>

#include "algorithms/exchange/exchange_model.hpp"

namespace ob::algorithms {

/// The links of an ExchangeModel. Each link carries one block at a time in each direction. Blocks
/// of different transfers use it in the order in which they come, and a block that waits for the
/// other link leaves it free.
/// Units: s, on a clock of the caller      Threads: one at a time
class LinkClock {
 public:
  explicit LinkClock(const ExchangeModel& model);

  /// The times at which the blocks of a message arrive. Empty: all of it is there since `ready`.
  struct Passing {
    double ready = 0;
    std::vector<double> blocks;
    double last() const { return blocks.empty() ? ready : blocks.back(); }
  };

  /// Sends from this process to a device.   @returns the time at which the last byte arrives
  double send(std::size_t to, double bytes, double ready);
  /// Sends from a device to this process.
  double fetch(std::size_t from, double bytes, double ready);
  /// Sends from device to device, each block as it arrives at the sender.
  /// @param free the time from which the receiver has room
  Passing forward(std::size_t from, std::size_t to, double bytes, const Passing& there,
                  double free);
  /// The two halves of a route through this process.
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
