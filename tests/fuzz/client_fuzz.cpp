// The bytes of a daemon to a client that runs a script. Besides what the sanitizers see: whatever
// the daemon says, the client says only whole, well-formed messages, comes to an end, and changes
// nothing but the memory that it was asked to read to.

#include "fuzz/byte_stream.hpp"
#include "fuzz/client_script.hpp"
#include "fuzz/connect_stub.hpp"
#include "fuzz/mutator.hpp"
#include "fuzz/vocabulary.hpp"

OB_FUZZ_MESSAGES(ob::fuzz::daemon_messages())

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ob::fuzz;
  const Input input = parse({reinterpret_cast<const std::byte*>(data), size});
  MessageChecker checker(MessageChecker::Side::client);
  set_next_stream(std::make_unique<ByteStream>(input.delivery, input.stream, checker));
  ClientScript().run(input.script);
  return 0;
}
