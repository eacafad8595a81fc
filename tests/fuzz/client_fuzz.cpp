// The bytes of a daemon to a client that runs a script. Besides what the sanitizers see: whatever
// the daemon says, the client says only whole, well-formed messages, comes to an end, and changes
// nothing but the memory that it was asked to read to.

#include "fuzz/byte_stream.hpp"
#include "fuzz/client_script.hpp"
#include "fuzz/connect_seam.hpp"
#include "fuzz/mutator.hpp"
#include "fuzz/phrases.hpp"

OB_FUZZ_MESSAGES(ob::fuzz::daemon_phrases())

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ob::fuzz;
  const Input input = parse({reinterpret_cast<const std::byte*>(data), size});
  Speech speech(Speech::Side::client);
  set_next_stream(std::make_unique<ByteStream>(input.manner, input.stream, speech));
  ClientScript().run(input.script);
  return 0;
}
