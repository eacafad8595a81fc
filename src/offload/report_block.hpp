#pragma once
// Counters of one process, laid out so that they can live in a memory-mapped file: they survive
// _exit() and kill -9, and python/outboard/report.py reads them. Little-endian, version
// kReportVersion; docs/report.md.

#include <atomic>
#include <cstdint>

namespace ob::offload {

inline constexpr std::uint64_t kReportMagic = 0x54524F504552424FULL;  // "OBREPORT"
inline constexpr std::uint32_t kReportVersion = 5;
inline constexpr std::uint32_t kReportRows = 1024;

using Counter = std::atomic<std::uint64_t>;

/// One routine ("dgemm") or FFT kind ("fftw c2c"). All times in ns, summed over calls.
struct ReportRow {
  char name[32];         ///< zero-terminated; empty: row unused
  Counter calls;         ///< calls that were counted
  Counter remote;        ///< of these, completed on an accelerator
  Counter fell_back;     ///< of these, sent out but completed locally after a failure
  Counter bytes_to;      ///< element data to the device
  Counter bytes_from;    ///< element data back
  Counter to_server_ns;  ///< timings of the RCPU thesis, section 4.1, of remote calls
  Counter plan_ns;
  Counter compute_ns;
  Counter from_server_ns;
  Counter remote_ns;        ///< whole remote calls as the caller saw them
  Counter local_ns;         ///< whole remote calls, as the caller sees them
  Counter local_calls;      ///< how many of them
  Counter local_megaflop;   ///< work of the timed local runs [10^6 flop]
  Counter remote_megaflop;  ///< work of the remote calls [10^6 flop]
  Counter eligible;         ///< mode trace: calls that could have gone out
  Counter bytes_kept;       ///< element data that did not travel: on the device already
  Counter verified;         ///< OUTBOARD_VERIFY: remote runs whose results were checked, and right
  Counter mismatched;       ///< the same, but results were wrong, and the call fell back
  Counter unchecked;        ///< the same, but there is no check for the routine or the values
  Counter decided;          ///< mode auto: calls with predicted local and remote times
  Counter tried;            ///< of these, sent against the prediction, to measure them
  Counter mispredicted;     ///< of these, took 1.25 times the predicted time of the other side
  Counter lost_ns;          ///< time lost by mispredicted calls
  Counter several;          ///< of the remote ones, computed on several devices at once
  Counter devices;          ///< devices of these, summed over calls
  Counter strict;           ///< of the remote ones, computed in this mode of ob::Accuracy
  Counter fast;             ///< the same for this mode
  Counter emulated;         ///< the same for this mode
  Counter bytes_between;    ///< element data that devices of one call sent each other
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
  ReportRow row[kReportRows];
};

static_assert(sizeof(ReportRow) == 32 + 29 * 8);

}  // namespace ob::offload
