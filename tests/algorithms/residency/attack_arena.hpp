#pragma once
// Memory that changes at random, through every path that a program can use.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include "base/private_memory.hpp"
#include "support/random.hpp"

namespace ob::test {

constexpr std::size_t kArenaBytes = 64 << 10;

/// The memory of a program, with many ways to change it.
class Arena {
 public:
  explicit Arena(std::mt19937_64& random) : random_(random) { EXPECT_EQ(pipe(pipe_), 0); }
  virtual ~Arena() {
    munmap(memory_, kArenaBytes);
    for (const int fd : pipe_) close(fd);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* data() const { return memory_; }

  void change() {
    std::byte bytes[64];
    for (std::byte& b : bytes) b = static_cast<std::byte>(random_() % 3);  // often no byte changes
    const std::size_t size = uniform<std::size_t>(random_, 1, sizeof bytes);
    const std::size_t at = uniform<std::size_t>(random_, 0, kArenaBytes - size);
    const int way = uniform(random_, 0, 105);
    if (way >= 103) {
      before_.assign(memory_, memory_ + kArenaBytes);
    } else if (way >= 100) {  // restores old contents, which the device no longer has
      std::copy(before_.begin(), before_.end(), memory_);
    } else if (way < 50) {
      std::memcpy(memory_ + at, bytes, size);
    } else if (way < 70) {
      change_from_elsewhere(at, {bytes, size});
    } else if (way < 80) {
      EXPECT_EQ(write(pipe_[1], bytes, size), static_cast<ssize_t>(size));
      EXPECT_EQ(read(pipe_[0], memory_ + at, size), static_cast<ssize_t>(size));
    } else if (way < 90) {
      iovec from{bytes, size};
      iovec to{memory_ + at, size};
      EXPECT_EQ(process_vm_writev(getpid(), &from, 1, &to, 1, 0), static_cast<ssize_t>(size));
    } else if (way < 95) {
      std::memmove(memory_ + at, memory_ + uniform<std::size_t>(random_, 0, kArenaBytes - size),
                   size);
    } else if (way < 98) {
      std::memset(memory_ + at, way, std::min<std::size_t>(kArenaBytes - at, 2000));
    } else if (way < 99 && uniform(random_, 0, 9) == 0) {
      remap();
    }
  }

 protected:
  virtual void change_from_elsewhere(std::size_t at, std::span<const std::byte> bytes) = 0;
  // Simulates free() and malloc(): the addresses stay, the pages and mostly the contents change.
  virtual void remap() = 0;

  static std::byte* map(void* at, int flags, int file) {
    if (at != nullptr) flags |= MAP_FIXED;
    void* memory = mmap(at, kArenaBytes, PROT_READ | PROT_WRITE, flags, file, 0);
    EXPECT_NE(memory, MAP_FAILED);
    return static_cast<std::byte*>(memory);
  }

  std::mt19937_64& random_;
  std::byte* memory_ = nullptr;

 private:
  int pipe_[2] = {};
  std::vector<std::byte> before_;
};

/// Memory with a second mapping at another address.
class SharedArena final : public Arena {
 public:
  explicit SharedArena(std::mt19937_64& random) : Arena(random), file_(new_file()) {
    alias_ = map(nullptr, MAP_SHARED, file_);
    memory_ = map(nullptr, MAP_SHARED, file_);
  }
  ~SharedArena() override {
    munmap(alias_, kArenaBytes);
    close(file_);
  }

 private:
  static int new_file() {
    const int file = memfd_create("attack", 0);
    EXPECT_EQ(ftruncate(file, kArenaBytes), 0);
    return file;
  }

  void change_from_elsewhere(std::size_t at, std::span<const std::byte> bytes) override {
    if (uniform(random_, 0, 1) != 0) {
      std::memcpy(alias_ + at, bytes.data(), bytes.size());
    } else {
      EXPECT_EQ(pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(at)),
                static_cast<ssize_t>(bytes.size()));
    }
  }

  void remap() override {
    if (uniform(random_, 0, 1) != 0) {
      EXPECT_EQ(madvise(memory_, kArenaBytes, MADV_REMOVE), 0);  // the memory reads as zeros now
      return;
    }
    munmap(alias_, kArenaBytes);
    close(file_);
    file_ = new_file();
    memory_ = map(memory_, MAP_SHARED, file_);
    alias_ = map(nullptr, MAP_SHARED, file_);
  }

  int file_;
  std::byte* alias_ = nullptr;
};

/// Private anonymous memory, whose pages are removed and replaced.
class PrivateArena final : public Arena {
 public:
  explicit PrivateArena(std::mt19937_64& random) : Arena(random) {
    memory_ = map(nullptr, kFlags, -1);
    other_ = map(nullptr, kFlags, -1);
    EXPECT_GE(self_, 0);
  }
  ~PrivateArena() override {
    munmap(other_, kArenaBytes);
    close(self_);
  }

 private:
  static constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;

  void change_from_elsewhere(std::size_t at, std::span<const std::byte> bytes) override {
    const int way = uniform(random_, 0, 19);
    std::byte* const page = memory_ + at / kPage * kPage;
    if (way < 14) {
      const auto address = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(memory_ + at));
      EXPECT_EQ(pwrite(self_, bytes.data(), bytes.size(), address),
                static_cast<ssize_t>(bytes.size()));
    } else if (way < 15) {
      std::thread([&] { std::memcpy(memory_ + at, bytes.data(), bytes.size()); }).join();
    } else if (way < 17) {
      EXPECT_EQ(madvise(page, kPage, MADV_DONTNEED), 0);
    } else if (way < 19) {  // a page from another mapping replaces this one
      void* const lost = other_ + (page - memory_);
      EXPECT_EQ(mremap(lost, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, page), page);
      EXPECT_EQ(mmap(lost, kPage, PROT_READ | PROT_WRITE, kFlags | MAP_FIXED, -1, 0), lost);
      std::memcpy(lost, bytes.data(), bytes.size());
    } else if (uniform(random_, 0, 9) == 0) {  // a write while a child shares the pages
      int ends[2];
      EXPECT_EQ(pipe(ends), 0);
      const pid_t child = fork();
      if (child == 0) _exit(read(ends[0], memory_ + at, 1) == 1 ? 0 : 1);
      std::memcpy(memory_ + at, bytes.data(), bytes.size());
      EXPECT_EQ(write(ends[1], "x", 1), 1);
      EXPECT_EQ(waitpid(child, nullptr, 0), child);
      for (const int end : ends) close(end);
    }
  }

  void remap() override {
    switch (uniform(random_, 0, 2)) {
      case 0: EXPECT_EQ(madvise(memory_, kArenaBytes, MADV_DONTNEED), 0); break;
      case 1: memory_ = map(memory_, kFlags, -1); break;
      default:  // moves the pages away, writes there, and moves them back
        move(memory_, other_);
        other_[uniform<std::size_t>(random_, 0, kArenaBytes - 1)] = std::byte{1};
        move(other_, memory_);
        other_ = map(other_, kFlags, -1);
    }
  }

  // Moves page by page, because the pages may be in several mappings.
  static void move(std::byte* from, std::byte* to) {
    for (std::size_t at = 0; at < kArenaBytes; at += kPage) {
      EXPECT_EQ(mremap(from + at, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, to + at), to + at);
    }
  }

  std::byte* other_ = nullptr;
  int self_ = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
};

}  // namespace ob::test
