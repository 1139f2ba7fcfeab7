// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command.hpp>

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The scripts of live push, and a call of one.
namespace holdfast::push {

struct push_scripts {
    script admit;
    script broadcast;
    script presence;
    script read;
    script requeue;
    script sign_off;
    script state;

    [[nodiscard]] static const push_scripts& all();
};

/// Words that a command borrows: keeps them alive. Every call of ours may be repeated.
class owned_call {
public:
    /// A plain command.
    explicit owned_call(std::initializer_list<std::string_view> words) {
        for (const std::string_view word : words) add(word);
    }
    /// A script and its keys.
    owned_call(const script& body, std::span<const std::string> keys) : body_(&body) {
        add("EVALSHA");
        add(body.sha1());
        add(keys.size());
        for (const std::string& key : keys) add(key);
    }

    void add(std::string_view word) { words_.emplace_back(word); }
    void add(std::integral auto number) { words_.push_back(std::to_string(number)); }

    /// Valid until the next add().
    [[nodiscard]] command view() const {
        views_.assign(words_.begin(), words_.end());
        return {views_, repeat::idempotent, body_};
    }

private:
    std::vector<std::string> words_;
    mutable std::vector<std::string_view> views_;
    const script* body_ = nullptr;
};

}  // namespace holdfast::push
