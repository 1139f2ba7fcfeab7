// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/engine/lease_store.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

/// What an engine brings to the conformance suite. The cases define what is correct; an engine adds
/// one file with its testbed, testbeds/<engine>_testbed.cpp, and nothing else.
namespace holdfast::test {

/// Under a sanitizer everything takes several times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// One engine of a test's own, empty at the start.
class testbed {
public:
    virtual ~testbed() = default;

    /// A store as another process would have it: nothing is shared but the engine.
    [[nodiscard]] virtual std::shared_ptr<lease_store> make_store() = 0;

    [[nodiscard]] virtual clock& time() = 0;

    /// Lets time pass, by advancing it or by waiting.
    virtual void pass(duration d) = 0;

    /// A ttl that suits the engine: long where time is virtual, short where it must be waited for.
    [[nodiscard]] virtual duration ttl() const = 0;
    /// How much later than its ttl a dead holder's lease may end, where the engine looks for such
    /// leases from time to time.
    [[nodiscard]] virtual duration late() const { return duration::zero(); }
    /// Is the queue made of entries that each waiter puts there itself? Then an entry that is gone
    /// has no place to come back to, nobody comes in before another, and a waiter is told when it
    /// is its turn, not when to look.
    [[nodiscard]] virtual bool serves_by_entry() const { return false; }
    /// How many names a case of thousands takes.
    [[nodiscard]] virtual std::size_t many() const { return sanitized ? 500 : 2'000; }

    /// Removes a lease behind everybody's back, as an operator's DEL does.
    virtual void forget(const std::string& name) = 0;

    /// Everything that is stored for names, apart from what is kept once for the whole engine.
    [[nodiscard]] virtual std::vector<std::string> leftovers() = 0;

    [[nodiscard]] client make_client(client_options options = {}) {
        return client_on(make_store(), options);
    }
    [[nodiscard]] client client_on(std::shared_ptr<lease_store> store,
                                   client_options options = {}) {
        options.time = &time();
        return {std::move(store), options};
    }
};

struct lease_engine {
    std::string name;
    std::function<std::unique_ptr<testbed>()> make;
};

inline void PrintTo(const lease_engine& engine, std::ostream* out) {
    *out << engine.name;
}

/// Offers a testbed to the suite. One of them, const and at the end of the testbed's file, is all
/// that it takes; its name must be unique in the suite, as the file is merged with others.
///
/// Example:
///     const offered_testbed on_redis{"redis", [] { return std::make_unique<redis_testbed>(); }};
class offered_testbed {
public:
    offered_testbed(std::string name, std::function<std::unique_ptr<testbed>()> make);
};

/// The engines that this build promises, sorted by name; the suite runs on each.
[[nodiscard]] std::vector<lease_engine> lease_engines();

}  // namespace holdfast::test
