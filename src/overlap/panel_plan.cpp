#include "overlap/panel_plan.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "overlap/agreement.hpp"
#include "overlap/region_checks.hpp"

namespace ob::overlap {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kMostBytes = std::size_t{128} << 30;  // what kMostPieces pieces can carry

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// Returns `count` bytes of memory as a region.
Region bytes_at(std::byte* at, std::size_t count) {
  FieldView bytes;
  bytes.data = at;
  bytes.element_bytes = 1;
  bytes.dims = 1;
  bytes.extents[0] = std::int64_t(count);
  bytes.strides[0] = 1;
  return Region(bytes, Box{Index{}, bytes.extents});
}

std::string numbered(std::int64_t panel) { return "panel " + std::to_string(panel); }

Status refusal(std::string message) { return {Code::invalid_argument, std::move(message)}; }

}  // namespace

void PanelPlan::Free::operator()(std::byte* memory) const noexcept {
  ::operator delete(memory, std::align_val_t(kPage));
}

PanelPlan::PanelPlan(std::string name, std::vector<Communicator> comms, int world_rank,
                     const PanelOptions& options)
    : Plan(std::move(name), std::move(comms), world_rank), options_(options) {
  for (int i = 0; i <= options_.look_ahead; ++i) add_run(Run::Done::when_arrived);
}

Status PanelPlan::add(int owner, const FieldView& field) {
  if (committed()) return refusal("the plan is committed already");
  if (owner < 0 || owner >= comm().size())
    return keep(refusal(
        "owner " + std::to_string(owner) + " of " + numbered(std::int64_t(panels_.size())) +
        " does not exist (the communicator has " + std::to_string(comm().size()) + " ranks)"));
  const bool here = owner == comm().rank();
  const Region region(field, Box{Index{}, field.extents});
  if (here && field.data == nullptr && region.bytes() > 0)
    return keep(refusal(numbered(std::int64_t(panels_.size())) + " has no data on its owner"));
  if (region.bytes() > kMostBytes)
    return keep(Status(Code::unsupported, numbered(std::int64_t(panels_.size())) + " has " +
                                              std::to_string(region.bytes()) +
                                              " bytes (128 GiB are possible) use smaller panels"));
  // Strides of a panel without elements have no order.
  const std::uint64_t signature = region.bytes() > 0 ? region.signature() : 0;
  Panel panel{owner, region.bytes(), signature, {}, 0};
  if (here && region.bytes() > 0) panel.source = region;
  panels_.push_back(std::move(panel));
  return {};
}

Status PanelPlan::commit(bool check, std::vector<Mode> candidates, Trace* trace) {
  if (committed()) return refusal("the plan is committed already");
  check_ = check;
  OB_RETURN_IF_ERROR(agree(comm().get(), {}, description()));
  OB_RETURN_IF_ERROR(compare());
  find_kinds();
  // One rank may have no memory for what the others have.
  OB_RETURN_IF_ERROR(agree(comm().get(), {}, make_buffers(trace)));
  waited_for_.assign(std::size_t(comm().size()), 0);
  set_candidates(std::move(candidates));
  return {};
}

Status PanelPlan::compare() const {
  const std::vector<std::int64_t> own{options_.look_ahead, std::int64_t(options_.broadcast),
                                      std::int64_t(panels_.size())};
  std::vector<std::string> names{"the look-ahead", "the way of the broadcast",
                                 "the number of panels"};
  OB_RETURN_IF_ERROR(agree_on_values(comm().get(), own, [&](std::size_t i) { return names[i]; }));
  std::vector<std::int64_t> values;
  for (const Panel& panel : panels_) {
    values.push_back(panel.owner);
    values.push_back(std::int64_t(panel.bytes));
    values.push_back(std::int64_t(panel.signature));
  }
  return agree_on_values(comm().get(), values, [](std::size_t i) {
    const std::string of = " of " + numbered(std::int64_t(i / 3));
    if (i % 3 == 0) return "the owner" + of;
    if (i % 3 == 1) return "the bytes" + of;
    return "extents, element size or order of dimensions" + of;
  });
}

void PanelPlan::find_kinds() {
  for (Panel& panel : panels_) {
    const Kind kind{panel.owner, panel.bytes};
    const auto found = std::find(kinds_.begin(), kinds_.end(), kind);
    panel.kind = std::size_t(found - kinds_.begin());
    if (found == kinds_.end()) kinds_.push_back(kind);
  }
}

Status PanelPlan::make_buffers(Trace* trace) {
  std::size_t most = 0;
  for (const Panel& panel : panels_) most = std::max(most, whole_pages(panel.bytes));
  buffers_.resize(runs().size());
  const std::size_t copies = check_ ? 2 : 1;
  const std::size_t total = most * copies * buffers_.size() + kPage;
  memory_.reset(
      static_cast<std::byte*>(::operator new(total, std::align_val_t(kPage), std::nothrow)));
  if (memory_ == nullptr)
    return Status(Code::out_of_memory, "no memory for the panels (" + std::to_string(total) +
                                           " bytes) use a smaller look-ahead or panel");
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    buffers_[i].panel = memory_.get() + i * copies * most;
    buffers_[i].wire = buffers_[i].panel + (copies - 1) * most;
    for (const Kind& kind : kinds_) {
      OB_ASSIGN_OR_RETURN(auto exchange, Exchange::create(comm_of(runs()[i]->proxy()).get(),
                                                          messages_of(kind, i), false, trace));
      buffers_[i].exchanges.push_back(std::move(exchange));
    }
  }
  return {};
}

std::vector<Message> PanelPlan::messages_of(const Kind& kind, std::size_t buffer) const {
  std::vector<Message> messages;
  int receives = 0;
  if (kind.bytes == 0) return messages;
  const BroadcastWay way = choose_way(options_.broadcast, comm().size(), kind.bytes);
  const BroadcastLinks links = links_of(way.kind, comm().size(), kind.owner, comm().rank());
  for (int piece = 0; piece < way.pieces; ++piece) {
    const std::size_t begin = piece_begin(kind.bytes, way.pieces, piece);
    const std::size_t end = piece_begin(kind.bytes, way.pieces, piece + 1);
    if (begin == end) continue;
    Message message;
    message.tag = int(buffer) * kMostPieces + piece;
    message.regions.push_back(bytes_at(buffers_[buffer].wire + begin, end - begin));
    message.name = "a panel of rank " + std::to_string(kind.owner);
    int receive = -1;
    if (links.parent >= 0) {
      receive = receives++;
      message.peer = links.parent;
      messages.push_back(message);
    }
    message.sends = true;
    message.after = receive;
    for (const int child : links.children) {
      message.peer = child;
      messages.push_back(message);
    }
  }
  return messages;
}

Status PanelPlan::check_start(std::int64_t panel) const {
  if (!committed()) return refusal("start before commit, call commit once");
  if (panel < 0 || panel >= std::int64_t(panels_.size()))
    return refusal(numbered(panel) + " does not exist (the plan has " +
                   std::to_string(panels_.size()) + ")");
  if (panel != next_ && panel != 0)
    return refusal("start of " + numbered(panel) + " (panels start in their order) start " +
                   numbered(next_) + ", or 0 for another round");
  const Buffer& buffer = buffers_[next_buffer_];
  if (buffer.state == State::started)
    return refusal("start of " + numbered(panel) + " while " + numbered(buffer.number) +
                   " has its buffer (the look-ahead is " + std::to_string(options_.look_ahead) +
                   ") wait for it before");
  return {};
}

Status PanelPlan::prepare(std::int64_t number, Mode mode) {
  OB_RETURN_IF_ERROR(retire(next_buffer_));
  Buffer& buffer = buffers_[next_buffer_];
  const Panel& panel = panels_[std::size_t(number)];
  buffer.number = number;
  buffer.state = State::started;
  buffer.counted = false;
  if (check_) {
    fill_with_nan(bytes_at(buffer.panel, panel.bytes));
    buffer.before = contents(buffer);
  }
  next_run().prepare(*buffer.exchanges[panel.kind], mode, false,
                     panel.source ? &*panel.source : nullptr, buffer.wire);
  next_ = (number + 1) % std::int64_t(panels_.size());
  next_buffer_ = (next_buffer_ + 1) % buffers_.size();
  return {};
}

Digest PanelPlan::contents(const Buffer& buffer) const {
  const Panel& panel = panels_[std::size_t(buffer.number)];
  Digester digester;
  digester.update({buffer.panel, panel.bytes});
  if (panel.source) {
    std::vector<std::byte> packed(panel.bytes);
    panel.source->pack(packed.data());
    digester.update(packed);
  }
  return digester.digest();
}

Result<std::size_t> PanelPlan::buffer_of(std::int64_t panel, State state) const {
  // A plan with fewer panels than buffers has one panel in several: the program waits for the
  // oldest one and uses the newest one.
  const std::size_t count = buffers_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t age = state == State::started ? i : count - 1 - i;
    const std::size_t at = (next_buffer_ + age) % count;
    if (buffers_[at].number == panel && buffers_[at].state == state) return at;
  }
  return refusal(numbered(panel) + (state == State::started
                                        ? " is not under way (wait without start)"
                                        : " is not here (not waited for, or its buffer has "
                                          "another one)"));
}

Result<Run*> PanelPlan::run_of(std::int64_t panel) const {
  OB_ASSIGN_OR_RETURN(const std::size_t buffer, buffer_of(panel, State::started));
  return runs()[buffer].get();
}

Status PanelPlan::finish(std::int64_t panel) {
  OB_ASSIGN_OR_RETURN(const std::size_t at, buffer_of(panel, State::started));
  Buffer& buffer = buffers_[at];
  buffer.state = State::in_use;
  // Runs that went on after their wait are measured when they are over.
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].counted || !runs()[i]->over()) continue;
    buffers_[i].counted = true;
    if (runs()[i]->failure().ok()) note_moved(runs()[i]->mode(), runs()[i]->finish());
  }
  if (runs()[at]->over() && !runs()[at]->failure().ok()) return failure_ = runs()[at]->failure();
  if (!check_) return {};
  const Status checked = check_arrived(buffer);
  std::memcpy(buffer.panel, buffer.wire, panels_[std::size_t(panel)].bytes);
  return checked;
}

Status PanelPlan::check_arrived(const Buffer& buffer) const {
  if (contents(buffer) == buffer.before) return {};
  return refusal("rank " + std::to_string(comm().rank()) + " wrote to " + numbered(buffer.number) +
                 " of rank " + std::to_string(panels_[std::size_t(buffer.number)].owner) +
                 " while it was being sent or received (between start and wait) write before or "
                 "after");
}

Status PanelPlan::retire(std::size_t at) {
  Buffer& buffer = buffers_[at];
  if (!failure_.ok()) return failure_;
  if (!runs()[at]->failure().ok()) return failure_ = runs()[at]->failure();
  const bool used = std::exchange(buffer.state, State::free) == State::in_use;
  if (!buffer.counted) note_moved(runs()[at]->mode(), runs()[at]->finish());
  buffer.counted = true;
  if (!check_ || !used) return {};
  const Panel& panel = panels_[std::size_t(buffer.number)];
  if (std::memcmp(buffer.panel, buffer.wire, panel.bytes) == 0) return {};
  return refusal("rank " + std::to_string(comm().rank()) + " wrote to the buffer of " +
                 numbered(buffer.number) + " (other ranks may get it from there) copy it before");
}

Status PanelPlan::finish_all() {
  Status first;
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (const Status status = retire(i); first.ok()) first = status;
  return first;
}

Result<const std::byte*> PanelPlan::data(std::int64_t panel) const {
  OB_ASSIGN_OR_RETURN(const std::size_t buffer, buffer_of(panel, State::in_use));
  return static_cast<const std::byte*>(buffers_[buffer].panel);
}

void PanelPlan::add_wait(const Run& run, double seconds) {
  Plan::add_wait(run, seconds);
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (runs()[i].get() == &run)
      waited_for_[std::size_t(panels_[std::size_t(buffers_[i].number)].owner)] += seconds;
}

std::string PanelPlan::summary() const {
  std::size_t most = 0;
  for (const Panel& panel : panels_) most = std::max(most, panel.bytes);
  const BroadcastWay way = choose_way(options_.broadcast, comm().size(), most);
  return std::to_string(panels_.size()) + " panels of at most " + std::to_string(most) +
         " bytes, look-ahead " + std::to_string(options_.look_ahead) + ", by " +
         (way.kind == Broadcast::ring ? "ring in " + std::to_string(way.pieces) + " piece(s)"
                                      : std::string("tree"));
}

LongestWait PanelPlan::longest_wait() const {
  const auto longest = std::max_element(waited_for_.begin(), waited_for_.end());
  if (longest == waited_for_.end()) return {};
  return {*longest, "a panel of rank " + std::to_string(longest - waited_for_.begin())};
}

}  // namespace ob::overlap
