// Reads arbitrary job files. The first byte chooses the form: TOML, the older binary form, or the
// header of a NumPy file. A job that is read must come back from the text that is written for it.

#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/failure.hpp"
#include "sial/job/import_dat.hpp"
#include "sial/job/npy_header.hpp"
#include "sial/job/read_job.hpp"
#include "sial/job/write_job.hpp"

namespace ob::fuzz {
namespace {

void check(const sial::Job& job) {
  const std::string text = sial::job_text(job);
  if (text.find("file = ") != std::string::npos) return;  // no file was written
  const auto again = sial::parse_job(text, "again.toml");
  // The older form has names for jobs that TOML does not take.
  if (!again.ok()) return;
  expect(sial::job_text(*again) == text, "a job comes back from its text");
}

void read(std::string_view input) {
  if (input.empty()) return;
  const char form = input.front();
  input.remove_prefix(1);
  const auto bytes = std::as_bytes(std::span(input));
  if (form == 'n') {
    const auto header = sial::parse_npy_header(bytes);
    if (header.ok()) expect(header->count >= 0, "a number of elements does not overflow");
    return;
  }
  // Names of files are not opened: they may be pipes.
  if (form != 'd' && input.find("file") != std::string_view::npos) return;
  const auto job = form == 'd' ? sial::parse_dat(bytes, "f.dat") : sial::parse_job(input, "f.toml");
  if (job.ok()) {
    check(*job);
  } else {
    expect(job.status().message().starts_with("f."), "a refusal names its file");
  }
}

}  // namespace
}  // namespace ob::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ob::fuzz::read({reinterpret_cast<const char*>(data), size});
  return 0;
}
