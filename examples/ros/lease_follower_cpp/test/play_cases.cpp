// Plays leases and commands from standard input; prints what the watchdog decides. Without ROS:
//
//   g++ -std=c++17 -I include test/play_cases.cpp
//
// new VIEW ...                                    a new watchdog
// lease ROS STEADY VIEW STAMP VERDICT EXPIRES NEEDS_DECISION OF_DECISION
// command ROS STEADY                              prints 1 where it passes
// watch ROS STEADY                                prints 1 where a stop is sent
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "lease_follower_cpp/leases.hpp"

int main() {
  lease_follower::Watchdog watchdog({});
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "new") {
      using Words = std::istream_iterator<std::string>;
      watchdog = lease_follower::Watchdog(std::vector<std::string>(Words(words), Words()));
      continue;
    }
    lease_follower::Moment now{};
    words >> now.ros_ns >> now.steady_ns;
    if (what == "lease") {
      lease_follower::Lease lease{};
      int verdict = 0;
      words >> lease.view >> lease.stamp_ns >> verdict >> lease.expires_ns >> lease.needs_decision >>
        lease.of_decision;
      lease.verdict = static_cast<std::uint8_t>(verdict);
      watchdog.take(lease, now);
    } else {
      std::cout << (what == "command" ? watchdog.passes(now) : watchdog.stops(now)) << '\n';
    }
    if (!words) {
      std::cerr << "cannot read: " << line << '\n';
      return 1;
    }
  }
  return 0;
}
