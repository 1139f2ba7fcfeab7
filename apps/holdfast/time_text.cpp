// SPDX-License-Identifier: Apache-2.0
#include "time_text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace holdfast::app {
namespace {

std::time_t seconds_of(wall_time when) {
    return std::chrono::floor<std::chrono::seconds>(when).time_since_epoch().count();
}

}  // namespace

std::string show_roughly(duration d) {
    using namespace std::chrono;
    if (d < 1s) return fmt::format("{} ms", ceil<milliseconds>(d).count());
    if (d < 1min) return fmt::format("{:.1f} s", std::chrono::duration<double>(d).count());
    const auto whole = ceil<seconds>(d);
    if (whole < 1h) {
        return fmt::format("{} min {} s", whole / 1min, (whole % 1min).count());
    }
    return fmt::format("{} h {} min", whole / 1h, whole % 1h / 1min);
}

std::string show_time_of_day(wall_time when) {
    return fmt::format("{:%H:%M:%S}", fmt::localtime(seconds_of(when)));
}

std::string show_moment(wall_time when) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds_of(when)));
}

}  // namespace holdfast::app
