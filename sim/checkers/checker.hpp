// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkers/events.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// One rule that must hold in every world, judged from what was seen.
namespace holdfast::sim {

struct violation {
    moment at;
    std::string_view checker;
    std::string text;
};

class checker {
public:
    explicit checker(std::string_view name) : name_(name) {}
    checker(const checker&) = delete;
    checker& operator=(const checker&) = delete;
    virtual ~checker() = default;

    virtual void see(const seen::call_began&) {}
    virtual void see(const seen::call_ended&) {}
    virtual void see(const seen::holding_began&) {}
    virtual void see(const seen::holding_ended&) {}
    virtual void see(const seen::belief_ending&) {}
    virtual void see(const seen::release_ended&) {}
    virtual void see(const seen::process_crashed&) {}
    virtual void see(const seen::request_sent&) {}
    virtual void see(const seen::request_answered&) {}
    virtual void see(const seen::node_asked&) {}
    virtual void see(const seen::node_answered&) {}
    virtual void see(const seen::push_heard&) {}
    virtual void see(const seen::process_disturbed&) {}
    virtual void see(const seen::servers_disturbed&) {}
    virtual void see(const seen::clock_set&) {}
    virtual void see(const seen::child_misbehaved&) {}
    virtual void see(const seen::resource_used&) {}
    virtual void see(const seen::process_idle&) {}
    virtual void see(const seen::world_ended&) {}

    [[nodiscard]] std::string_view name() const noexcept { return name_; }
    [[nodiscard]] const std::vector<violation>& found() const noexcept { return found_; }

protected:
    void complain(moment at, std::string text) {
        constexpr std::size_t most = 5;
        if (found_.size() < most) found_.push_back({at, name_, std::move(text)});
    }

private:
    const std::string_view name_;
    std::vector<violation> found_;
};

}  // namespace holdfast::sim
