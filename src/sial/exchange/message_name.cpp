#include "sial/exchange/message.hpp"

namespace ob::sial {

const char* message_name(MessageKind kind) noexcept {
  switch (kind) {
    case MessageKind::get: return "get";
    case MessageKind::prefetch: return "prefetch";
    case MessageKind::touch: return "touch";
    case MessageKind::put: return "put";
    case MessageKind::accumulate: return "put +=";
    case MessageKind::fill: return "put x";
    case MessageKind::add: return "put += x";
    case MessageKind::scale: return "put *= x";
    case MessageKind::delete_array: return "delete";
    case MessageKind::save: return "save";
    case MessageKind::restore: return "restore";
    case MessageKind::next_chunk: return "next chunk";
    case MessageKind::ask_credit: return "ask for credit";
    default: return "other";
  }
}

}  // namespace ob::sial
