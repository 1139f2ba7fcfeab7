// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/memory_engine.hpp"

#include <holdfast/engine/command_engine.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// An engine that runs scripts with a bug in them, to see that the tests find it.
///
/// The bug is a text of a script, as a server gets it, and its replacement. What is shipped knows
/// nothing of it.
namespace holdfast::test {

struct script_bug {
    const char* name;
    std::string_view text;
    std::string_view instead;
};

class mutated_engine final : public command_engine {
public:
    mutated_engine(std::shared_ptr<command_engine> inner, const script_bug& bug)
        : inner_(std::move(inner)), bug_(bug) {}

    /// How many scripts ran with the bug: none means that its text is gone.
    [[nodiscard]] int used() const noexcept { return used_; }

    void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                  time_point give_up) override {
        for (std::size_t i = 0; i < commands.size(); ++i) {
            const command& c = commands[i];
            if (c.body == nullptr || c.body->source().find(bug_.text) == std::string::npos) {
                inner_->exchange(commands.subspan(i, 1), replies.subspan(i, 1), give_up);
                continue;
            }
            ++used_;
            std::string source(c.body->source());
            source.replace(source.find(bug_.text), bug_.text.size(), bug_.instead);
            std::vector<std::string_view> words(c.args.begin(), c.args.end());
            words[0] = "EVAL";
            words[1] = source;
            const command changed{words, c.again};
            inner_->exchange({&changed, 1}, replies.subspan(i, 1), give_up);
        }
    }
    void submit(const command& c, time_point give_up, completion done) override {
        result<reply> answer;
        exchange({&c, 1}, {&answer, 1}, give_up);
        done(std::move(answer));
    }
    result<reply> transaction(std::span<const command> commands, time_point give_up) override {
        return inner_->transaction(commands, give_up);
    }
    result<std::unique_ptr<command_session>> open_session(std::string_view key,
                                                          time_point give_up) override {
        return inner_->open_session(key, give_up);
    }
    result<std::unique_ptr<subscription>> subscribe(std::string_view channel, channel_scope scope,
                                                    push_handler handler,
                                                    time_point give_up) override {
        return inner_->subscribe(channel, scope, std::move(handler), give_up);
    }
    clock& time() const noexcept override { return inner_->time(); }

private:
    std::shared_ptr<command_engine> inner_;
    script_bug bug_;
    int used_ = 0;
};

}  // namespace holdfast::test
