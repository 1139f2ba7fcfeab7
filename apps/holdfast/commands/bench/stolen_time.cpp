// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/stolen_time.hpp"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace holdfast::app {

// "cpu  user nice system idle iowait irq softirq steal …", of all processors together.
double stolen_ticks(std::string_view stat) {
    std::istringstream words{std::string(stat.substr(0, stat.find('\n')))};
    std::string name;
    if (!(words >> name) || name != "cpu") return 0;
    constexpr int before = 7;
    double ticks = 0;
    for (int i = 0; i <= before; ++i) {
        if (!(words >> ticks)) return 0;
    }
    return ticks;
}

double stolen_seconds() {
    std::ifstream file("/proc/stat");
    std::string line;
    if (!std::getline(file, line)) return 0;
    const long per_second = ::sysconf(_SC_CLK_TCK);
    return per_second > 0 ? stolen_ticks(line) / static_cast<double>(per_second) : 0;
}

}  // namespace holdfast::app
