// A node that obeys the gate: it passes velocity commands on while the lease is fresh, else it stops.
//
//   ros2 run lease_follower_cpp lease_follower --ros-args -p views:="[top]" -r commands:=/policy/twist
//
// As examples/ros/lease_follower.py. The contract is in leases.hpp; the node around it shows where to ask.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "builtin_interfaces/msg/time.hpp"
#include "embodied_iqa_msgs/msg/gate_lease.hpp"
#include "geometry_msgs/msg/twist_stamped.hpp"
#include "lease_follower_cpp/leases.hpp"
#include "rclcpp/rclcpp.hpp"

using embodied_iqa_msgs::msg::GateLease;
using geometry_msgs::msg::TwistStamped;
using lease_follower::Moment;

static_assert(GateLease::VERDICT_PASS == lease_follower::kPass, "the messages are of another version");

namespace {

constexpr std::chrono::milliseconds kWatch{10};
volatile std::sig_atomic_t ended = 0;

std::int64_t ns_of(const builtin_interfaces::msg::Time& stamp) {
  return std::int64_t{stamp.sec} * 1'000'000'000 + std::int64_t{stamp.nanosec};
}

/// commands -> servo_twist while every lease is fresh; zeros once it is not.
class LeaseFollower : public rclcpp::Node {
 public:
  LeaseFollower()
  : Node("lease_follower"),
    watchdog_(declare_parameter("views", std::vector<std::string>{"top"})),
    publisher_(create_publisher<TwistStamped>("servo_twist", 10)) {
    leases_ = create_subscription<GateLease>(
      "gate/lease", 50, [this](const GateLease& lease) { take_lease(lease); });
    commands_ = create_subscription<TwistStamped>(
      "commands", 10, [this](const TwistStamped& command) { take_command(command); });
    // The watchdog: where the gate, the camera or the clock dies, nobody calls but this timer. A wall timer
    // runs by the steady clock.
    timer_ = create_wall_timer(kWatch, [this]() { watch(); });
  }

  void stop() {
    TwistStamped zeros;
    zeros.header.stamp = now();
    zeros.header.frame_id = frame_id_;
    publisher_->publish(zeros);
  }

 private:
  Moment moment() {
    const auto steady = std::chrono::steady_clock::now().time_since_epoch();
    return {now().nanoseconds(), std::chrono::duration_cast<std::chrono::nanoseconds>(steady).count()};
  }

  void take_lease(const GateLease& lease) {
    watchdog_.take({lease.view, ns_of(lease.header.stamp), lease.verdict, ns_of(lease.expires),
                    lease.needs_decision, lease.of_decision}, moment());
    watch();
  }

  void take_command(const TwistStamped& command) {
    watch();  // a lease may have run out since the timer looked
    if (!watchdog_.passes(moment())) return;
    frame_id_ = command.header.frame_id;
    publisher_->publish(command);
  }

  void watch() {
    if (!watchdog_.stops(moment())) return;
    stop();
    RCLCPP_WARN(get_logger(), "no fresh lease: stop");
  }

  lease_follower::Watchdog watchdog_;
  std::string frame_id_;
  rclcpp::Publisher<TwistStamped>::SharedPtr publisher_;
  rclcpp::Subscription<GateLease>::SharedPtr leases_;
  rclcpp::Subscription<TwistStamped>::SharedPtr commands_;
  rclcpp::TimerBase::SharedPtr timer_;
};

}  // namespace

int main(int argc, char** argv) {
  // The handlers of ROS end the context at a signal: the last stop could not be published.
  rclcpp::init(argc, argv, rclcpp::InitOptions(), rclcpp::SignalHandlerOptions::None);
  std::signal(SIGINT, [](int) { ended = 1; });
  std::signal(SIGTERM, [](int) { ended = 1; });
  const auto node = std::make_shared<LeaseFollower>();
  rclcpp::executors::SingleThreadedExecutor executor;
  executor.add_node(node);
  int code = 0;
  try {
    while (!ended && rclcpp::ok()) executor.spin_once(kWatch);
  } catch (const std::exception& error) {
    RCLCPP_ERROR(node->get_logger(), "a callback failed: %s", error.what());
    code = 1;
  }
  node->stop();
  rclcpp::shutdown();
  return code;
}
