#pragma once
// Counters of one process, laid out so that they can live in a memory-mapped file: they survive
// _exit() and kill -9, and python/outboard/report.py reads them. Little-endian, version
// kReportVersion; docs/report.md.

#include <atomic>
#include <cstdint>

namespace ob::offload {

inline constexpr std::uint64_t kReportMagic = 0x54524F504552424FULL;  // "OBREPORT"
inline constexpr std::uint32_t kReportVersion = 6;
inline constexpr std::uint32_t kReportRows = 1024;

using Counter = std::atomic<std::uint64_t>;

/// One routine ("dgemm") or FFT kind ("fftw c2c"). All times in ns, summed over calls.
struct ReportRow {
  char name[32];         ///< zero-terminated; empty: row unused
  Counter calls;         ///< calls that were counted
  Counter remote;        ///< remote calls: completed on an accelerator
  Counter fell_back;     ///< calls that were sent but completed locally after a failure
  Counter bytes_to;      ///< element data to the device
  Counter bytes_from;    ///< element data back
  Counter to_server_ns;  ///< timings of the RCPU thesis, section 4.1, of remote calls
  Counter plan_ns;
  Counter compute_ns;
  Counter from_server_ns;
  Counter remote_ns;        ///< whole remote calls, as the caller sees them
  Counter local_ns;         ///< whole local runs that were timed
  Counter local_calls;      ///< number of these runs
  Counter local_megaflop;   ///< work of the timed local runs [10^6 flop]
  Counter remote_megaflop;  ///< work of the remote calls [10^6 flop]
  Counter eligible;         ///< mode trace: calls that could have been remote
  Counter bytes_kept;       ///< element data that was not sent: on the device already
  Counter verified;         ///< OUTBOARD_VERIFY: remote runs whose results were checked, and right
  Counter mismatched;       ///< remote runs with wrong results: the call fell back
  Counter unchecked;        ///< remote runs whose routine or values have no check
  Counter decided;          ///< mode auto: calls with predicted local and remote times
  Counter tried;            ///< local calls that also ran on an accelerator, to measure it
  Counter mispredicted;     ///< decided calls over 1.25 times the other side's prediction
  Counter lost_ns;          ///< time lost by mispredicted calls
  Counter several;          ///< remote calls on several devices at once
  Counter devices;          ///< number of these devices, summed over calls
  Counter strict;           ///< remote calls in this mode of ob::Accuracy
  Counter fast;             ///< remote calls in this mode
  Counter emulated;         ///< remote calls in this mode
  Counter bytes_between;    ///< element data that devices of one call sent each other
  Counter changed;          ///< shapes of calls that changed sides, each time they did
};

struct ReportBlock {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t rows;
  std::uint64_t pid;
  std::uint64_t started_unix_ns;
  char program[64];
  char server[128];  ///< address of the daemon in use; empty: none
  char mode[16];
  char notice[256];  ///< why calls stayed local, if a server was lost or refused
  char reason[256];  ///< why the accelerator cannot gain; empty: it may
  Counter spent_ns;  ///< mode auto: the time of all calls that were decided
  Counter cost_ns;   ///< the part of the time of the process that LossBudget counts as lost
  ReportRow row[kReportRows];
};

static_assert(sizeof(ReportRow) == 32 + 30 * 8);

}  // namespace ob::offload
