#include "overlap/explain.hpp"

#include <algorithm>
#include <cstdio>

namespace ob::overlap {
namespace {

template <class... Values>
std::string formatted(const char* format, Values... values) {
  char line[256];
  std::snprintf(line, sizeof line, format, values...);
  return line;
}

std::string times_of(const Plan& plan) {
  std::string text;
  for (int m = 0; m < kModes; ++m) {
    const ModeTimes& t = plan.times()[std::size_t(m)];
    if (t.runs == 0) continue;
    const double per_run = 1e3 / double(t.runs);
    text += formatted("  %-7s %7lld runs: start %.3f, moving %.3f, wait %.3f ms each\n",
                      kModeNames[std::size_t(m)], static_cast<long long>(t.runs),
                      t.start_s * per_run, t.moving_s * per_run, t.wait_s * per_run);
  }
  return text;
}

std::string choice_of(const Plan& plan) {
  const ModeTrials& trials = plan.trials();
  if (trials.candidates().size() == 1)
    return formatted("  mode %s, as asked for\n", to_string(trials.candidates().front()));
  if (trials.chosen() == Mode::automatic) return "  mode not chosen yet: the trials go on\n";
  std::string text = formatted("  mode %s, the fastest of", to_string(trials.chosen()));
  for (std::size_t i = 0; i < trials.candidates().size(); ++i)
    text += formatted("%s %s %.3f ms", i == 0 ? "" : ",", to_string(trials.candidates()[i]),
                      trials.agreed()[i] * 1e3);
  return text + " (slowest rank, from start to start)\n";
}

/// Returns for whom the program waited longest.
std::string waits_of(const Plan& plan) {
  const LongestWait longest = plan.longest_wait();
  if (longest.seconds == 0) return "";
  return formatted("  longest wait: %.3f ms in all, for %s\n", longest.seconds * 1e3,
                   longest.what.c_str());
}

}  // namespace

std::string explain(const Runtime& runtime) {
  std::string text = formatted("overlap of rank %d: ", runtime.rank()) + runtime.note() + "\n";
  for (std::size_t i = 0; i < runtime.proxies().size(); ++i) {
    const Proxy& proxy = *runtime.proxies()[i];
    text += runtime.proxies().size() == 1
                ? "proxy: "
                : formatted("proxy %zu of %zu: ", i + 1, runtime.proxies().size());
    text += formatted("%s, %.3f ms of processor time\n",
                      proxy.own_core() ? "on a core of its own" : "napping on a shared core",
                      proxy.processor_s() * 1e3);
  }
  for (const auto& plan : runtime.plans()) {
    if (!plan->committed()) continue;
    text += formatted("plan %s: %s; shortest run %.3f ms\n", plan->name().c_str(),
                      plan->summary().c_str(), plan->shortest_s() * 1e3);
    text += choice_of(*plan) + times_of(*plan) + waits_of(*plan);
  }
  return text;
}

}  // namespace ob::overlap
