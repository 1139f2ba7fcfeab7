// SPDX-License-Identifier: Apache-2.0
//
// A live channel is a subscription and a queue. A reliable one is a stream that is read behind a
// position; messages on the channel of the same name only tell that there is something to read.
#include "cache/cache_scripts.hpp"
#include "cache/channel_queue.hpp"
#include "cache/wake_counter.hpp"
#include "command/script_call.hpp"
#include "core/validity.hpp"

#include <fmt/format.h>

#include <atomic>
#include <compare>
#include <utility>

namespace holdfast::detail {
namespace {

constexpr std::size_t read_at_once = 100;
// A message that tells of something to read may be lost.
constexpr duration channel_look_again = std::chrono::seconds(1);

struct stream_offset {
    std::uint64_t epoch = 0;
    std::uint64_t number = 0;
    auto operator<=>(const stream_offset&) const = default;
    [[nodiscard]] std::string text() const { return fmt::format("{}-{}", epoch, number); }
};

std::optional<stream_offset> parse_offset(std::string_view text) {
    stream_offset at;
    const char* end = text.data() + text.size();
    auto [dash, wrong] = std::from_chars(text.data(), end, at.epoch);
    if (wrong != std::errc{}) return {};
    if (dash == end) return at;
    if (*dash != '-') return {};
    const auto [rest, bad] = std::from_chars(dash + 1, end, at.number);
    if (bad != std::errc{} || rest != end) return {};
    return at;
}

class live_subscriber final : public subscriber_bytes {
public:
    live_subscriber(std::shared_ptr<command_engine> engine, const subscribe_options& options)
        : engine_(std::move(engine)), queue_(options) {}

    result<void> start(std::string_view channel, channel_scope scope, time_point give_up) {
        auto made = engine_->subscribe(
            channel, scope,
            [this](const push_event& e) {
                if (e.type == push_event::kind::gap) {
                    queue_.gap();
                } else {
                    queue_.push(e.payload);
                }
            },
            give_up);
        if (!made) return std::unexpected(std::move(made.error()));
        heard_ = std::move(*made);
        return {};
    }
    result<std::optional<message_bytes>> next(duration wait, const std::stop_token& stop) override {
        clock& time = engine_->time();
        return queue_.pop(time, later(time.now(), wait), stop);
    }

private:
    std::shared_ptr<command_engine> engine_;
    channel_queue queue_;
    std::unique_ptr<subscription> heard_;
};

class stream_subscriber final : public subscriber_bytes {
public:
    stream_subscriber(command_access where, std::string stream, duration timeout)
        : where_(std::move(where)), stream_(std::move(stream)), timeout_(timeout) {}

    result<void> start(channel_scope scope, std::optional<stream_offset> after);
    result<std::optional<message_bytes>> next(duration wait, const std::stop_token& stop) override;

private:
    [[nodiscard]] result<void> read();
    [[nodiscard]] result<stream_offset> last_offset();
    void take(const reply& entry);
    [[nodiscard]] clock& time() const { return where_.engine()->time(); }

    command_access where_;
    std::string stream_;
    duration timeout_;
    stream_offset after_;
    bool anew_ = false;  // the stream began anew
    std::deque<message_bytes> ready_;
    wake_counter told_;
    std::unique_ptr<subscription> heard_;
};

result<stream_offset> stream_subscriber::last_offset() {
    const auto last = words("XREVRANGE", stream_, "+", "-", "COUNT", 1);
    const auto seen = ask(where_, last.idempotent(), stream_, timeout_);
    if (!seen) return std::unexpected(seen.error());
    if (seen->elements().empty() || seen->elements()[0].elements().empty()) return stream_offset{};
    return parse_offset(seen->elements()[0].elements()[0].text()).value_or(stream_offset{});
}

result<void> stream_subscriber::start(channel_scope scope, std::optional<stream_offset> after) {
    auto made = where_.engine()->subscribe(
        stream_, scope, [this](const push_event&) { told_.tell(); }, later(time().now(), timeout_));
    if (!made) return std::unexpected(std::move(made.error()));
    heard_ = std::move(*made);
    if (after) {
        after_ = *after;
        return {};
    }
    auto last = last_offset();
    if (!last) return std::unexpected(std::move(last.error()));
    after_ = *last;
    return {};
}

void stream_subscriber::take(const reply& entry) {
    if (entry.elements().size() != 2) return;
    const auto at = parse_offset(entry.elements()[0].text());
    const auto& fields = entry.elements()[1].elements();
    if (!at || fields.size() < 2) return;
    message_bytes made{fields[1].text(), at->text(), 0, std::exchange(anew_, false)};
    if (after_ != stream_offset{}) {
        if (at->epoch != after_.epoch) {
            made.gap = true;
            made.lost = at->number - 1;
        } else {
            made.lost = at->number - after_.number - 1;
        }
    }
    after_ = *at;
    ready_.push_back(std::move(made));
}

result<void> stream_subscriber::read() {
    const std::string behind = "(" + after_.text();
    const auto range = words("XRANGE", stream_, behind, "+", "COUNT", read_at_once);
    const auto seen = ask(where_, range.idempotent(), stream_, timeout_);
    if (!seen) return std::unexpected(seen.error());
    for (const auto& entry : seen->elements()) take(entry);
    if (!ready_.empty()) return {};
    // Nothing behind our position: perhaps the server lost what we have, and began before it.
    const auto last = last_offset();
    if (!last) return std::unexpected(last.error());
    if (*last != stream_offset{} && *last < after_) {
        after_ = {};
        anew_ = true;
    }
    return {};
}

result<std::optional<message_bytes>> stream_subscriber::next(duration wait,
                                                             const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] { told_.tell(); });
    const time_point until = later(time().now(), wait);
    while (ready_.empty()) {
        if (stop.stop_requested()) return fail(errc::cancelled, "cancelled");
        const auto mark = told_.count();
        const bool before = anew_;
        if (auto done = read(); !done) return std::unexpected(std::move(done.error()));
        if (!ready_.empty()) break;
        if (anew_ && !before) continue;
        if (time().now() >= until) return std::nullopt;
        told_.wait(mark, time(), std::min(until, later(time().now(), channel_look_again)));
    }
    message_bytes first = std::move(ready_.front());
    ready_.pop_front();
    return first;
}

class channel_core final : public channel_bytes {
public:
    channel_core(command_access where, std::string_view name, channel_options options)
        : where_(std::move(where)), name_(name), options_(std::move(options)) {}

    result<published> publish(std::string_view message) override;
    result<std::unique_ptr<subscriber_bytes>> subscribe(const subscribe_options& options) override;

private:
    [[nodiscard]] result<void> check() const;
    [[nodiscard]] result<channel_scope> scope();
    [[nodiscard]] std::string channel_name() const;
    [[nodiscard]] time_point give_up() const {
        return later(where_.engine()->time().now(), options_.timeout);
    }

    command_access where_;
    std::string name_;
    channel_options options_;
    enum class place : std::uint8_t { unknown, server, cluster };
    std::atomic<place> place_ = place::unknown;
};

result<void> channel_core::check() const {
    if (options_.keep < 1 || options_.keep > 1'000'000) {
        return fail(errc::invalid_argument,
                    fmt::format("keep is {}: give it 1 to 1,000,000", options_.keep));
    }
    if (options_.max_bytes > (std::size_t{64} << 20U)) {
        return fail(errc::invalid_argument, "max_bytes: at most 64 MiB");
    }
    return first_failure({check_place(where_), check_span("life", options_.life),
                          check_prefix(options_.prefix), check_timeout(options_.timeout),
                          check_key(name_)});
}

// The channel of a stream has the stream's name: a script may publish to it in the same slot.
std::string channel_core::channel_name() const {
    return std::string(options_.reliable
                           ? kept_key(options_.prefix, name_, kept::channel_stream).view()
                           : plain_key(options_.prefix, name_).view());
}

// Only a Cluster knows slots.
result<channel_scope> channel_core::scope() {
    if (!options_.sharded) return channel_scope::global;
    if (place_.load(std::memory_order_relaxed) == place::unknown) {
        const auto asked = words("CLUSTER", "KEYSLOT", name_);
        const auto seen = where_.engine()->execute(asked.idempotent(), give_up());
        const bool refused =
            !seen && (seen.error() == errc::unavailable || seen.error() == errc::timed_out ||
                      seen.error() == errc::outcome_unknown);
        if (refused) return std::unexpected(seen.error());
        place_.store(seen ? place::cluster : place::server, std::memory_order_relaxed);
    }
    return place_.load(std::memory_order_relaxed) == place::cluster ? channel_scope::sharded
                                                                    : channel_scope::global;
}

result<published> channel_core::publish(std::string_view message) {
    if (auto fit = check(); !fit) return std::unexpected(std::move(fit.error()));
    if (message.size() > options_.max_bytes) {
        return fail(errc::invalid_argument, fmt::format("the message has {} bytes: at most {}",
                                                        message.size(), options_.max_bytes));
    }
    const auto spread = scope();
    if (!spread) return std::unexpected(spread.error());
    const std::string_view verb = *spread == channel_scope::sharded ? "SPUBLISH" : "PUBLISH";
    const std::string name = channel_name();
    if (!options_.reliable) {
        const auto sent = ask(where_, words(verb, name, message), name, give_up());
        if (!sent) return std::unexpected(sent.error());
        return published{static_cast<std::uint64_t>(sent->number()), {}};
    }
    script_call q(cache_scripts::all().channel_publish, 1, repeat::never);
    q.word(name);
    q.word(message);
    q.word(options_.keep);
    q.word(to_ms(options_.life));
    q.word(verb);
    const auto sent = ask(where_, q.as_command(), name, give_up());
    if (!sent) return std::unexpected(sent.error());
    return published{static_cast<std::uint64_t>(sent->elements().at(1).number()),
                     sent->elements().at(0).text()};
}

result<std::unique_ptr<subscriber_bytes>> channel_core::subscribe(
    const subscribe_options& options) {
    if (auto fit = check(); !fit) return std::unexpected(std::move(fit.error()));
    if (options.queue < 1 || options.queue > 1'000'000 || options.queue_bytes < 1) {
        return fail(errc::invalid_argument, "queue: give it 1 to 1,000,000 messages, and bytes");
    }
    const auto spread = scope();
    if (!spread) return std::unexpected(spread.error());
    const std::string name = channel_name();
    if (!options_.reliable) {
        if (options.after) {
            return fail(errc::invalid_argument, "only a reliable channel has offsets");
        }
        auto made = std::make_unique<live_subscriber>(where_.engine(), options);
        if (auto begun = made->start(name, *spread, give_up()); !begun) {
            return std::unexpected(std::move(begun.error()));
        }
        return made;
    }
    std::optional<stream_offset> after;
    if (options.after) {
        after = parse_offset(*options.after);
        if (!after) {
            return fail(
                errc::invalid_argument,
                fmt::format("'{}' is no offset: give one of a message, or 0", *options.after));
        }
    }
    auto made = std::make_unique<stream_subscriber>(where_, name, options_.timeout);
    if (auto begun = made->start(*spread, after); !begun) {
        return std::unexpected(std::move(begun.error()));
    }
    return made;
}

}  // namespace

std::shared_ptr<channel_bytes> make_channel(command_access where, std::string_view name,
                                            channel_options options) {
    return std::make_shared<channel_core>(std::move(where), name, std::move(options));
}

}  // namespace holdfast::detail
