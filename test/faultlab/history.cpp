// SPDX-License-Identifier: Apache-2.0
//
// Checks what contenders of the fault lab have written down: can all calls be put into an order in
// which one lock with growing fences would have answered so (sim/linearize.hpp)?
//
//     faultlab_history LOG...
//
// Prints one JSON object. Ends with 0 if there is an order, with 1 if there is none. The first
// calls of long logs are checked, and the object says how many.
#include "linearize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using holdfast::sim::lock_operation;
using holdfast::sim::moment;
using namespace std::chrono_literals;
using op_kind = lock_operation::kind;

constexpr std::size_t most_operations = 12'000;
constexpr std::size_t most_configurations = 1'000'000;

// What nobody has answered for is over by then: a lease of a second, and a request on its way.
constexpr moment longest_doubt = 20s;

std::optional<std::uint64_t> number(std::string_view line, std::string_view name) {
    const auto at = line.find(fmt::format("\"{}\":", name));
    if (at == std::string_view::npos) return std::nullopt;
    std::uint64_t found = 0;
    const char* const from = line.data() + at + name.size() + 3;
    if (std::from_chars(from, line.data() + line.size(), found).ec != std::errc{}) {
        return std::nullopt;
    }
    return found;
}

bool has(std::string_view line, std::string_view what) {
    return line.find(what) != std::string_view::npos;
}

moment time_in(std::string_view line, std::string_view name = "t") {
    return moment(static_cast<std::int64_t>(number(line, name).value_or(0)));
}

/// One contender's log, read line by line.
class contender {
public:
    contender(std::vector<lock_operation>& into, std::uint64_t first)
        : into_(into), holder_(first) {}

    void read(std::string_view line) {
        if (!line.ends_with('}')) return;  // the last one of a contender that was killed
        if (has(line, R"("e":"ask")")) {
            finish();
            asked_ = time_in(line);
        } else if (has(line, R"("e":"grant")") && asked_) {
            granted(line);
        } else if (has(line, R"("e":"end")") && held_) {
            ended(line);
        } else if (has(line, R"("e":"refused")") && asked_) {
            const bool is_sure = has(line, R"("code":"busy")");
            perhaps(*asked_, time_in(line) + (is_sure ? 0s : longest_doubt));
            asked_.reset();
        }
    }

    /// What has no end in the log may have happened, and ended, at any time.
    void finish() {
        if (asked_) perhaps(*asked_, *asked_ + longest_doubt);
        if (held_) end(*held_, *held_ + longest_doubt, false);
        asked_.reset();
        held_.reset();
    }

private:
    void granted(std::string_view line) {
        ++holder_;
        into_.push_back({.what = op_kind::acquire,
                         .holder = holder_,
                         .fence = number(line, "fence").value_or(0),
                         .called = *asked_,
                         .returned = time_in(line)});
        held_ = asked_;
        asked_.reset();
    }

    // One that was lost may have ended at any time, even before its holder heard of the grant.
    void ended(std::string_view line) {
        if (has(line, R"("lost":"none")") && has(line, R"("release":"ok")")) {
            end(time_in(line, "releasing"), time_in(line), true);
        } else {
            end(*held_, time_in(line) + longest_doubt, false);
        }
        held_.reset();
    }

    void end(moment called, moment returned, bool surely) {
        into_.push_back({.what = op_kind::end,
                         .holder = holder_,
                         .called = called,
                         .returned = returned,
                         .must_happen = surely});
    }

    void perhaps(moment called, moment returned) {
        ++holder_;
        into_.push_back({.what = op_kind::acquire,
                         .holder = holder_,
                         .called = called,
                         .returned = returned,
                         .must_happen = false});
        end(called, returned, false);
    }

    std::vector<lock_operation>& into_;
    std::uint64_t holder_;
    std::optional<moment> asked_;
    std::optional<moment> held_;  ///< When what it holds was asked for.
};

/// The first ones by their calls. What the others would have ended, perhaps ends.
void shorten(std::vector<lock_operation>& all) {
    std::ranges::stable_sort(all, {}, &lock_operation::called);
    if (all.size() <= most_operations) return;
    const moment last = all[most_operations].called;
    all.resize(most_operations);
    std::erase_if(all, [&](const lock_operation& op) {
        return op.what == op_kind::acquire && op.returned > last;
    });
}

std::string described(const lock_operation& op, moment from) {
    return fmt::format("{} of {}, fence {}, {:.3f} to {:.3f} ms",
                       op.what == op_kind::acquire ? "acquire" : "end", op.holder, op.fence,
                       static_cast<double>((op.called - from).count()) / 1e6,
                       static_cast<double>((op.returned - from).count()) / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<lock_operation> all;
    for (int i = 1; i < argc; ++i) {
        constexpr std::uint64_t numbers_of_one = 1'000'000'000;
        contender one(all, static_cast<std::uint64_t>(i) * numbers_of_one);
        std::ifstream log(argv[i]);
        for (std::string line; std::getline(log, line);) one.read(line);
        one.finish();
    }
    shorten(all);
    const auto found = holdfast::sim::linearize(all, most_configurations);
    std::string stuck;
    for (const std::size_t i : found.stuck_at) {
        if (!stuck.empty()) stuck += "; ";
        stuck += described(all[i], all.front().called);
    }
    fmt::print("{{\"checked\":{},\"linearizable\":{},\"given_up\":{}", all.size(), found.possible,
               found.given_up);
    if (!found.possible) fmt::print(",\"stuck_at\":\"{}\"", stuck);
    fmt::print("}}\n");
    return found.possible ? 0 : 1;
}
