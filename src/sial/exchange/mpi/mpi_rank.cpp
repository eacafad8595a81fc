#include "sial/exchange/mpi/mpi_rank.hpp"

#include <atomic>
#include <thread>
#include <utility>

#include "sial/trace/traced_server.hpp"

namespace ob::sial {
namespace {

// Instructions between two looks for messages. Worker 0 joins the collectives of all.
constexpr std::uint64_t kTurn = 4096;

Status reported_elsewhere(std::uint64_t code) { return {static_cast<Code>(code), ""}; }

}  // namespace

Status MpiRank::run(const WorkerSetting& setting, const BlockServer::Options& server,
                    const std::function<void(Worker&)>& look) {
  const bool works = exchange_.rank() < setting.workers;
  return works ? run_worker(setting, look) : run_server(setting, server);
}

void MpiRank::tell_failure(int code) {
  for (Rank to = 0; to < exchange_.ranks(); ++to) {
    if (to == exchange_.rank()) continue;
    Message message;
    message.kind = MessageKind::failed;
    message.from = exchange_.rank();
    message.to = to;
    message.number = static_cast<std::uint64_t>(code);
    exchange_.send(std::move(message));
  }
}

Status MpiRank::run_worker(const WorkerSetting& setting, const std::function<void(Worker&)>& look) {
  Worker worker(setting, exchange_.rank(), exchange_);
  std::atomic<bool> over = false;
  Status status;
  std::thread interpreter([&] {
    status = interpret(worker);
    if (status.ok()) status = finish(setting);
    if (status.ok() && look) look(worker);
    over = true;
    exchange_.wake();
  });
  exchange_.progress_until([&] { return over.load(); });
  interpreter.join();
  return status;
}

Status MpiRank::interpret(Worker& worker) {
  Status begun = worker.begin();
  if (!begun.ok()) {
    tell_failure(static_cast<int>(begun.code()));
    return begun;
  }
  for (;;) {
    while (!early_.empty()) {
      worker.receive(std::move(early_.front()));
      early_.pop_front();
    }
    while (auto message = exchange_.receive()) {
      if (message->kind == MessageKind::failed) return reported_elsewhere(message->number);
      worker.receive(std::move(*message));
    }
    // Until it works on blocks again, or waits again, no other thread has to be woken.
    const bool quickly = exchange_.moves_nothing();
    switch (worker.run(kTurn, quickly)) {
      case Outcome::running:
        if (quickly) exchange_.go_on_moving();
        break;
      case Outcome::waiting: exchange_.wait_for_message(); break;
      case Outcome::finished: return {};
      case Outcome::failed:
        tell_failure(static_cast<int>(Code::invalid_argument));
        return {Code::invalid_argument, worker.failure()};
      case Outcome::stopped:
        tell_failure(static_cast<int>(Code::unavailable));
        return {Code::unavailable, "the program executed stop"};
    }
  }
}

// Waits until all servers have forgotten the blocks of the program.
Status MpiRank::finish(const WorkerSetting& setting) {
  for (Rank server = 0; server < setting.servers; ++server) {
    Message message;
    message.kind = MessageKind::end_program;
    message.from = exchange_.rank();
    message.to = setting.workers + server;
    exchange_.send(std::move(message));
  }
  Rank ended = 0;
  server_peaks_.assign(setting.servers, {});
  while (ended < setting.servers) {
    exchange_.wait_for_message();
    while (auto message = exchange_.receive()) {
      if (message->kind == MessageKind::failed) return reported_elsewhere(message->number);
      if (message->kind == MessageKind::end_program) {
        ++ended;
        server_peaks_[message->from - setting.workers] = {message->number, message->words.at(0)};
      } else {
        early_.push_back(std::move(*message));
      }
    }
  }
  return {};
}

Status MpiRank::run_server(const WorkerSetting& setting, BlockServer::Options options) {
  options.server_of = server_of(setting);
  options.memory_bytes = setting.server_memory_bytes;  // workers count with the same credit
  BlockServer server(options, exchange_);
  if (setting.last_line != nullptr) setting.last_line->begin(*setting.program);
  MessageQueue queue(server);
  Rank ended = 0;
  Status status;
  bool over = false;
  const auto handle = [&](const Message& message) {
    if (message.kind == MessageKind::failed) {
      status = reported_elsewhere(message.number);
      over = true;
    } else if (message.kind != MessageKind::end_program) {
      const std::vector<Line>& lines = setting.program->lines;
      if (setting.last_line != nullptr && message.instruction < lines.size()) {
        setting.last_line->set(lines[message.instruction]);
      }
      handle_traced(server, message, *setting.program, setting.trace);
    } else if (++ended == setting.workers) {
      for (Rank worker = 0; worker < setting.workers; ++worker) {
        Message reply;
        reply.kind = MessageKind::end_program;
        reply.from = exchange_.rank();
        reply.to = worker;
        reply.number = server.store().peak_bytes();
        reply.words = {queue.peak_bytes()};
        exchange_.send(std::move(reply));
      }
      over = true;
    }
  };
  exchange_.progress_until([&] {
    while (auto message = exchange_.receive()) queue.push(std::move(*message));
    while (!over) {
      const std::optional<Message> message = queue.take();
      if (!message) break;
      handle(*message);
      queue.handled(*message);
    }
    return over;
  });
  exchange_.flush();  // the answers, before the workers begin the next program
  return status;
}

}  // namespace ob::sial
