// Sends the bytes of a daemon to a client that runs a script. The sanitizers check memory. This
// target checks that for any bytes the client sends only whole, well-formed messages, comes to an
// end, and changes only the memory that it was asked to read to.

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
