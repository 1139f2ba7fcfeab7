// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/require.hpp"
#include "core/to_ms.hpp"
#include "lease/commands/lease_keys.hpp"
#include "lease/commands/script_constants.hpp"
#include "lease/commands/server_clocks.hpp"

#include <holdfast/engine/command_engine.hpp>
#include <holdfast/engine/lease_store.hpp>
#include <holdfast/engine/reply.hpp>

#include <array>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Lease requests as Redis commands, and the replies as lease replies.
///
/// There are two ways. The full way is one script for each request: it knows the waiting line, the
/// quarantine, everything. The fast path is for the usual case, that nobody else wants the name,
/// and costs a server little more than a lock without a fence:
///
///     SET lock:N "owner:hf:" NX PX ttl   taken, if the key is not there: nobody holds it or waits
///     INCRBY holdfast:fence 1            its fence
///
/// two plain commands in one pipeline, and a compare-and-delete to let go. The two need not be one
/// step. A fence is drawn after the name was taken; the next holder draws after it was given back,
/// or after the lease ran out, and then the reply came too late for us to believe in it. So fences
/// grow from holder to holder. Whatever does not fit (the name is taken, a reply is lost, the
/// counter was lost) is asked again the full way, with the same owner.
///
/// A release that hands the name on is two commands, too, so that the next holder hears of it
/// before the one that waits for the answer. A server that has carried out what it has read writes
/// first to whoever it has something to say to last (its list of those grows at the front): that is
/// the one that released, whose answer comes after the message. Then it wakes up, on the processor
/// that the server runs on, and the next holder waits for both. With an answer to be written
/// already, that of the DEL of its old place in the queue, it stands behind the next holder.
///
/// A lease that others may hold too goes by the fast path while it is alone: its value says so
/// ("owner:hf:s1:" shared, "owner:hf:p1/5:" one permit of five; holders.lua). Several permits at
/// once need the script, since there may be fewer than were asked for; one there always is.
namespace holdfast {

struct command_lease_options {
    /// Before every name, so that `lock:N` is the key. May be empty.
    std::string prefix = "lock:";
    /// How long a handoff stays the waiter's own without a word from it. Longer than the longest
    /// look, so that a live waiter always learns in time; short, because a dead one blocks that
    /// long.
    duration claim = std::chrono::milliseconds(constant::usual_claim_ms);
    /// How long a place in the queue is kept without a look.
    duration place = std::chrono::seconds(3);
    /// How many may wait for one name.
    std::uint32_t most_waiters = 1000;
    /// `slot` in a Cluster: counters and channels for each slot, and no command at connect that
    /// could raise the fences; every grant does.
    key_scope scope = key_scope::server;
    /// For how long a server grants nothing after it was restarted or promoted; no lease may have a
    /// longer ttl. Zero: it grants at once.
    duration quarantine = duration::zero();
    /// A floor of fences is taken only if it is ahead of the server's clock by no more than this.
    /// Zero: any is.
    duration furthest_floor = duration::zero();
    /// Who watches the servers' clocks; null: nobody.
    std::shared_ptr<server_clocks> clocks = nullptr;
    /// A grant or a renewal counts only when so many replicas confirm it …
    std::uint32_t replicas = 0;
    /// … within this time.
    duration replica_wait = std::chrono::seconds(1);

    /// Every grant looks at the server's clock and at who the server is, so none takes the fast
    /// path.
    [[nodiscard]] bool careful() const noexcept {
        return scope == key_scope::slot || quarantine > duration::zero();
    }
};

using detail::to_ms;

[[nodiscard]] const lock_name& name_of(const lease_request& request);

enum class lease_way : std::uint8_t { fast, full };

/// In how many commands a release may be said that hands the name on.
enum class lease_form : std::uint8_t { several, one };

/// Whether the fast path is open to the request at all.
[[nodiscard]] bool may_take_fast_path(const command_lease_options& options,
                                      const lease_request& request);

/// One request as up to three commands: the words, and what they point to. Does not move.
class lease_commands {
public:
    lease_commands() = default;
    lease_commands(const lease_commands&) = delete;
    lease_commands& operator=(const lease_commands&) = delete;

    /// `channel` is where a waiter wants to be told; empty for one that does not wait. Both outlive
    /// this.
    void make(const command_lease_options& options, const lease_request& request,
              std::string_view channel, lease_way way, lease_form form);

    /// The command that changes how many permits a name has; it answers 1.
    void make_resize(const command_lease_options& options, const lock_name& name,
                     std::uint32_t permits);

    static constexpr std::size_t most_commands = command_engine::most_together;

    [[nodiscard]] std::span<const command> commands() const noexcept { return {made_, count_}; }

    /// It is release_free.lua alone: EVALSHA, its name, 1, the lock, and the owner with our mark.
    [[nodiscard]] bool lets_go() const noexcept {
        return way_ != lease_way::full && std::holds_alternative<ask::release>(*request_);
    }

    /// It is SET and, behind it, INCRBY of the counter of fences.
    [[nodiscard]] bool draws() const noexcept { return count_ == 2 && way_ == lease_way::fast; }

    /// What the replies mean; nothing, if only the full way can tell.
    /// Requires: replies.size() == commands().size().
    [[nodiscard]] std::optional<result<lease_reply>> interpret(std::span<result<reply>> replies);

    /// The fast path took the name, or may have, although its answer was not enough.
    [[nodiscard]] bool took() const noexcept { return took_; }
    /// Somebody waits for the name, or holds it.
    [[nodiscard]] bool contended() const noexcept { return contended_; }
    /// The server that granted nothing because it is in quarantine; empty if it was not.
    [[nodiscard]] std::string_view quarantined() const noexcept {
        return quarantined_ == nullptr ? std::string_view() : *quarantined_;
    }
    /// From the next make() on: tells that server that it has been that one for longer than the
    /// window. Requires: it has, and quarantined() is not empty.
    void vouch() noexcept {
        detail::require(!quarantined().empty(), "quarantined() is not empty");
        vouches_ = true;
    }
    [[nodiscard]] bool vouches() const noexcept { return vouches_; }
    /// What the server's clock showed when it carried out a renewal; the epoch if it was none.
    [[nodiscard]] wall_time server_time() const noexcept { return server_time_; }

private:
    static constexpr std::size_t most_words = 24;

    [[nodiscard]] std::string_view owner() const { return value_.substr(0, owner_size_); }
    [[nodiscard]] std::string_view front() const {
        return value_.substr(0, owner_size_ + our_mark.size());
    }
    [[nodiscard]] std::string_view kind() const {
        return value_.substr(owner_size_ + our_mark.size());
    }
    void word(std::string_view text) {
        detail::require(used_ < words_.size(), "a request has at most most_words words");
        words_[used_++] = text;
    }
    void word(std::integral auto number) { word(room_.put(number)); }
    void clear() noexcept;
    void write_value(const owner_token& owner, const lease_mode& mode);
    void begin(const script& body, std::initializer_list<std::string_view> keys);
    void begin_full(const script& body, const command_lease_options& options,
                    const lease_keys& keys);
    void end_careful(const command_lease_options& options, repeat again, const script& body);
    void make_renew(const ask::renew& kept, std::string_view lock);
    void end(repeat again, const script* body = nullptr);
    void make_fast(const ask::acquire& asked, std::string_view lock, std::string_view fence);
    void make_renew_above(const command_lease_options& options, const ask::renew& kept,
                          std::string_view lock);
    void make_full(const command_lease_options& options, const lease_request& request,
                   std::string_view channel, const lease_keys& keys);
    std::optional<result<lease_reply>> interpret_fast(std::span<result<reply>> replies);
    std::optional<result<lease_reply>> not_answered(error& why);
    [[nodiscard]] std::optional<result<lease_reply>> taken_with(std::int64_t last_fence) const;
    result<lease_reply> interpret_full(const reply& r);
    result<lease_reply> renewed(const ask::renew& asked, const reply& r);
    result<lease_reply> acquired(const ask::acquire& asked, const reply& r);
    static result<lease_reply> refused(const ask::acquire& asked, std::int64_t how,
                                       std::int64_t number);

    const lease_request* request_ = nullptr;
    lease_way way_ = lease_way::full;
    lease_form form_ = lease_form::several;
    detail::text_arena room_;
    std::string_view value_;  // of a lock that the owner holds alone, without its fence
    std::size_t owner_size_ = 0;
    std::array<std::string_view, most_words> words_;
    std::uint32_t used_ = 0;
    std::uint32_t begun_ = 0;
    command made_[most_commands];
    std::uint32_t count_ = 0;
    bool took_ = false;
    bool contended_ = false;
    bool vouches_ = false;
    std::unique_ptr<const std::string> quarantined_;  // hardly ever there, so small if it is not
    wall_time server_time_;
};

/// The command that must come first on every new connection to a server that can lose writes or its
/// data (a restart, a failover): it raises the fence counter to the server's clock, so that numbers
/// which were given and then forgotten are not given again. Not needed where grants are careful.
[[nodiscard]] std::vector<std::string> raise_fence_command();

/// A command that must come first on every new connection, where a server that was restarted shall
/// be refused for a while: its window is the longest ttl that anybody uses. The cheap form of a
/// quarantine, for a server that others stand in for (a quorum's); its grants need not be careful.
[[nodiscard]] std::vector<std::string> stand_aside_command(duration window);

}  // namespace holdfast
