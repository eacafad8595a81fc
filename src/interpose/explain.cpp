// outboard_explain(): the decision's own figures, in words that a program can read.

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/decimal.hpp"
#include "interpose/nesting.hpp"
#include "interpose/preserve_errno.hpp"
#include "interpose/process_engine.hpp"
#include "offload/decide.hpp"
#include "offload/profiles.hpp"
#include "offload/work.hpp"
#include "outboard/outboard.h"

namespace ob::interpose {

using namespace offload;

namespace {

using policy::Choice;

// A call as it is asked about.
struct Asked {
  std::string_view name;
  RoutineRecord* record = nullptr;
  const Descriptor* routine = nullptr;  // nullptr: an FFT
  CallArguments arguments;
  FftPlan plan;
  const void* original = nullptr;
  std::string wrong;  // not empty: what cannot be understood
};

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool all = error == std::errc() && end == text.data() + text.size();
  return all && value > 0 ? std::optional(value) : std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text = text.substr(end + 1);
  }
}

std::string dimension_names(const Descriptor& routine) {
  std::string names;
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (routine.kinds[i] != Kind::dim) continue;
    names.append(names.empty() ? "" : ", ").append(routine.argument_names[i]);
  }
  return names;
}

// "2000", or "m=2000,n=64": first letters of flags, alpha = 1, beta = 0.
void read_dimensions(std::string_view sizes, Asked& asked) {
  const Descriptor& routine = *asked.routine;
  std::vector<std::int64_t> given(routine.kinds.size(), 0);
  std::int64_t largest = 0;
  for (const std::string_view part : split(sizes, ',')) {
    const std::size_t equals = part.find('=');
    const auto value =
        whole_number(equals == std::string_view::npos ? part : part.substr(equals + 1));
    bool known = equals == std::string_view::npos;
    for (std::size_t i = 0; i < given.size() && value && !known; ++i) {
      const bool is_it =
          routine.kinds[i] == Kind::dim && routine.argument_names[i] == part.substr(0, equals);
      if (is_it) given[i] = *value;
      known = is_it;
    }
    if (!value || !known) {
      asked.wrong.append("'").append(part).append("' is no size of ").append(routine.name);
      asked.wrong.append(" (write 2000, or NAME=2000 with names of ");
      asked.wrong.append(dimension_names(routine)).append(")");
      return;
    }
    largest = std::max(largest, *value);
  }
  int scalars = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    Argument& argument = asked.arguments.items[i];
    const Kind kind = routine.kinds[i];
    if (kind == Kind::flag) {
      argument.flag = routine.values[i].empty() ? 'N' : routine.values[i].front();
    } else if (kind == Kind::dim) {
      argument.dim = given[i] != 0 ? given[i] : largest;
    } else if (kind == Kind::scalar || kind == Kind::real_scalar) {
      argument.scalar = {scalars++ == 0 ? 1.0 : 0.0, 0};
    } else if (is_memory(kind)) {
      argument.host = {nullptr, largest};
    }
  }
}

// "1048576", "512x512", "256*100".
void read_points(std::string_view sizes, Asked& asked) {
  const auto by_batch = split(sizes, '*');
  const auto edges = split(by_batch.front(), 'x');
  const auto batch =
      by_batch.size() == 2 ? whole_number(by_batch.back()) : std::optional(std::int64_t{1});
  bool good = batch && by_batch.size() <= 2 && edges.size() <= FftPlan::kMaxRank;
  for (std::size_t i = 0; i < edges.size() && good; ++i) {
    const auto edge = whole_number(edges[i]);
    good = edge.has_value();
    asked.plan.n[i] = static_cast<std::uint64_t>(edge.value_or(1));
  }
  asked.plan.rank = static_cast<std::uint8_t>(edges.size());
  asked.plan.batch = static_cast<std::uint64_t>(batch.value_or(1));
  if (!good) {
    asked.wrong.append("'").append(sizes).append(
        "' is no size of a transform (write 1048576, 512x512, or 256*100 for 100 of 256)");
  }
}

// In the global scope behind us, where programs that are linked to it have it.
const void* original_named(const std::string& symbol) { return ::dlsym(RTLD_NEXT, symbol.c_str()); }

Asked understand(State& state, std::string_view name, std::string_view sizes) {
  Asked asked;
  if (const Descriptor* routine = routines::find(name)) {
    asked.routine = routine;
    asked.name = routine->name;
    asked.record = &state.routine(*routine);
    asked.original = original_named(std::string(name) + "_");
    read_dimensions(sizes, asked);
    return asked;
  }
  for (const bool is_double : {true, false}) {
    for (const FftKind kind : {FftKind::c2c, FftKind::r2c, FftKind::c2r, FftKind::r2r}) {
      if (name != fft_name(kind, is_double)) continue;
      asked.plan.kind = kind;
      const bool complex = kind == FftKind::c2c;
      asked.plan.precision = is_double ? (complex ? Precision::z : Precision::d)
                                       : (complex ? Precision::c : Precision::s);
      asked.name = fft_name(kind, is_double);
      asked.record = &state.fft(asked.plan);
      asked.original = original_named(is_double ? "fftw_execute" : "fftwf_execute");
      read_points(sizes, asked);
      return asked;
    }
  }
  asked.wrong.append("there is no routine '").append(name);
  asked.wrong.append(
      "' (names are those of `outboard coverage`, or \"fftw c2c\", \"fftwf r2c\" ...)");
  return asked;
}

class Answer {
 public:
  void add(const char* key, std::string_view value) {
    text_.append(key).append(" ").append(value).append("\n");
  }
  void add(const char* key, double value) { add(key, to_decimal(value)); }
  void add_known(const char* key, double value) {
    if (value > 0) add(key, value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void add_profiles(const Asked& asked, const ServerFacts* facts, Answer& answer) {
  const offload::Library* library = asked.record->library.load();
  if (library != nullptr) {
    answer.add("library", library->key);
    if (library->profile.exists()) {
      answer.add("profile_library_written", std::to_string(library->profile.written_unix_s));
    }
  }
  if (facts != nullptr && facts->profile.exists())
    answer.add("profile_server_written", std::to_string(facts->profile.written_unix_s));
}

const char* source_of_rate(bool of_profile, bool known, const char* otherwise) {
  return of_profile ? "profile" : known ? "observed" : otherwise;
}

template <class Runs>
bool has(const Runs& runs, std::string_view name) {
  return runs.find(name) != runs.end();
}

const char* why(const policy::Verdict& verdict, bool reachable) {
  if (!reachable) return "no server can be reached";
  switch (verdict.choice) {
    case Choice::learn_local:
      return "the local library was not timed yet at such sizes: the first calls run here";
    case Choice::remote: return "the accelerator is expected to be faster";
    case Choice::local: break;
  }
  return verdict.there_s > verdict.here_s ? "the local library is expected to be faster"
                                          : "the accelerator is not expected to gain enough";
}

void explain(State& state, Asked& asked, Answer& answer) {
  acquaint(state, *asked.record, asked.name, asked.original, nullptr);
  const auto server = state.pool.preferred();
  const ServerFacts* facts = server ? meet(state, *server) : nullptr;
  if (facts != nullptr) acquaint(state, *asked.record, asked.name, nullptr, facts);
  const std::uint64_t memory_bytes = facts != nullptr ? facts->memory_bytes : UINT64_MAX;
  const policy::Work work = asked.routine != nullptr
                                ? work_of(*asked.routine, asked.arguments.items, 1, memory_bytes)
                                : work_of(asked.plan, memory_bytes);
  const Question question{
      .record = *asked.record, .name = asked.name, .work = work, .original = asked.original};
  Outlook outlook;
  policy::Verdict verdict;
  if (facts != nullptr) {
    outlook = outlook_of(state, question, *server, *facts);
    verdict = asked.record->history.expect(outlook.forecast);
  }
  constexpr const char* kChoices[] = {"local", "remote", "learn"};
  answer.add("choice", kChoices[static_cast<int>(verdict.choice)]);
  answer.add("why", why(verdict, facts != nullptr));
  if (server) answer.add("server", state.pool.servers()[*server]);
  if (facts != nullptr)
    answer.add("device", facts->key.substr(state.pool.servers()[*server].size() + 1));
  add_profiles(asked, facts, answer);
  answer.add("flop", work.flop);
  answer.add("bytes_to", work.bytes_to);
  answer.add("bytes_from", work.bytes_from);
  answer.add("overlaps", work.overlaps ? "1" : "0");
  const offload::Library* library = asked.record->library.load();
  const double rate = asked.record->local.rate(work.flop);
  answer.add_known("local_s", rate > 0 ? work.flop / rate : 0);
  answer.add("local_from",
             source_of_rate(library != nullptr && has(library->profile.local, asked.name), rate > 0,
                            "unknown"));
  if (facts == nullptr) return;
  const policy::Prediction& now = outlook.now;
  answer.add_known("remote_s", now.whole_s);
  answer.add_known("remote_there_s", outlook.again.whole_s);
  answer.add("fixed_s", now.fixed_s);
  answer.add("to_s", now.to_s);
  answer.add("compute_s", now.compute_s);
  answer.add("from_s", now.from_s);
  answer.add("waiting_s", now.waiting_s);
  answer.add("correction", outlook.correction);
  answer.add("link_from", facts->link_from_profile ? "profile" : "measured");
  answer.add("device_from", source_of_rate(has(facts->profile.device, asked.name),
                                           asked.record->remote.rate(work.flop) > 0, "told"));
}

int answer_with(char* text, std::size_t text_bytes, std::string_view words, int status) noexcept {
  if (text == nullptr || text_bytes == 0) return 1;
  const std::size_t fits = std::min(words.size(), text_bytes - 1);
  std::memcpy(text, words.data(), fits);
  text[fits] = 0;
  return status;
}

}  // namespace
}  // namespace ob::interpose

extern "C" __attribute__((visibility("default"))) int outboard_explain(const char* routine,
                                                                       const char* sizes,
                                                                       char* text,
                                                                       std::size_t text_bytes) {
  using namespace ob::interpose;
  const PreserveErrno preserve_errno;
  const Nesting nesting;
  State* s = state();
  if (s == nullptr || routine == nullptr || sizes == nullptr)
    return answer_with(text, text_bytes, "nothing is decided in mode off", 1);
  try {
    Asked asked = understand(*s, routine, sizes);
    if (!asked.wrong.empty()) return answer_with(text, text_bytes, asked.wrong, 1);
    Answer answer;
    explain(*s, asked, answer);
    return answer_with(text, text_bytes, answer.text(), 0);
  } catch (...) {
    return answer_with(text, text_bytes, "out of memory", 1);
  }
}
