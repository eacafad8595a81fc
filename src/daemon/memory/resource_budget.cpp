#include "daemon/memory/resource_budget.hpp"

#include <algorithm>
#include <utility>

namespace ob::daemon {
namespace {

// A user may hold this many times what is left.
constexpr std::uint64_t kShareFactor = 3;

std::uint64_t rest(std::uint64_t limit, std::uint64_t used) noexcept {
  return limit - std::min(limit, used);
}

Status no_room(std::uint64_t amount, const char* unit, const std::string& where,
               const std::string& use, const char* option) {
  const std::string remedy = *option == '\0' ? "" : std::string(" or raise ") + option;
  return {Code::out_of_memory, "no room for " + std::to_string(amount) + " " + unit + " in " +
                                   where + " (" + use + "); free some" + remedy};
}

std::string use_of(std::uint64_t used, std::uint64_t limit) {
  return std::to_string(used) + " of its " + std::to_string(limit) + " are in use";
}

}  // namespace

std::shared_ptr<ResourceAccount> ResourceBudget::open(const std::string& user,
                                                      std::uint64_t session_limit) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<User> shared;
  if (!user.empty()) shared = proven_users_[user].lock();
  if (shared == nullptr) shared = std::make_shared<User>();
  if (!user.empty()) proven_users_[user] = shared;
  if (++shared->sessions == 1) ++users_;
  return std::shared_ptr<ResourceAccount>(
      new ResourceAccount(shared_from_this(), user, std::move(shared), session_limit));
}

void ResourceBudget::close(const ResourceAccount& account) noexcept {
  const std::lock_guard lock(mutex_);
  if (--account.user_->sessions != 0) return;
  proven_users_.erase(account.name_);
  --users_;
}

bool ResourceBudget::is_shared() const noexcept {
  return resource_.sharing == Resource::Sharing::always || users_ > 1;
}

// The user may hold `amount` more once used + amount <= factor * (left - amount).
std::uint64_t ResourceBudget::missing_share(const User& user, std::uint64_t amount) const noexcept {
  if (!is_shared()) return 0;
  const std::uint64_t left = rest(resource_.all, used_);
  if (amount > resource_.all) return amount;
  const std::uint64_t others_keep = (user.used + amount + kShareFactor - 1) / kShareFactor;
  return rest(others_keep + amount, left);
}

Status ResourceBudget::check(const ResourceAccount& account, std::uint64_t amount) const {
  const User& user = *account.user_;
  const char* const unit = resource_.unit;
  if (amount > rest(account.limit_, account.used_)) {
    return no_room(amount, unit, "this session", use_of(account.used_, account.limit_),
                   resource_.session_option);
  }
  if (amount > rest(resource_.user, user.used)) {
    return no_room(amount, unit, resource_.sessions, use_of(user.used, resource_.user),
                   resource_.user_option);
  }
  if (missing_share(user, amount) > 0) {
    return no_room(amount, unit, "this user's share",
                   "it holds " + std::to_string(user.used) + ", all users hold " +
                       std::to_string(used_) + " of " + std::to_string(resource_.all) +
                       ", and a part is kept for others",
                   resource_.all_option);
  }
  if (!resource_.all_is_enforced && amount > rest(resource_.all, used_)) {
    return no_room(amount, unit, "this daemon", use_of(used_, resource_.all), resource_.all_option);
  }
  return {};
}

Status ResourceBudget::take(ResourceAccount& account, std::uint64_t amount) {
  const std::lock_guard lock(mutex_);
  OB_RETURN_IF_ERROR(check(account, amount));
  account.used_ += amount;
  account.user_->used += amount;
  used_ += amount;
  return {};
}

void ResourceBudget::give_back(ResourceAccount& account, std::uint64_t amount) noexcept {
  const std::lock_guard lock(mutex_);
  account.used_ -= amount;
  account.user_->used -= amount;
  used_ -= amount;
}

// --- accounts ------------------------------------------------------------------------------------

Reservation::~Reservation() {
  if (account_ != nullptr) account_->budget_->give_back(*account_, amount_);
}

ResourceAccount::~ResourceAccount() { budget_->close(*this); }

Result<Reservation> ResourceAccount::reserve(const std::shared_ptr<ResourceAccount>& account,
                                             std::uint64_t amount) {
  OB_RETURN_IF_ERROR(account->budget_->take(*account, amount));
  return Reservation(account, amount);
}

std::uint64_t ResourceAccount::used() const {
  const std::lock_guard lock(budget_->mutex_);
  return used_;
}

std::uint64_t ResourceAccount::room() const {
  const std::lock_guard lock(budget_->mutex_);
  return std::min(rest(limit_, used_), rest(budget_->resource_.user, user_->used));
}

std::uint64_t ResourceAccount::equal_part() const {
  const std::lock_guard lock(budget_->mutex_);
  return std::min(limit_, budget_->resource_.user / user_->sessions);
}

std::uint64_t ResourceAccount::missing_share(std::uint64_t amount) const {
  const std::lock_guard lock(budget_->mutex_);
  return budget_->missing_share(*user_, amount);
}

}  // namespace ob::daemon
