// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/cache_bytes.hpp>
#include <holdfast/cache_codec.hpp>
#include <holdfast/cache_options.hpp>
#include <holdfast/engine/command_access.hpp>
#include <holdfast/error.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Values of a slow source, kept in Redis (or memory:) and shared by all processes.
///
///     holdfast::cache<std::string> articles(hf, {.prefix = "news_article:", .fresh = 600s});
///     auto text = articles.get("42", [&] { return database.article(42); });
///
/// What the usual recipe leaves open is closed here:
///
/// - A key that expires under load is loaded by one caller, over all machines: the lease to load is
///   in the entry itself. The others get the stale value, or wait until a message wakes them.
/// - A load that began before a write and ends after it does not put the old value back: the
///   write's invalidation voids the lease, and what was loaded under it is refused. After every
///   write and every load has ended, what is cached is what the source has.
/// - A loader that dies leaves nothing behind that does not expire.
/// - "The source has nothing" is cached too, with a life of its own.
/// - While Redis is away callers get copies of a stated age, a limited number of loads, or a clear
///   error; they do not all fall onto the source.
///
/// Writes go to the source first, then the entry is deleted: update() does both, and does not
/// forget the deletion. docs/guide/cache.md shows which other orders fail, and how.
///
/// Limits. Redis replicates asynchronously: a failover can lose a deletion; then a value is stale
/// until it expires. A read between the source's commit and the deletion may still see the old
/// value.
namespace holdfast {

/// What peek() saw.
template <class T>
struct peeked {
    std::optional<T> value;  ///< Nothing: the source has nothing.
    bool stale = false;
};

/// A loader answers T, std::optional<T> (nothing: the source has nothing), or a result<> of either.
/// It takes the key, or nothing. An exception of its becomes `unavailable`, for everybody who
/// waits.
template <class Loader, class T>
concept loader_of = (std::invocable<Loader&, std::string_view> || std::invocable<Loader&>);

/// Thread safety: all members may be called from any thread. Copies are the same cache.
template <encodable T>
class cache {
public:
    using loader = std::function<result<std::optional<T>>(std::string_view key)>;

    /// Does no I/O; bad options are told by the first call. With a `background` loader, stale
    /// values are refreshed on a thread of the cache's own and no caller pays for it; it must not
    /// use what ends before the cache. The last copy's destructor waits for a load that runs there.
    explicit cache(command_access where, cache_options options = {}, loader background = {})
        : core_(detail::make_cache(std::move(where), std::move(options), encoded(background))) {}

    /// The value, from the process, from the engine, or loaded. Nothing: the source has nothing.
    /// A hit in the process allocates nothing if T is trivially copyable.
    /// Errors: invalid_argument (key, options, a value too large), unsupported, corrupt (the key is
    /// another program's), denied; timed_out: another caller's load took longer than `wait`;
    /// unavailable: the engine is away and the limit on loads is reached, or the source is failing;
    /// and whatever the loader answers.
    /// Blocks: one trip for a hit; for a miss the load and one more trip; at most `wait` for
    /// another one's load. The loader runs on this thread.
    template <loader_of<T> Loader>
    [[nodiscard]] result<std::optional<T>> get(std::string_view key, Loader&& load) {
        if (std::optional<std::optional<T>> copy; in_process(key, copy)) return *std::move(copy);
        const detail::byte_loader wrapped = [&load](std::string_view k) {
            return encode_outcome(call(load, k));
        };
        auto found = decoded(core_->get(key, wrapped));
        // Written by another version of the program: load it in the other's place.
        if (!found && found.error() == errc::corrupt && undecodable(key)) {
            return decoded(core_->refresh(key, wrapped));
        }
        return found;
    }

    /// With the background loader. Errors: also unsupported, if there is none.
    [[nodiscard]] result<std::optional<T>> get(std::string_view key) {
        if (std::optional<std::optional<T>> copy; in_process(key, copy)) return *std::move(copy);
        if (!core_->background()) {
            return fail(errc::unsupported, "this cache has no loader: give get() one");
        }
        return decoded(core_->get(key, core_->background()));
    }

    /// All of them; the hits in one trip (a Cluster: one for each node). Each has its own outcome.
    template <loader_of<T> Loader>
    [[nodiscard]] std::vector<result<std::optional<T>>> get_many(
        std::span<const std::string_view> keys, Loader&& load) {
        const detail::byte_loader wrapped = [&load](std::string_view k) {
            return encode_outcome(call(load, k));
        };
        std::vector<result<std::optional<T>>> all;
        all.reserve(keys.size());
        for (auto& one : core_->get_many(keys, wrapped)) all.push_back(decoded(std::move(one)));
        return all;
    }

    /// What is cached; loads nothing. Nothing: nothing is cached.
    [[nodiscard]] result<std::optional<peeked<T>>> peek(std::string_view key) {
        auto seen = core_->peek(key);
        if (!seen) return std::unexpected(std::move(seen.error()));
        if (!*seen) return std::nullopt;
        auto value = decoded(std::move((*seen)->value));
        if (!value) return std::unexpected(std::move(value.error()));
        return peeked<T>{std::move(*value), (*seen)->stale};
    }

    /// Stores a value (or, with nothing, that the source has none), and voids whatever load runs.
    /// For values that come from nowhere else: after a write to a source, use update() or
    /// invalidate(). Two puts of two writers may arrive in another order than their writes.
    [[nodiscard]] result<void> put(std::string_view key, const std::optional<T>& value) {
        if (!value) return core_->put(key, std::nullopt);
        return core_->put(key, std::string(codec<T>::encode(*value)));
    }

    /// Deletes what is cached and voids the load that runs. Call it after the source was written.
    /// Answers whether there was something. Errors: the engine's; outcome_unknown: call it again.
    [[nodiscard]] result<bool> invalidate(std::string_view key) { return core_->invalidate(key); }

    /// Loads now, whatever is cached and whoever loads; everybody else has the old value meanwhile.
    template <loader_of<T> Loader>
    [[nodiscard]] result<std::optional<T>> refresh(std::string_view key, Loader&& load) {
        const detail::byte_loader wrapped = [&load](std::string_view k) {
            return encode_outcome(call(load, k));
        };
        return decoded(core_->refresh(key, wrapped));
    }

    /// Writes the source, then deletes the entry. A note on the engine, made before the write,
    /// keeps the deletion from being forgotten: if this process dies, or cannot reach the engine
    /// any more, another one deletes the entry when the note falls due (see work_off). The entry
    /// is deleted also when `write` fails: perhaps it wrote.
    /// Errors: what `write` answers; invalid_argument, unsupported (nothing was written).
    /// The engine's trouble is no error: the outcome says what became of the deletion.
    /// Blocks: for the write and two trips; if the engine does not answer, delete_attempts times
    /// `timeout` and the pauses between.
    template <std::invocable Write>
    [[nodiscard]] result<update_outcome> update(std::string_view key, Write&& write) {
        return core_->update(key, [&write]() -> result<void> { return write(); });
    }

    /// Does the deletions that were left pending, this process's and those of others that are due.
    /// Answers how many. Call it now and then from any process; every update() does, too.
    [[nodiscard]] result<std::size_t> work_off() { return core_->work_off(); }

    /// Refresh without expiry: says that a key has changed in the source. A worker, of this process
    /// or another, loads it; readers have the old value meanwhile. Give such a cache a `fresh` of
    /// days. Errors, Blocks: one trip, as invalidate().
    [[nodiscard]] result<void> changed(std::string_view key) { return core_->changed(key); }

    /// A worker: loads what changed() told, with the background loader, until the stop token fires.
    /// Any number may run, anywhere: each change is handled by one of them, and by another one if
    /// that dies. A change whose load fails is tried again after two leases.
    /// Errors: unsupported (no background loader, or an engine without streams); the engine's, when
    /// it is away: call it again.
    /// Blocks: until stopped. Cancellation: within about 200 ms, and the load that runs.
    [[nodiscard]] result<void> keep_fresh(const std::stop_token& stop) {
        return core_->keep_fresh(stop);
    }

    [[nodiscard]] cache_statistics statistics() const { return core_->statistics(); }

    /// For what is built on caches.
    [[nodiscard]] const std::shared_ptr<detail::cache_bytes>& bytes() const noexcept {
        return core_;
    }

private:
    using bytes_result = result<std::optional<std::string>>;

    template <class Loader>
    static auto call(Loader& load, std::string_view key) {
        if constexpr (std::invocable<Loader&, std::string_view>) {
            return load(key);
        } else {
            return load();
        }
    }

    static bytes_result encode_outcome(result<std::optional<T>> loaded) {
        if (!loaded) return std::unexpected(std::move(loaded.error()));
        if (!*loaded) return std::nullopt;
        return std::string(codec<T>::encode(**loaded));
    }

    static detail::byte_loader encoded(const loader& background) {
        if (!background) return {};
        return [background](std::string_view key) { return encode_outcome(background(key)); };
    }

    static result<std::optional<T>> decoded(bytes_result found) {
        if (!found) return std::unexpected(std::move(found.error()));
        if (!*found) return std::nullopt;
        auto value = codec<T>::decode(**found);
        if (!value) return std::unexpected(std::move(value.error()));
        return std::optional<T>(*std::move(value));
    }

    bool undecodable(std::string_view key) {
        auto seen = core_->peek(key);
        return seen && *seen && (*seen)->value && !codec<T>::decode(*(*seen)->value);
    }

    bool in_process(std::string_view key, std::optional<std::optional<T>>& copy) {
        return core_->find_local(
                   key,
                   [](void* to, std::string_view bytes, bool absent) {
                       auto& out = *static_cast<std::optional<std::optional<T>>*>(to);
                       if (absent) {
                           out.emplace(std::nullopt);
                       } else if (auto value = codec<T>::decode(bytes)) {
                           out.emplace(*std::move(value));
                       }
                   },
                   &copy) &&
               copy.has_value();
    }

    std::shared_ptr<detail::cache_bytes> core_;
};

}  // namespace holdfast
