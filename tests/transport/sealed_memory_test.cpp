#include "transport/sealed_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace ob::transport {
namespace {

TEST(SealedMemory, KeepsItsSizeWhateverAnyoneTries) {
  auto memory = create_sealed_memory("test", 12345);
  ASSERT_TRUE(memory.ok());
  EXPECT_NE(::ftruncate(memory->get(), 0), 0);
  EXPECT_NE(::ftruncate(memory->get(), 99999), 0);
  EXPECT_NE(::fcntl(memory->get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_NE(::fcntl(memory->get(), F_GETFD) & FD_CLOEXEC, 0);
  const auto size = verify_sealed_memory(memory->get(), 12345);
  ASSERT_TRUE(size.ok()) << size.status().message();
  EXPECT_EQ(*size, 12345u);
}

TEST(SealedMemory, TooSmallIsAProtocolError) {
  auto memory = create_sealed_memory("test", 4096);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(verify_sealed_memory(memory->get(), 4097).status().code(), Code::protocol_error);
}

TEST(SealedMemory, EachMissingSealIsAProtocolError) {
  for (const int missing : {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL}) {
    const Fd memory(::memfd_create("test", MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(memory.get(), 4096), 0);
    const int seals = (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) & ~missing;
    ASSERT_EQ(::fcntl(memory.get(), F_ADD_SEALS, seals), 0);
    EXPECT_EQ(verify_sealed_memory(memory.get(), 4096).status().code(), Code::protocol_error)
        << missing;
  }
}

TEST(SealedMemory, OtherFilesAreAProtocolError) {
  int ends[2] = {};
  ASSERT_EQ(::pipe(ends), 0);
  const Fd read_end(ends[0]);
  const Fd write_end(ends[1]);
  EXPECT_EQ(verify_sealed_memory(ends[0], 0).status().code(), Code::protocol_error);
  EXPECT_EQ(verify_sealed_memory(-1, 0).status().code(), Code::protocol_error);
}

}  // namespace
}  // namespace ob::transport
