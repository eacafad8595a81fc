#include "device/fair_shares.hpp"

#include <algorithm>

#include "base/contract.hpp"

namespace ob {
namespace {

// Numbers of leases, of users per lease, and of sessions per user, that are always remembered.
// Beyond them, idle ones are forgotten.
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
  OB_EXPECT(account.weight.share > 0);
  Lease& lease = leases_[account.weight.lease];
  User& user = lease.users[account.user];
  Share& session = user.sessions[account.session];
  lease.enter(level_);
  user.enter(lease.level);
  session.enter(user.level);
  Claim claim;
  claim.lease_ = &lease;
  claim.user_ = &user;
  claim.session_ = &session;
  claim.share_ = account.weight.share;
  return claim;
}

void FairShares::begin(const Claim& claim) {
  level_ = std::max(level_, claim.lease_->served);
  claim.lease_->level = std::max(claim.lease_->level, claim.user_->served);
  claim.user_->level = std::max(claim.user_->level, claim.session_->served);
}

void FairShares::leave(const Claim& claim, Time took) {
  claim.lease_->leave(took * LeaseWeight::kWhole / claim.share_);
  claim.user_->leave(took);
  claim.session_->leave(took);
  forget_idle(*claim.lease_, *claim.user_);
}

void FairShares::forget_idle(Lease& lease, User& user) {
  const auto idle = [](const auto& entry) { return entry.second.interested == 0; };
  if (user.sessions.size() > kRemembered) std::erase_if(user.sessions, idle);
  if (lease.users.size() > kRemembered) std::erase_if(lease.users, idle);
  if (leases_.size() > kRemembered) std::erase_if(leases_, idle);
}

}  // namespace ob
