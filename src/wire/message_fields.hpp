#pragma once
// The bodies of docs/wire.md, sections 4.1 to 4.34, as field lists. encode(), decode() and the
// fuzzers read these lists; the bodies of call and make_plan, which depend on the routine and on
// the plan, are in routines/codec.hpp.

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "wire/field.hpp"
#include "wire/message.hpp"

namespace ob::wire {

// Limits of texts (docs/wire.md).
inline constexpr std::size_t kMaxNameBytes = 255;
inline constexpr std::size_t kMaxTextBytes = 1024;

inline constexpr std::size_t kMaxArchitectureBytes = 63;

inline constexpr Code kLastCode = Code::fenced;
inline constexpr auto kLastAccuracy = static_cast<Accuracy>(kAccuracies - 1);

// --- checks that concern more than one member ----------------------------------------------------

inline void check_word_bytes(Fields& in, const Region& region, std::string_view label) {
  const std::uint8_t word_bytes = region.word_bytes;
  if (word_bytes == 0) return;
  if (word_bytes > 8 || !std::has_single_bit(word_bytes)) {
    in.refuse(label, "has words of " + std::to_string(word_bytes) + " bytes (1, 2, 4 or 8)");
  } else if (region.element_bytes % word_bytes != 0) {
    in.refuse(label, "has elements that are not whole words");
  }
}

inline void check_rate(Fields& in, const Welcome& message, std::string_view) {
  if (std::isfinite(message.gflops_double) && message.gflops_double >= 0) return;
  in.refuse("gflops_double", "is not a rate (finite and not negative; 0 if unknown)");
}

inline void check_modes(Fields& in, const Welcome& message, std::string_view) {
  if (message.accuracies >> kAccuracies != 0) in.refuse("accuracies", "names unknown modes");
}

inline void check_reason(Fields& in, const Refused& message, std::string_view) {
  if (message.code == Code::ok) in.refuse("code", "is 0 (a refusal says why)");
}

inline void check_grant(Fields& in, const Stripes& message, std::string_view) {
  const bool striped = message.extra_streams != 0;
  const char* const why = striped ? "is 0" : "is not 0 (nothing is striped)";
  if ((message.block_bytes != 0) != striped) in.refuse("block_bytes", why);
  if ((message.access_key != Token{}) != striped) in.refuse("access key", why);
}

inline void check_rights(Fields& in, const CreateGrant& message, std::string_view) {
  if (message.may == 0 || (message.may & ~(kMayRead | kMayWrite)) != 0) {
    in.refuse("may", "is not 1 (read), 2 (write) or 3 (both)");
  }
}

inline void check_granted(Fields& in, const Granted& message, std::string_view) {
  const bool made = message.code == Code::ok;
  if ((message.secret != Token{}) == made) return;
  in.refuse("secret", made ? "is 0" : "is not 0 (there is no grant)");
}

inline void check_mailbox(Fields& in, const Mailbox& message, std::string_view) {
  const bool open = message.code == Code::ok;
  if ((message.access_key != Token{}) == open) return;
  in.refuse("access key", open ? "is 0" : "is not 0 (there is no mailbox)");
}

template <class Message>
void check_peer_message_id(Fields& in, const Message& message, std::string_view) {
  if (!message.peer_message) in.refuse("peer_message", "is 0");
}

inline void check_shape(Fields& in, const PeerMessage& message, std::string_view) {
  const Region& region = message.region;
  if (region.offset_bytes != 0) in.refuse("region", "has an offset (it is a shape)");
  if (region.ld != std::max<std::uint64_t>(1, region.rows)) {
    in.refuse("region", "has gaps between its columns (it is a shape)");
  }
}

inline void check_flags(Fields& in, const Hello& message, std::string_view) {
  const std::uint32_t known = message.version >= 8 ? kKnownHelloFlags : kHoldsUserData;
  if ((message.flags & ~known) != 0) in.refuse("flags", "are not those of this version");
}

template <class Message>
void check_code(Fields& in, const Message& message, std::string_view label) {
  if (message.code != Code::declined) return;
  in.refuse(label.empty() ? "code" : label, "is 13 (which does not travel)");
}

inline void check_routine_rate(Fields& in, const RoutineRate& rate, std::string_view label) {
  const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
  if (!positive(rate.flop) || !positive(rate.gflops)) {
    in.refuse(label, "has a number that is not finite and above 0");
  }
}

inline void check_fill(Fields& in, const Fill& message, std::string_view) {
  const Region& region = message.region;
  if (!std::has_single_bit(region.element_bytes) || region.element_bytes > kMaxFillBytes) {
    return in.refuse("region", "has elements of " + std::to_string(region.element_bytes) +
                                   " bytes (1, 2, 4, 8 or 16)");
  }
  if (region.triangle != Triangle::full) in.refuse("region", "has a triangle (a fill is full)");
  const auto rest = message.element.begin() + static_cast<std::ptrdiff_t>(region.element_bytes);
  if (std::any_of(rest, message.element.end(), [](std::byte each) { return each != std::byte{}; }))
    in.refuse("element", "is not 0 behind its end");
}

inline void check_location(Fields& in, const Location& message, std::string_view) {
  if (message.offset_bytes > message.segment_bytes) {
    in.refuse("offset_bytes", "lies beyond segment_bytes");
  }
}

constexpr bool is_zero(std::byte each) noexcept { return each == std::byte{}; }

// The largest text of a module, so that the sum of all cannot overflow.
inline constexpr std::uint64_t kMaxVariantBytes = std::uint64_t{64} << 20;

inline void check_load(Fields& in, const LoadModule& message, std::string_view) {
  if (message.option_bytes > kMaxOptionBytes) {
    in.refuse("option_bytes", "is above " + std::to_string(kMaxOptionBytes));
  }
  for (const Variant& variant : message.variants) {
    if (variant.bytes <= kMaxVariantBytes) continue;
    in.refuse("bytes", "of a variant is above " + std::to_string(kMaxVariantBytes));
  }
}

inline void check_launch_argument(Fields& in, const LaunchArgument& argument,
                                  std::string_view label) {
  if (argument.kind < ArgumentKind::buffer) return in.refuse(label, "has kind 0");
  const bool is_buffer = argument.kind == ArgumentKind::buffer;
  const bool has_place =
      argument.buffer || argument.offset_bytes != 0 || argument.extent_bytes != 0;
  if (is_buffer ? argument.bytes != 0 : has_place) {
    in.refuse(label, "has a member that its kind does not use");
  }
}

/// Counts the words of the value of a scalar.
constexpr std::uint64_t words_of(const LaunchArgument& argument) noexcept {
  return argument.kind == ArgumentKind::scalar ? (std::uint64_t{argument.bytes} + 7) / 8 : 0;
}

inline void check_values(Fields& in, const Launch& message, std::string_view) {
  std::uint64_t words = 0;
  for (const LaunchArgument& argument : message.arguments) {
    const std::uint64_t end = words + words_of(argument);
    if (end > message.values.size()) break;
    const std::size_t rest = argument.bytes % 8;
    if (end > words && rest != 0) {
      const auto& last = message.values[end - 1].bytes;
      if (!std::all_of(last.begin() + static_cast<std::ptrdiff_t>(rest), last.end(), is_zero)) {
        in.refuse("values", "are not 0 behind the end of a scalar");
      }
    }
    words = end;
  }
  std::uint64_t wanted = 0;
  for (const LaunchArgument& argument : message.arguments) wanted += words_of(argument);
  if (wanted != message.values.size()) in.refuse("values", "are not those of the scalars");
}

inline void check_module_answer(Fields& in, const ModuleAnswer& message, std::string_view) {
  if (message.log_bytes > kMaxReportBytes) in.refuse("log_bytes", "is too large");
  if (message.code != Code::ok && message.kernels != 0) {
    in.refuse("kernels", "is not 0 (the module failed)");
  }
}

inline void check_kernel_support(Fields& in, const KernelSupport& message, std::string_view) {
  if ((message.flags & ~kNoPeers) != 0) in.refuse("flags", "has unknown bits");
  if ((message.kinds != 0) != message.why.empty()) {
    in.refuse("why", message.kinds != 0 ? "is not empty" : "is empty (no kernels run)");
  }
}

// --- lists ---------------------------------------------------------------------------------------

// The session checks that a region lies in its buffer: only the session knows the buffer.
template <>
inline constexpr auto kFields<Region> = fields_of(
    {}, Number{"offset_bytes", &Region::offset_bytes},
    Number{"element_bytes", &Region::element_bytes},
    UpTo{"triangle", &Region::triangle, Triangle::lower_strict},
    Number{"word_bytes", &Region::word_bytes}, Check<Region>{check_word_bytes}, Padding{},
    Number{"rows", &Region::rows}, Number{"cols", &Region::cols}, Number{"ld", &Region::ld});

template <>
inline constexpr auto kFields<Hello> = fields_of(
    {Opcode::hello}, VersionStart{&Hello::version}, flag("big_endian", &Hello::big_endian),
    Number{"extra_streams", &Hello::extra_streams}, Number{"join", &Hello::join},
    Number{"device", &Hello::device}, Text{"client", &Hello::client, kMaxNameBytes},
    Text{"identity", &Hello::identity, kMaxTextBytes}, Since{&Hello::version, 7},
    Number{"flags", &Hello::flags}, Check<Hello>{check_flags}, Padding{});

template <>
inline constexpr auto kFields<Welcome> = fields_of(
    {Opcode::welcome}, VersionStart{&Welcome::version}, flag("big_endian", &Welcome::big_endian),
    flag("host_visible", &Welcome::host_visible), Number{"token", &Welcome::token},
    Number{"device", &Welcome::device}, Number{"devices", &Welcome::devices},
    Number{"memory_bytes", &Welcome::memory_bytes},
    Number{"gflops_double", &Welcome::gflops_double}, Check<Welcome>{check_rate},
    Number{"accuracies", &Welcome::accuracies}, Check<Welcome>{check_modes}, Padding{},
    Number{"machine", &Welcome::machine}, Text{"backend", &Welcome::backend, kMaxNameBytes},
    Text{"description", &Welcome::description, kMaxTextBytes},
    Text{"processors", &Welcome::processors, kMaxTextBytes});

template <>
inline constexpr auto kFields<RoutineRate> = fields_of({}, Number{"family", &RoutineRate::family},
                                                       Padding{},
                                                       Number{"flop", &RoutineRate::flop},
                                                       Number{"gflops", &RoutineRate::gflops},
                                                       Check<RoutineRate>{check_routine_rate});

template <>
inline constexpr auto kFields<Facts> =
    fields_of({Opcode::facts}, List{"routine_rates", &Facts::routine_rates, kMaxRoutineRates});

template <>
inline constexpr auto kFields<Refused> = fields_of(
    {Opcode::refused}, UpTo{"code", &Refused::code, kLastCode}, Check<Refused>{check_code<Refused>},
    Check<Refused>{check_reason}, Reserved{1}, Number{"version", &Refused::version},
    Text{"message", &Refused::message, kMaxTextBytes});

template <>
inline constexpr auto kFields<Stripes> = fields_of({Opcode::stripes},
                                                   Number{"extra_streams", &Stripes::extra_streams},
                                                   Reserved{3},
                                                   Number{"block_bytes", &Stripes::block_bytes},
                                                   Number{"access key", &Stripes::access_key},
                                                   Check<Stripes>{check_grant});

template <>
inline constexpr auto kFields<JoinStream> = fields_of(
    {Opcode::join_stream}, VersionStart{&JoinStream::version}, Number{"index", &JoinStream::index},
    Reserved{1}, Number{"access key", &JoinStream::access_key},
    Text{"identity", &JoinStream::identity, kMaxTextBytes});

template <>
inline constexpr auto kFields<SetAccuracy> = fields_of(
    {Opcode::set_accuracy}, UpTo{"accuracy", &SetAccuracy::accuracy, kLastAccuracy}, Padding{});

template <>
inline constexpr auto kFields<Allocate> = fields_of({Opcode::allocate},
                                                    Number{"buffer", &Allocate::buffer},
                                                    Number{"bytes", &Allocate::bytes});

template <>
inline constexpr auto kFields<Free> = fields_of({Opcode::free}, Number{"buffer", &Free::buffer});

template <>
inline constexpr auto kFields<Locate> = fields_of({Opcode::locate},
                                                  Number{"buffer", &Locate::buffer});

template <>
inline constexpr auto kFields<Write> = fields_of({Opcode::write}, Number{"buffer", &Write::buffer},
                                                 Part{"region", &Write::region});

template <>
inline constexpr auto kFields<Read> = fields_of({Opcode::read}, Number{"buffer", &Read::buffer},
                                                Part{"region", &Read::region});

template <>
inline constexpr auto kFields<Digest> = fields_of({Opcode::digest},
                                                  Number{"buffer", &Digest::buffer},
                                                  Part{"region", &Digest::region},
                                                  Number{"chunk_bytes", &Digest::chunk_bytes});

template <>
inline constexpr auto kFields<Copy> = fields_of({Opcode::copy}, Number{"source", &Copy::source},
                                                Number{"destination", &Copy::destination},
                                                Part{"from", &Copy::from}, Part{"to", &Copy::to});

template <>
inline constexpr auto kFields<Fill> = fields_of({Opcode::fill}, Number{"buffer", &Fill::buffer},
                                                Part{"region", &Fill::region},
                                                Number{"element", &Fill::element},
                                                Check<Fill>{check_fill});

template <>
inline constexpr auto kFields<DestroyPlan> = fields_of({Opcode::destroy_plan},
                                                       Number{"plan", &DestroyPlan::plan});

template <>
inline constexpr auto kFields<ExecutePlan> =
    fields_of({Opcode::execute_plan}, Number{"plan", &ExecutePlan::plan},
              Number{"input", &ExecutePlan::input}, Number{"output", &ExecutePlan::output},
              Number{"input_offset_bytes", &ExecutePlan::input_offset_bytes},
              Number{"output_offset_bytes", &ExecutePlan::output_offset_bytes});

template <>
inline constexpr auto kFields<Variant> = fields_of({}, Number{"kind", &Variant::kind}, Padding{},
                                                   Number{"bytes", &Variant::bytes},
                                                   Text{"architecture", &Variant::architecture,
                                                        kMaxArchitectureBytes});

template <>
inline constexpr auto kFields<LoadModule> =
    fields_of({Opcode::load_module}, Number{"module", &LoadModule::module},
              Number{"option_bytes", &LoadModule::option_bytes}, Padding{},
              List{"variants", &LoadModule::variants, kMaxVariants}, Check<LoadModule>{check_load});

template <>
inline constexpr auto kFields<UnloadModule> = fields_of({Opcode::unload_module},
                                                        Number{"module", &UnloadModule::module});

template <>
inline constexpr auto kFields<LaunchArgument> =
    fields_of({}, UpTo{"kind", &LaunchArgument::kind, ArgumentKind::local}, Reserved{3},
              Number{"bytes", &LaunchArgument::bytes}, Number{"buffer", &LaunchArgument::buffer},
              Number{"offset_bytes", &LaunchArgument::offset_bytes},
              Number{"extent_bytes", &LaunchArgument::extent_bytes},
              Check<LaunchArgument>{check_launch_argument});

template <>
inline constexpr auto kFields<LaunchWord> = fields_of({}, Number{"bytes", &LaunchWord::bytes});

template <>
inline constexpr auto kFields<Launch> = fields_of(
    {Opcode::launch}, Number{"module", &Launch::module}, Number{"groups", &Launch::groups},
    Number{"group_size", &Launch::group_size}, Text{"kernel", &Launch::kernel, kMaxNameBytes},
    List{"arguments", &Launch::arguments, kMaxKernelArguments},
    List{"values", &Launch::values, kMaxLaunchWords}, Check<Launch>{check_values});

template <>
inline constexpr auto kFields<ModuleAnswer> = fields_of(
    {Opcode::module}, UpTo{"code", &ModuleAnswer::code, kLastCode},
    Check<ModuleAnswer>{check_code<ModuleAnswer>}, Reserved{3},
    Number{"kernels", &ModuleAnswer::kernels}, Number{"log_bytes", &ModuleAnswer::log_bytes},
    Text{"message", &ModuleAnswer::message, kMaxTextBytes},
    Check<ModuleAnswer>{check_module_answer});

template <>
inline constexpr auto kFields<KernelSupport> = fields_of(
    {Opcode::kernel_support}, Number{"kinds", &KernelSupport::kinds},
    Number{"longest_kernel_ms", &KernelSupport::longest_kernel_ms},
    Number{"flags", &KernelSupport::flags}, Text{"why", &KernelSupport::why, kMaxTextBytes},
    Check<KernelSupport>{check_kernel_support});

template <>
inline constexpr auto kFields<Record> = fields_of({Opcode::record, Opcode::record_transfer},
                                                  Number{"event", &Record::event});

template <>
inline constexpr auto kFields<Wait> = fields_of({Opcode::wait}, Number{"event", &Wait::event});

template <>
inline constexpr auto kFields<Hold> = fields_of({Opcode::hold}, Number{"gate", &Hold::gate});

template <>
inline constexpr auto kFields<Release> = fields_of({Opcode::release},
                                                   Number{"gate", &Release::gate},
                                                   UpTo{"code", &Release::code, kLastCode},
                                                   Padding{});

template <>
inline constexpr auto kFields<CreateGrant> = fields_of(
    {Opcode::create_grant}, Number{"grant", &CreateGrant::grant},
    Number{"buffer", &CreateGrant::buffer}, Number{"offset_bytes", &CreateGrant::offset_bytes},
    Number{"size_bytes", &CreateGrant::size_bytes}, Number{"may", &CreateGrant::may},
    Number{"seconds", &CreateGrant::seconds}, Number{"uses", &CreateGrant::uses},
    Text{"user", &CreateGrant::user, kMaxNameBytes}, Check<CreateGrant>{check_rights});

template <>
inline constexpr auto kFields<Granted> =
    fields_of({Opcode::granted}, UpTo{"code", &Granted::code, kLastCode}, Padding{},
              Number{"secret", &Granted::secret}, Text{"message", &Granted::message, kMaxTextBytes},
              Check<Granted>{check_granted});

template <>
inline constexpr auto kFields<RevokeGrant> = fields_of({Opcode::revoke_grant},
                                                       Number{"grant", &RevokeGrant::grant});

template <>
inline constexpr auto kFields<AwaitGrant> = fields_of({Opcode::await_grant},
                                                      Number{"grant", &AwaitGrant::grant},
                                                      Number{"landed", &AwaitGrant::landed});

template <>
inline constexpr auto kFields<GrantCopy> = fields_of(
    {Opcode::put, Opcode::get}, Number{"secret", &GrantCopy::secret},
    Number{"grant_offset_bytes", &GrantCopy::grant_offset_bytes},
    Number{"buffer", &GrantCopy::buffer}, Number{"offset_bytes", &GrantCopy::offset_bytes},
    Number{"size_bytes", &GrantCopy::size_bytes},
    Text{"address", &GrantCopy::address, kMaxNameBytes});

template <>
inline constexpr auto kFields<GrantRange> =
    fields_of({Opcode::store, Opcode::fetch}, Number{"secret", &GrantRange::secret},
              Number{"offset_bytes", &GrantRange::offset_bytes},
              Number{"size_bytes", &GrantRange::size_bytes});

template <>
inline constexpr auto kFields<Mailbox> = fields_of({Opcode::mailbox},
                                                   UpTo{"code", &Mailbox::code, kLastCode},
                                                   Check<Mailbox>{check_code<Mailbox>}, Padding{},
                                                   Number{"access key", &Mailbox::access_key},
                                                   Check<Mailbox>{check_mailbox});

template <>
inline constexpr auto kFields<ConnectPeer> =
    fields_of({Opcode::connect_peer}, Number{"peer", &ConnectPeer::peer},
              Number{"access key", &ConnectPeer::access_key},
              Text{"address", &ConnectPeer::address, kMaxNameBytes});

template <>
inline constexpr auto kFields<DisconnectPeer> = fields_of({Opcode::disconnect_peer},
                                                          Number{"peer", &DisconnectPeer::peer});

template <>
inline constexpr auto kFields<Send> = fields_of({Opcode::send}, Number{"peer", &Send::peer},
                                                Number{"peer_message", &Send::peer_message},
                                                Check<Send>{check_peer_message_id<Send>},
                                                Number{"buffer", &Send::buffer},
                                                Part{"region", &Send::region});

template <>
inline constexpr auto kFields<Receive> = fields_of({Opcode::receive},
                                                   Number{"peer_message", &Receive::peer_message},
                                                   Check<Receive>{check_peer_message_id<Receive>},
                                                   Number{"buffer", &Receive::buffer},
                                                   Part{"region", &Receive::region},
                                                   Number{"next", &Receive::next});

template <>
inline constexpr auto kFields<JoinPeer> =
    fields_of({Opcode::join_peer}, VersionStart{&JoinPeer::version},
              flag("big_endian", &JoinPeer::big_endian), Reserved{1},
              Number{"access key", &JoinPeer::access_key},
              Text{"identity", &JoinPeer::identity, kMaxTextBytes});

template <>
inline constexpr auto kFields<PeerMessage> =
    fields_of({Opcode::peer_message}, Number{"peer_message", &PeerMessage::peer_message},
              Check<PeerMessage>{check_peer_message_id<PeerMessage>},
              Part{"region", &PeerMessage::region}, Check<PeerMessage>{check_shape});

template <>
inline constexpr auto kFields<Location> =
    fields_of({Opcode::location}, UpTo{"code", &Location::code, kLastCode},
              Check<Location>{check_code<Location>}, Padding{},
              Number{"offset_bytes", &Location::offset_bytes},
              Number{"segment_bytes", &Location::segment_bytes}, Check<Location>{check_location});

template <>
inline constexpr auto kFields<Outcome> = fields_of(
    {Opcode::data, Opcode::done, Opcode::failed, Opcode::peer, Opcode::received, Opcode::stored,
     Opcode::fetched},
    UpTo{"code", &Outcome::code, kLastCode}, Check<Outcome>{check_code<Outcome>}, Reserved{3},
    Number{"credits", &Outcome::credits}, Number{"failed_sequence", &Outcome::failed_sequence},
    Number{"compute_ns", &Outcome::compute_ns}, Number{"plan_ns", &Outcome::plan_ns},
    Number{"waited_ns", &Outcome::waited_ns}, Number{"keep_bytes", &Outcome::keep_bytes},
    Text{"message", &Outcome::message, kMaxTextBytes});

template <>
inline constexpr auto kFields<Reached> = fields_of({Opcode::reached},
                                                   Number{"clock_ns", &Reached::clock_ns},
                                                   Part{"outcome", &Reached::outcome});

template <>
inline constexpr auto kFields<Credit> = fields_of({Opcode::credit},
                                                  Number{"credits", &Credit::credits}, Padding{});

// --- all of them ---------------------------------------------------------------------------------

// clang-format 14 formats this list anew at every run.
// clang-format off
#define OB_WIRE_BODIES(X) \
  X(Hello) X(Welcome) X(Facts) X(Refused) X(Stripes) X(JoinStream) X(SetAccuracy) X(Allocate) \
  X(Free) X(Locate) X(Write) X(Read) X(Digest) X(Copy) X(Fill) X(LoadModule) X(UnloadModule) \
  X(Launch) X(ModuleAnswer) X(KernelSupport) X(DestroyPlan) X(ExecutePlan) \
  X(Record) X(Wait) X(Hold) X(Release) X(CreateGrant) X(Granted) X(RevokeGrant) \
  X(AwaitGrant) X(GrantCopy) X(GrantRange) X(Mailbox) X(ConnectPeer) X(DisconnectPeer) X(Send) \
  X(Receive) \
  X(JoinPeer) X(PeerMessage) X(Location) X(Outcome) X(Reached) X(Credit)
// clang-format on

/// Calls visit.template operator()<Message>() with the type of every body that has a field list.
template <class Visit>
constexpr void for_each_body(Visit&& visit) {
#define OB_WIRE_VISIT(Message) visit.template operator()<Message>();
  OB_WIRE_BODIES(OB_WIRE_VISIT)
#undef OB_WIRE_VISIT
}

/// True if messages of this opcode have a body of type Message.
template <class Message>
constexpr bool has_body(Opcode opcode) noexcept {
  return kFields<Message>.belongs_to(opcode);
}

constexpr int bodies_of(Opcode opcode) {
  int bodies = 0;
  for_each_body([&]<class Message>() { bodies += has_body<Message>(opcode) ? 1 : 0; });
  return bodies;
}

constexpr bool every_body_has_one_list() {
  for (const OpcodeFacts& facts : kOpcodes) {
    const bool elsewhere = facts.opcode == Opcode::call || facts.opcode == Opcode::make_plan;
    if (bodies_of(facts.opcode) != (facts.has_body() && !elsewhere ? 1 : 0)) return false;
  }
  return true;
}
static_assert(every_body_has_one_list());

}  // namespace ob::wire
