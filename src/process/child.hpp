// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/require.hpp"
#include "process/guardian.hpp"
#include "process/signal_inbox.hpp"

#include <holdfast/error.hpp>

#include <sys/types.h>

#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// The command that `holdfast run` runs: a process group of its own.
///
/// Other threads of ours run when it is forked, so between fork and exec there are only system
/// calls; its words and its environment are made before. It waits for a word of ours before exec,
/// so that nothing of it runs before the guardian knows its group.
namespace holdfast::app {

/// How it changed.
struct child_event {
    enum class kind { ended, stopped };
    kind type;
    /// For `ended`: the code, or 128 + the signal that killed it. For `stopped`: the signal.
    int number;
};

class child {
public:
    struct plan {
        std::vector<std::string> words;
        /// Set in its environment, whatever we inherited.
        std::vector<std::pair<std::string, std::string>> variables;
        /// A descriptor of ours that it has as number `kept_as`; -1: none.
        int kept = -1;
    };

    /// One digit, because shells can redirect to no other.
    static constexpr int kept_as = 3;

    /// Why there is no child: the errno of exec, or of fork.
    struct not_started {
        int why;
    };

    /// Starts it in a group of its own; `before` is called with the group before anything runs, and
    /// answers whether it may. If not, `why` is 0.
    /// Requires: `signals` is open; !words.empty().
    template <class Before>
    [[nodiscard]] static std::expected<child, not_started> start(const plan& what,
                                                                 const signal_inbox& signals,
                                                                 Before before) {
        detail::require(!what.words.empty(), "!words.empty()");
        auto forked = fork_it(what, signals);
        if (!forked) return std::unexpected(forked.error());
        if (before(forked->group())) return std::move(*forked).go();
        forked->send(SIGKILL);
        forked->bury();
        return std::unexpected(not_started{0});
    }

    [[nodiscard]] pid_t group() const noexcept { return pid_; }

    /// What happened since the last look, if anything. An end stays: it is told again and again,
    /// and the process id stays taken, until bury().
    [[nodiscard]] std::optional<child_event> look() const;

    /// To all of its group.
    void send(int signal) const noexcept;

    void bury() const noexcept;

    /// Is anyone of its group left? Requires: bury() was called.
    [[nodiscard]] bool leaves_others() const noexcept;

    /// Buries whoever else ended: orphans of the command are ours (adopt_orphans).
    void bury_orphans() const noexcept;

private:
    child(pid_t pid, descriptor word, descriptor failure) noexcept
        : pid_(pid), word_(std::move(word)), failure_(std::move(failure)) {}

    static std::expected<child, not_started> fork_it(const plan& what, const signal_inbox& signals);
    std::expected<child, not_started> go() &&;

    pid_t pid_;
    descriptor word_;     ///< One byte on it lets it run.
    descriptor failure_;  ///< On it comes the errno of an exec that failed.
};

/// From now on those whom the command leaves behind become our children, not init's. So we see them
/// end, also where nobody is init (in a container).
void adopt_orphans() noexcept;

}  // namespace holdfast::app
