// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_access.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Who is logged in: fields under an id that cannot be guessed, shared by all servers of a site.
///
///     holdfast::session_store sessions(hf);
///     auto mine = sessions.create("alice", {{"theme", "dark"}});
///     set_cookie(mine->id);
///     auto seen = sessions.get(cookie);                 // each request
///     if (!seen || !*seen) return log_in();
///
/// A session ends `ttl` after its last use (reading is a use, noted at most each tenth of the ttl),
/// and `absolute` after it was made, whatever happens. After a log-in give it another id: rotate()
/// does it in one step, so that an id that was planted before is worth nothing.
///
/// An id is 48 hex digits: 16 that all sessions of a user share (part of a hash of the user's name,
/// so that they lie in one hash slot of a Cluster), and 128 random bits.
namespace holdfast {

struct session_options {
    /// A session that is not used ends after this.
    duration ttl = std::chrono::hours(1);
    /// A session ends after this. 1 ms to 366 days, at least `ttl`.
    duration absolute = std::chrono::days(7);
    /// The most sessions that one user has at a time. 1 to 10,000.
    int max_per_user = 100;
    std::string prefix = "session:";
    /// How long the engine may take to answer.
    duration timeout = std::chrono::seconds(1);
};

using session_fields = std::map<std::string, std::string, std::less<>>;

struct session {
    std::string id;
    std::string user;
    /// Grows with each write.
    std::uint64_t version = 0;
    session_fields fields;
};

/// What to write: only what changes.
struct session_change {
    session_fields set{};
    std::vector<std::string> remove{};
    /// Write only if this is still the version that was read; nothing: write whatever it is.
    std::optional<std::uint64_t> version{};
};

/// Thread safety: all members may be called from any thread.
class session_store {
public:
    static constexpr std::size_t max_fields = 200;
    static constexpr std::size_t max_field_bytes = 65536;

    /// Does no I/O; bad options are told by the first call.
    explicit session_store(command_access where, session_options options = {});

    /// Errors: invalid_argument (user, options, fields: names begin with no '_' and are 1 to 512
    /// bytes), busy (the user has max_per_user sessions), unsupported; the engine's.
    /// Blocks: one trip, at most `timeout`; so do all others.
    [[nodiscard]] result<session> create(std::string_view user, const session_fields& fields = {});

    /// The session, and notes that it was used. Nothing: it has ended, or never was.
    [[nodiscard]] result<std::optional<session>> get(std::string_view id);

    /// Answers the new version. Errors: busy (another version: nothing was written; read again),
    /// lease_lost (the session has ended), invalid_argument; outcome_unknown: perhaps written.
    [[nodiscard]] result<std::uint64_t> write(std::string_view id, const session_change& change);

    /// Gives the session another id, in one step, and answers it: the old one is worth nothing from
    /// then on. Errors: lease_lost (the session has ended); the engine's.
    [[nodiscard]] result<std::string> rotate(std::string_view id);

    /// Ends it. Answers whether there was one.
    [[nodiscard]] result<bool> end(std::string_view id);

    /// The ids of a user's sessions.
    [[nodiscard]] result<std::vector<std::string>> sessions_of(std::string_view user);

    /// Logs a user out everywhere, but for the session `except`. Answers how many were ended.
    /// Blocks: two trips or a few.
    [[nodiscard]] result<std::size_t> end_all(std::string_view user, std::string_view except = {});

private:
    [[nodiscard]] result<void> ready() const;
    [[nodiscard]] std::string key_of(std::string_view id) const;
    [[nodiscard]] std::string index_of(std::string_view tag) const;
    [[nodiscard]] result<reply> evaluate(const script& body, const std::vector<std::string>& keys,
                                         const std::vector<std::string>& args, repeat again);

    command_access where_;
    session_options options_;
};

}  // namespace holdfast
