#include "daemon/peers/mailboxes.hpp"

#include <utility>

#include "daemon/io/token.hpp"

namespace ob::daemon {

Result<std::shared_ptr<Mailbox>> Mailboxes::open(Device& device,
                                                 std::shared_ptr<ResourceAccount> host_memory,
                                                 std::function<bool()> over) {
  OB_ASSIGN_OR_RETURN(const wire::Token access_key, new_token());
  auto mailbox =
      std::make_shared<Mailbox>(device, access_key, std::move(host_memory), std::move(over));
  const std::lock_guard lock(mutex_);
  std::erase_if(mailboxes_, [](const auto& known) { return known.expired(); });
  mailboxes_.push_back(mailbox);
  return mailbox;
}

std::shared_ptr<Mailbox> Mailboxes::find(const wire::Token& access_key) {
  const std::lock_guard lock(mutex_);
  for (const auto& known : mailboxes_) {
    auto mailbox = known.lock();
    if (mailbox != nullptr && same(mailbox->access_key(), access_key))
      return mailbox->closed() ? nullptr : mailbox;
  }
  return nullptr;
}

}  // namespace ob::daemon
