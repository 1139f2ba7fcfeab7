// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// Calls for one key that come while others are under way, asked together.
///
/// Whoever comes first asks for itself, at once. While `most_asking` script calls about a key are
/// under way, those who come form a group, and when an answer comes the group's first member asks
/// for all of them: one script call for the sum. So a lone caller pays nothing for it, and many
/// callers cost the engine a script call for each trip, not for each of them.
///
/// Thread safety: all members may be called from any thread.
namespace holdfast::detail {

/// `Answer` is copied by every member of a group.
template <class Answer>
class coalescer {
public:
    /// An answer to a script call for `total`, of which this caller's part lies behind `before`.
    struct part {
        Answer answer;
        std::uint64_t total = 0;
        std::uint64_t before = 0;
    };

    /// `ask(total)` is called by this thread, or by another one that asks for this one too: it may
    /// depend on the key, and on nothing else of the caller. A sum is never above `most`.
    /// Blocks: while others ask, and while it is asked; no longer than two calls of `ask`.
    template <class Ask>
    part ask_for(std::string_view key, std::uint64_t n, std::uint64_t most, const Ask& ask) {
        slot& here = slot_of(key);
        const auto [as, mine, before] = join(here, key, n, most);
        switch (as) {
            case role::alone: return {ask(n), n, 0};
            case role::first: {
                const turn ours(here);
                return {ask(n), n, 0};
            }
            case role::leads: {
                mine->may_ask.wait(0);
                const turn ours(here);
                const typename group::telling all(*mine);
                mine->answer = ask(mine->total);
                break;
            }
            case role::follows: mine->answered.wait(0);
        }
        return {*mine->answer, mine->total, before};
    }

    /// The sum of those who wait to be asked for.
    [[nodiscard]] std::uint64_t waiting(std::string_view key) {
        slot& here = slot_of(key);
        const std::scoped_lock guard(here.mutex);
        return here.key == key && here.next != nullptr ? here.next->total : 0;
    }

private:
    static constexpr unsigned most_asking = 2;

    enum class role : std::uint8_t {
        alone,   ///< Asks for itself, and nobody waits for it: the slot is another key's, or the
                 ///< group is full.
        first,   ///< Asks for itself.
        leads,   ///< Asks for a group, when its turn comes.
        follows  ///< Is asked for.
    };

    struct group {
        std::uint64_t total = 0;  // changes under the slot's mutex, until it may ask
        std::optional<Answer> answer;
        std::atomic<int> may_ask = 0;
        std::atomic<int> answered = 0;

        struct telling {
            explicit telling(group& all) : whom(all) {}
            telling(const telling&) = delete;
            telling& operator=(const telling&) = delete;
            ~telling() {
                whom.answered = 1;
                whom.answered.notify_all();
            }
            group& whom;
        };
    };

    // Keys that fall together: one of them has the slot, and the others' callers ask alone.
    struct alignas(64) slot {
        std::mutex mutex;
        std::string key;
        unsigned asking = 0;
        std::shared_ptr<group> next;
    };

    // Ours to ask, until it passes to the group that formed meanwhile.
    struct turn {
        explicit turn(slot& at) : here(at) {}
        turn(const turn&) = delete;
        turn& operator=(const turn&) = delete;
        ~turn() {
            std::shared_ptr<group> next;
            {
                const std::scoped_lock guard(here.mutex);
                next = std::exchange(here.next, nullptr);
                if (next == nullptr) --here.asking;
            }
            if (next == nullptr) return;
            next->may_ask = 1;
            next->may_ask.notify_one();
        }
        slot& here;
    };

    struct seat {
        role as = role::alone;
        std::shared_ptr<group> in;
        std::uint64_t before = 0;
    };

    slot& slot_of(std::string_view key) {
        return slots_[std::hash<std::string_view>()(key) % slots_.size()];
    }

    static seat join(slot& here, std::string_view key, std::uint64_t n, std::uint64_t most) {
        const std::scoped_lock guard(here.mutex);
        if (here.asking == 0) here.key.assign(key);
        if (here.key != key) return {};
        if (here.asking < most_asking) {
            ++here.asking;
            return {.as = role::first, .in = nullptr};
        }
        const bool leads = here.next == nullptr;
        if (leads) here.next = std::make_shared<group>();
        group& all = *here.next;
        if (most - all.total < n) return {};
        const std::uint64_t before = std::exchange(all.total, all.total + n);
        return {.as = leads ? role::leads : role::follows, .in = here.next, .before = before};
    }

    std::array<slot, 64> slots_;
};

}  // namespace holdfast::detail
