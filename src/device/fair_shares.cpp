#include "device/fair_shares.hpp"

#include <algorithm>

namespace ob {
namespace {

// Numbers of users, and of sessions per user, that are always remembered. Beyond them, idle ones
// are forgotten.
constexpr std::size_t kRemembered = 1024;

}  // namespace

void FairShares::Share::enter(Time level) {
  if (interested++ == 0) served = std::max(served, level);
}

void FairShares::Share::leave(Time took) {
  served += took;
  --interested;
}

FairShares::Claim FairShares::enter(const Account& account) {
  User& user = users_[account.user];
  Share& session = user.sessions[account.session];
  user.enter(level_);
  session.enter(user.level);
  Claim claim;
  claim.user_ = &user;
  claim.session_ = &session;
  return claim;
}

void FairShares::begin(const Claim& claim) {
  level_ = std::max(level_, claim.user_->served);
  claim.user_->level = std::max(claim.user_->level, claim.session_->served);
}

void FairShares::leave(const Claim& claim, Time took) {
  claim.user_->leave(took);
  claim.session_->leave(took);
  forget_idle(*claim.user_);
}

void FairShares::forget_idle(User& user) {
  const auto idle = [](const auto& entry) { return entry.second.interested == 0; };
  if (user.sessions.size() > kRemembered) std::erase_if(user.sessions, idle);
  if (users_.size() > kRemembered) std::erase_if(users_, idle);
}

}  // namespace ob
