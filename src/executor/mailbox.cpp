#include "executor/mailbox.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/contract.hpp"

namespace ob::executor {

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen,
                std::optional<std::chrono::milliseconds> longest) noexcept {
  timespec limit{};
  if (longest) {
    limit.tv_sec = static_cast<time_t>(longest->count() / 1000);
    limit.tv_nsec = static_cast<long>(longest->count() % 1000) * 1'000'000;
  }
  (void)::syscall(SYS_futex, &word, FUTEX_WAIT, seen, longest ? &limit : nullptr, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  (void)::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

std::uint32_t post(Lane& lane, std::uint32_t kind, std::span<const std::byte> body,
                   std::int32_t core) noexcept {
  OB_EXPECT(body.size() <= Lane::kBodyBytes);
  lane.kind.store(kind, std::memory_order_relaxed);
  lane.core.store(core, std::memory_order_relaxed);
  lane.body_bytes.store(static_cast<std::uint32_t>(body.size()), std::memory_order_relaxed);
  std::copy(body.begin(), body.end(), lane.body.begin());
  const std::uint32_t number = lane.request.load(std::memory_order_relaxed) + 1;
  lane.request.store(number, std::memory_order_release);
  lane.bell.fetch_add(1, std::memory_order_release);
  futex_wake(lane.bell);
  return number;
}

// The executor stores the answer before it reads `sleeping`, so that one of the two sides sees the
// other's store.
void sleep_until_answer(Lane& lane, std::uint32_t seen,
                        std::chrono::milliseconds longest) noexcept {
  lane.sleeping.store(1, std::memory_order_seq_cst);
  if (lane.answer.load(std::memory_order_seq_cst) == seen) futex_wait(lane.answer, seen, longest);
  lane.sleeping.store(0, std::memory_order_relaxed);
}

Status answer_of(const Lane& lane) {
  const std::uint32_t code = lane.code.load(std::memory_order_relaxed);
  const std::size_t size =
      std::min<std::size_t>(lane.text_bytes.load(std::memory_order_relaxed), Lane::kTextBytes);
  if (code > static_cast<std::uint32_t>(Code::kernel_fault)) {
    return {Code::device_error, "the executor answered with an unknown code"};
  }
  if (code == 0) return {};
  return {static_cast<Code>(code), std::string(lane.text.data(), size)};
}

bool notify(Lane& lane, std::uint64_t notice) noexcept {
  const std::uint32_t sent = lane.notices_sent.load(std::memory_order_relaxed);
  if (sent - lane.notices_read.load(std::memory_order_acquire) >= Lane::kNotices) return false;
  lane.notices[sent % Lane::kNotices] = notice;
  lane.notices_sent.store(sent + 1, std::memory_order_release);
  lane.bell.fetch_add(1, std::memory_order_release);
  futex_wake(lane.bell);
  return true;
}

Arrival await_work(Lane& lane, std::uint32_t seen) {
  for (;;) {
    const std::uint32_t bell = lane.bell.load(std::memory_order_acquire);
    Arrival arrival;
    const std::uint32_t number = lane.request.load(std::memory_order_acquire);
    std::uint32_t read = lane.notices_read.load(std::memory_order_relaxed);
    // A notice that the daemon sent before a request is read before it.
    for (; read != lane.notices_sent.load(std::memory_order_acquire); ++read) {
      arrival.notices.push_back(lane.notices[read % Lane::kNotices]);
      lane.notices_read.store(read + 1, std::memory_order_release);
    }
    if (number != seen) {
      const std::size_t size =
          std::min<std::size_t>(lane.body_bytes.load(std::memory_order_relaxed), Lane::kBodyBytes);
      arrival.request = {number,
                         lane.kind.load(std::memory_order_relaxed),
                         lane.core.load(std::memory_order_relaxed),
                         {lane.body.begin(), lane.body.begin() + size}};
    }
    if (arrival.request || !arrival.notices.empty()) return arrival;
    futex_wait(lane.bell, bell);
  }
}

void answer(Lane& lane, std::uint32_t number, const Status& status) noexcept {
  lane.code.store(static_cast<std::uint32_t>(status.code()), std::memory_order_relaxed);
  const std::size_t size = std::min(status.message().size(), Lane::kTextBytes);
  lane.text_bytes.store(static_cast<std::uint32_t>(size), std::memory_order_relaxed);
  std::memcpy(lane.text.data(), status.message().data(), size);
  lane.answer.store(number, std::memory_order_seq_cst);
  if (lane.sleeping.load(std::memory_order_seq_cst) != 0) futex_wake(lane.answer);
}

}  // namespace ob::executor
