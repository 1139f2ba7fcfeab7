// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/lease_mode.hpp>

#include <cstdint>
#include <optional>
#include <vector>

/// What holding a name means, in plain C++: exclusively, shared, or by permits.
///
/// One list of holders and one of those who wait; no script, no packing, no mark, no counting
/// ahead. It is told the time in milliseconds, and answers what a store must answer.
namespace holdfast::test {

class lease_model {
public:
    enum class said : std::uint8_t { granted, busy, refused, renewed, released, lost };

    struct outcome {
        said answer;
        std::vector<int> told;  ///< Those in line who were handed what was free, in their order.
    };

    struct request {
        int who;
        lease_mode mode;
        std::int64_t ttl;
        bool waits = false;
        bool turns = false;  ///< Has an exclusive lease and wants to share it.
    };

    /// `place`: how long a place in line is kept without a look.
    explicit lease_model(std::int64_t place) : place_(place) {}

    // `now` never goes back.
    [[nodiscard]] outcome acquire(std::int64_t now, const request& asked);
    [[nodiscard]] outcome renew(std::int64_t now, int who, std::int64_t ttl);
    [[nodiscard]] outcome release(std::int64_t now, int who);
    [[nodiscard]] outcome leave(std::int64_t now, int who);
    [[nodiscard]] outcome resize(std::int64_t now, std::uint32_t permits);

    /// It waits no more, and tells nobody. Requires: its place ran out, or it has none.
    void vanish(int who);

    /// Whether its place in line is still kept.
    [[nodiscard]] bool has_place(std::int64_t now, int who) const;

    struct holder {
        int who;
        lease_mode mode;
        std::int64_t ends;
    };
    [[nodiscard]] const std::vector<holder>& holders(std::int64_t now);
    [[nodiscard]] std::uint32_t permits_held() const;

private:
    struct waiter {
        request asked;
        std::uint64_t arrival;
        std::int64_t kept_until;
    };

    void expire(std::int64_t now);
    [[nodiscard]] holder* find(int who);
    [[nodiscard]] bool held_as(lease_mode::kind kind) const;
    [[nodiscard]] std::uint32_t limit_for(const lease_mode& mode) const;
    [[nodiscard]] bool fits(const lease_mode& mode) const;
    bool leave_line(int who);
    void join_queue(std::int64_t now, const request& asked);
    [[nodiscard]] bool serve(std::int64_t now, std::optional<int> me, std::vector<int>& told);
    [[nodiscard]] outcome again(std::int64_t now, holder& mine, const request& asked);

    std::int64_t place_;
    std::vector<holder> holders_;
    std::vector<waiter> line_;  ///< By arrival.
    std::vector<std::uint64_t> arrivals_;
    std::uint64_t next_arrival_ = 1;
    std::optional<std::uint32_t> limit_;
};

}  // namespace holdfast::test
