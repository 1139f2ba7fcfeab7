// SPDX-License-Identifier: Apache-2.0
#include "commands/doctor/examinations.hpp"
#include "error_messages.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;
using level = finding::level;

// A server that was restarted says so, and for how long. That is a safeguard at work.
bool is_quarantine(const error& why) {
    return why.detail.find("QUARANTINE") != std::string::npos ||
           why.detail.find("grants nothing for another") != std::string::npos;
}

// Also what a script may not do, which Redis has no code of its own for.
bool is_forbidden(const error& why) {
    return why.code == errc::denied ||
           why.detail.find("The user executing the script can't") != std::string::npos;
}

bool is_damage(const error& why, const trial_plan& plan) {
    return plan.in_a_file && why.code == errc::corrupt;
}

std::string fix_for(const error& why, const trial_plan& plan) {
    if (plan.in_a_file) {
        return why.code == errc::denied ? "let this user write the file and its directory" : "";
    }
    for (const std::string_view says_itself : {"postgres", "mysql", "mariadb"}) {
        if (plan.where.starts_with(says_itself)) return "";
    }
    if (is_forbidden(why)) {
        return "give the user the permissions of docs/guide/redis.md, or fix the password";
    }
    switch (why.code) {
        case errc::unavailable:
        case errc::timed_out:
        case errc::outcome_unknown: return "look whether the engine runs, and can be reached";
        default: return "";
    }
}

finding refused(std::string about, const trial_plan& plan, const error& why) {
    if (is_quarantine(why)) {
        return {level::note, std::move(about), plan.where,
                "it was restarted, and grants nothing until all it may have forgotten is over",
                "wait until the quarantine is over, and examine it again"};
    }
    std::string text = doctors_words(why.detail);
    const std::string again = plan.where + ": ";  // an engine in a file begins with its name
    if (text.starts_with(again)) text.erase(0, again.size());
    std::string fix = fix_for(why, plan);
    // Of a file that is damaged, the engine itself says what to do.
    if (const auto colon = text.find(": "); is_damage(why, plan) && colon != std::string::npos) {
        fix = text.substr(colon + 2);
        text.resize(colon);
    }
    return {level::unsafe, std::move(about), plan.where, std::move(text), std::move(fix)};
}

bool is_waited_for(client& on, const std::string& name) {
    const auto seen = on.inspect(name);
    return seen && *seen && (*seen)->waiters > 0;
}

// Another client waits in the queue, and is handed the name.
std::optional<finding> try_to_wait(client& on, lease held, const std::string& name,
                                   const trial_plan& plan) {
    auto other = open(plan.url);
    if (!other) return refused("waiting", plan, other.error());
    result<lease> got = fail(errc::unavailable, "nobody asked");
    std::mutex mutex;
    std::condition_variable changed;
    bool over = false;
    std::jthread waiter([&] {
        got = other->mutex(name).acquire({.ttl = plan.ttl, .wait = plan.ttl});
        const std::scoped_lock guard(mutex);
        over = true;
        changed.notify_one();
    });
    clock& time = system_clock();
    const time_point patience = time.now() + 2s;
    while (!is_waited_for(on, name) && time.now() < patience) {
        std::unique_lock guard(mutex);
        if (!over) time.wait_until(guard, changed, time.now() + 5ms);
        if (over) break;
    }
    const auto released = std::move(held).release();
    waiter.join();
    if (!released) return refused("lease", plan, released.error());
    if (!got) return refused("waiting", plan, got.error());
    const auto last = std::move(*got).release();
    if (!last) return refused("lease", plan, last.error());
    return std::nullopt;
}

}  // namespace

findings try_a_lease(client on, const trial_plan& plan) {
    const std::string name = fmt::format("holdfast/doctor/{}", ::getpid());
    auto held = on.mutex(name).acquire({.ttl = plan.ttl, .wait = 0s});
    if (!held) return {refused("lease", plan, held.error())};
    findings found;
    if (on.can().listing) {
        if (const auto listed = on.list(name); !listed) {
            found.push_back(refused("listing", plan, listed.error()));
            found.back().weight = level::note;
        }
    }
    if (auto trouble = try_to_wait(on, std::move(*held), name, plan)) {
        found.push_back(std::move(*trouble));
    } else {
        found.push_back(
            {level::good, "lease", plan.where, "a lease was granted, handed off and released", ""});
    }
    return found;
}

}  // namespace holdfast::app
