// SPDX-License-Identifier: Apache-2.0
//
// Who holds what, for people. ZooKeeper does not say how long a session lasts yet. Of what this
// store put there itself it is known; of the others' leases the whole ttl is shown, as if they had
// been renewed just now.
#include "driver/zookeeper/lease_core.hpp"
#include "driver/zookeeper/zookeeper_errors.hpp"
#include "lease/ordered/entry_text.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace holdfast::zookeeper {
namespace {

// So many requests are sent before the first is waited for.
constexpr std::size_t asked_at_once = 256;

/// The answers to one request for each of the paths, in their order.
std::vector<answered> ask_all(const std::shared_ptr<zookeeper_session>& on, request::kind what,
                              const std::vector<std::string>& paths, time_point give_up) {
    std::vector<answered> all;
    for (std::size_t from = 0; from < paths.size(); from += asked_at_once) {
        const std::size_t to = std::min(paths.size(), from + asked_at_once);
        std::vector<pending<answered>> asked;
        for (std::size_t i = from; i < to; ++i) {
            asked.push_back(zookeeper_session::call(on, {.what = what, .path = paths[i]}, give_up));
        }
        for (const auto& one : asked) all.push_back(one.wait());
    }
    return all;
}

bool is_answer(const answered& said) {
    return said.is == outcome::done || said.is == outcome::no_node;
}

}  // namespace

// queue_entry::lease is when it ends, by our clock; 0 if that is not known.
ordered::remaining_time lease_core::remaining() const {
    return [this](std::int64_t ends) -> std::optional<duration> {
        if (ends == 0) return std::nullopt;
        return std::max(duration::zero(), time_point(duration(ends)) - now());
    };
}

result<std::vector<lease_info>> lease_core::list(std::string_view prefix, time_point give_up) {
    const auto on = client_.some_session();
    if (!on) return std::unexpected(on.error());
    const auto top = ask_all(*on, request::kind::children, {names_.root()}, give_up).front();
    if (!is_answer(top)) return std::unexpected(read_problem(top));
    std::vector<std::string> names;
    for (const std::string& node : top.names) {
        const auto name = entry_names::name_of(node);
        if (name && name->starts_with(prefix)) names.push_back(*name);
    }
    std::ranges::sort(names);
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back(names_.directory(name));
    const auto listed = ask_all(*on, request::kind::children, paths, give_up);
    std::vector<std::vector<ordered::queue_entry>> queues;
    std::vector<std::string> nodes;
    for (std::size_t i = 0; i < listed.size(); ++i) {
        if (!is_answer(listed[i])) return std::unexpected(read_problem(listed[i]));
        queues.push_back(ordered::queue_order(entry_names::read(listed[i].names)).entries());
        for (const auto& entry : queues.back()) nodes.push_back(paths[i] + "/" + entry.key);
    }
    const auto stored = ask_all(*on, request::kind::get, nodes, give_up);
    std::vector<lease_info> out;
    std::size_t next = 0;
    for (std::size_t i = 0; i < queues.size(); ++i) {
        std::vector<ordered::queue_entry> there;
        for (ordered::queue_entry& entry : queues[i]) {
            const answered& said = stored[next++];
            if (said.is == outcome::done) there.push_back(complete(names[i], entry, said));
        }
        auto info = ordered::describe(names[i], ordered::queue_order(std::move(there)), remaining(),
                                      ordered::with_queue::no);
        if (info.held()) out.push_back(std::move(info));
    }
    return out;
}

/// What is stored with an entry, and how long it lasts if it is ours.
ordered::queue_entry lease_core::complete(const std::string& name, ordered::queue_entry entry,
                                          const answered& said) const {
    entry.owner.clear();  // kazoo's nodes begin with as many digits as ours: the data tells
    ordered::read_entry_text(said.text, entry);
    if (entry.made == 0) entry.made = said.stat.made;
    const auto mine = book_.find({name, entry.owner});
    const time_point ends = mine ? mine->ends : now() + entry.ttl;
    if (mine || entry.ttl != duration::zero()) entry.lease = ends.time_since_epoch().count();
    return entry;
}

result<std::optional<lease_info>> lease_core::inspect(const lock_name& name, time_point give_up) {
    const auto on = client_.some_session();
    if (!on) return std::unexpected(on.error());
    const auto queue = read_queue(shared_from_this(), *on, name, give_up).wait();
    if (!queue) return std::unexpected(queue.error());
    std::vector<std::string> nodes;
    for (const auto& entry : queue->entries()) nodes.push_back(path_of(name, entry.key));
    const auto stored = ask_all(*on, request::kind::get, nodes, give_up);
    std::vector<ordered::queue_entry> there;
    for (std::size_t i = 0; i < stored.size(); ++i) {
        if (!is_answer(stored[i])) return std::unexpected(read_problem(stored[i]));
        if (stored[i].is != outcome::done) continue;
        there.push_back(complete(name.value(), queue->entries()[i], stored[i]));
    }
    if (there.empty()) return std::nullopt;
    return ordered::describe(name.value(), ordered::queue_order(std::move(there)), remaining(),
                             ordered::with_queue::yes);
}

result<std::vector<eviction_info>> lease_core::evictions(const lock_name& name,
                                                         time_point give_up) {
    const auto on = client_.some_session();
    if (!on) return std::unexpected(on.error());
    const std::string directory = names_.evictions(name.value());
    const auto top = ask_all(*on, request::kind::children, {directory}, give_up).front();
    if (!is_answer(top)) return std::unexpected(read_problem(top));
    std::vector<std::string> nodes;
    for (const std::string& owner : top.names) nodes.push_back(directory + "/" + owner);
    const auto reasons = ask_all(*on, request::kind::get, nodes, give_up);
    std::vector<eviction_info> all;
    for (std::size_t i = 0; i < reasons.size(); ++i) {
        if (reasons[i].is != outcome::done) continue;
        all.push_back({top.names[i].substr(0, 12), reasons[i].text});
    }
    return all;
}

}  // namespace holdfast::zookeeper
