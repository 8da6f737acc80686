// The contract of the quality gate (docs/gate-ros.md) without ROS: copy this file.
//
// Times are nanoseconds by two clocks: ROS time, in which images are stamped, and a steady clock, which ends a
// lease where ROS time stands still. Fails closed: what is not known permits nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lease_follower {

/// A lease is good for so long after its arrival at most, whatever it says.
constexpr std::int64_t kLongestNs = 1'000'000'000;

/// For so long an image in the future may stop the robot, should the clock that stamped it have been wrong.
constexpr std::int64_t kRememberNs = 3'000'000'000;

/// VERDICT_PASS of embodied_iqa_msgs/GateLease; every other verdict stops.
constexpr std::uint8_t kPass = 0;

/// The fields of embodied_iqa_msgs/GateLease that decide.
struct Lease {
  std::string view;
  std::int64_t stamp_ns;  ///< of the image
  std::uint8_t verdict;
  std::int64_t expires_ns;
  bool needs_decision;
  bool of_decision;
};

struct Moment {
  std::int64_t ros_ns;
  std::int64_t steady_ns;
};

/// The newest lease of each camera.
class Leases {
 public:
  /// Without views nothing is ever allowed.
  explicit Leases(const std::vector<std::string>& views) {
    for (const auto& view : views) newest_[view] = std::nullopt;
  }

  /// Keeps a lease if its image is the newest of its camera.
  void take(const Lease& lease, const Moment& now) {
    const auto found = newest_.find(lease.view);
    const bool is_pass = lease.verdict == kPass;
    if (lease.of_decision || found == newest_.end() || (is_pass && lease.stamp_ns > now.ros_ns)) return;
    const std::int64_t ends_ns = std::min(lease.expires_ns, now.ros_ns + kLongestNs);
    Kept kept{lease.stamp_ns, lease.verdict, is_pass && !lease.needs_decision, ends_ns,
              now.steady_ns + ends_ns - now.ros_ns, now.ros_ns};
    auto& before = found->second;
    if (before && before->is_known(now.ros_ns)) {
      const auto ours = std::make_pair(kept.stamp_ns, kept.verdict);
      const auto theirs = std::make_pair(before->stamp_ns, before->verdict);
      if (ours < theirs) return;
      if (ours == theirs) {  // both have to permit it
        kept.passes = kept.passes && before->passes;
        kept.ends_ns = std::min(kept.ends_ns, before->ends_ns);
        kept.ends_steady_ns = std::min(kept.ends_steady_ns, before->ends_steady_ns);
        kept.since_ns = before->since_ns;
      }
    }
    before = kept;
  }

  /// Returns whether the robot may move now: every camera passes, and no lease has run out.
  bool allow(const Moment& now) const {
    return !newest_.empty() && std::all_of(newest_.begin(), newest_.end(), [&now](const auto& one) {
      const auto& kept = one.second;
      return kept && kept->passes && kept->stamp_ns <= now.ros_ns && now.ros_ns <= kept->ends_ns &&
             now.steady_ns <= kept->ends_steady_ns;
    });
  }

 private:
  struct Kept {
    std::int64_t stamp_ns;
    std::uint8_t verdict;
    bool passes;
    std::int64_t ends_ns;
    std::int64_t ends_steady_ns;
    std::int64_t since_ns;

    /// Whether it counts beside a later lease: the clock was not set back since it came. A verdict to stop on an
    /// image in the future is kept under its own stamp, for a while.
    bool is_known(std::int64_t ros_ns) const {
      return stamp_ns <= ros_ns || (since_ns <= ros_ns && ros_ns <= since_ns + kRememberNs);
    }
  };

  std::map<std::string, std::optional<Kept>> newest_;
};

/// Lets commands pass under fresh leases; each loss of them is answered by one stop.
class Watchdog {
 public:
  explicit Watchdog(const std::vector<std::string>& views) : leases_(views) {}

  /// Call `stops` next: it may be a verdict to stop.
  void take(const Lease& lease, const Moment& now) { leases_.take(lease, now); }

  /// Returns whether a command passes now.
  bool passes(const Moment& now) {
    const bool allowed = leases_.allow(now);
    moving_ = moving_ || allowed;
    return allowed;
  }

  /// Returns whether to send a stop now. Call it after each lease, and all the time by a steady clock.
  bool stops(const Moment& now) {
    if (!moving_ || leases_.allow(now)) return false;
    moving_ = false;
    return true;
  }

 private:
  Leases leases_;
  bool moving_ = false;
};

}  // namespace lease_follower
