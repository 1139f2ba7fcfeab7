// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/batched_commands.hpp"

#include "lease/commands/lease_scripts.hpp"

#include <algorithm>
#include <charconv>

namespace holdfast::detail {
namespace {

std::int64_t number(std::string_view text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

// EVALSHA, the script, how many keys; then a key and an owner.
constexpr std::size_t key_at = 3;
constexpr std::size_t owner_at = 4;

}  // namespace

void batched_commands::add(const lease_commands& one) {
    const std::span<const command> said = one.commands();
    if (several_keys_ && one.lets_go()) {
        entries_.push_back({part::lets_go, 0});
        leaving_.push_back(said[0].args);
        return;
    }
    if (!one.draws() || !(counter_.empty() || counter_ == said[1].args[1])) {
        entries_.push_back({part::alone, said.size()});
        said_.insert(said_.end(), said.begin(), said.end());
        return;
    }
    counter_ = said[1].args[1];
    entries_.push_back({part::draws, 1, number(said[1].args[2])});
    fences_ += entries_.back().fences;
    said_.push_back(said[0]);
}

std::span<const command> batched_commands::commands() {
    drawn_at_ = said_.size();
    if (fences_ > 0) {
        digits_ = std::to_string(fences_);
        draw_ = {"INCRBY", counter_, digits_};
        said_.push_back({draw_, repeat::idempotent});  // a number that is left out is nobody's
    }
    left_at_ = said_.size();
    add_farewells();
    return said_;
}

void batched_commands::add_farewells() {
    const script& body = scripts().release_free_all;
    for (std::size_t first = 0; first < leaving_.size(); first += most_at_once) {
        const auto some = std::span(leaving_).subspan(first).first(
            std::min(most_at_once, leaving_.size() - first));
        farewell& one = farewells_.emplace_back();
        one.count = std::to_string(some.size());
        one.words.reserve(3 + 2 * some.size());
        one.words = {"EVALSHA", body.sha1(), one.count};
        for (const auto& words : some) one.words.push_back(words[key_at]);
        for (const auto& words : some) one.words.push_back(words[owner_at]);
        said_.push_back({one.words, repeat::never, &body});
    }
}

std::optional<std::span<result<reply>>> batched_commands::next(std::span<result<reply>> all) {
    const entry& mine = entries_[answered_++];
    if (mine.type == part::lets_go) {
        const std::size_t place = gone_++;
        const result<reply>& said = all[left_at_ + place / most_at_once];
        if (said && said->is_error()) return std::nullopt;
        if (said) {
            const std::string& digits = said->text();
            const std::size_t at = place % most_at_once;
            own_[0] = reply::integer(at < digits.size() ? digits[at] - '0' : 0);
        } else {
            own_[0] = said;
        }
        return std::span(own_).first(1);
    }
    const std::size_t first = at_;
    at_ += mine.commands;
    if (mine.type == part::alone) return all.subspan(first, mine.commands);
    const result<reply>& drawn = all[drawn_at_];
    given_ += mine.fences;
    own_[0] = std::move(all[first]);
    if (drawn && drawn->type() == reply::kind::integer) {
        own_[1] = reply::integer(drawn->number() - fences_ + given_);
    } else {
        own_[1] = drawn;
    }
    return own_;
}

}  // namespace holdfast::detail
