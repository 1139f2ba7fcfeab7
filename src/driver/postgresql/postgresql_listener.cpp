// SPDX-License-Identifier: Apache-2.0
#include "driver/postgresql/postgresql_listener.hpp"

#include "lease/tables/wake_hub.hpp"

#include <fmt/format.h>

#include <libpq-fe.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace holdfast::postgresql {
namespace {

using namespace std::chrono_literals;

// Whether the server is still there is asked so often: a network that drops an idle connection
// says nothing.
constexpr duration probe_pause = 15s;
constexpr duration probe_timeout = 5s;
constexpr duration longest_pause = 1s;

// The next word of a text, as a number.
std::optional<std::int64_t> next_number(std::string_view& text) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (problem != std::errc{} || end != word.data() + word.size()) return std::nullopt;
    return value;
}

}  // namespace

struct postgresql_listener::state {
    explicit state(const postgresql_options& with)
        : options(with), link(options), wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    ~state() { ::close(wake); }

    const postgresql_options options;  // a copy: the thread may outlive whoever made it
    postgresql_link link;              // the thread's own
    const int wake;
    sql::listener_id whose;

    std::mutex mutex;
    std::condition_variable changed;
    bool listening = false;
    bool closing = false;
    std::uint64_t attempts = 0;
    std::optional<error> trouble;  // of the last attempt

    [[nodiscard]] bool is_closing() {
        const std::scoped_lock guard(mutex);
        return closing;
    }
    void say(bool now_listening, std::optional<error> why) {
        {
            const std::scoped_lock guard(mutex);
            listening = now_listening;
            trouble = std::move(why);
            ++attempts;
        }
        changed.notify_all();
    }
    [[nodiscard]] result<void> connect();
    void attend();
    [[nodiscard]] bool probe();
    void read_notes();
    /// Answers whether something is to be read.
    [[nodiscard]] bool wait(int fd, duration at_most) const;
};

std::optional<sql::note> read_note(std::int64_t process, std::string_view text) {
    const auto number = next_number(text);
    const std::size_t space = text.find(' ');
    if (!number || space == std::string_view::npos) return std::nullopt;
    const auto owner = owner_token::parse(text.substr(0, space));
    text.remove_prefix(space + 1);
    const auto fence = next_number(text);
    const auto claim = next_number(text);
    if (!owner || !fence || !claim || *fence < 0 || *claim < 0) return std::nullopt;
    return sql::note{
        {process, *number},
        {*owner, {static_cast<std::uint64_t>(*fence)}, std::chrono::microseconds(*claim)}};
}

bool postgresql_listener::state::wait(int fd, duration at_most) const {
    pollfd both[2]{{.fd = wake, .events = POLLIN, .revents = 0},
                   {.fd = fd, .events = POLLIN, .revents = 0}};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(at_most).count();
    ::poll(both, fd < 0 ? 1 : 2, static_cast<int>(ms));
    return fd >= 0 && both[1].revents != 0;
}

result<void> postgresql_listener::state::connect() {
    const time_point deadline = system_clock().now() + options.connect_timeout;
    if (auto opened = link.open(deadline); !opened) return opened;
    const auto said =
        link.ask(fmt::format("LISTEN holdfast_{}_{}", whose.process, whose.number), deadline);
    if (said) return {};
    return std::unexpected(refused(said.error(), link.label()));
}

bool postgresql_listener::state::probe() {
    return link.ask("SELECT 1", system_clock().now() + probe_timeout).has_value();
}

void postgresql_listener::state::read_notes() {
    while (PGnotify* const one = ::PQnotifies(link.get())) {
        const auto heard = read_note(whose.process, one->extra);
        ::PQfreemem(one);
        if (heard) sql::tell({&*heard, 1});
    }
}

// Until the connection is lost, or the end.
void postgresql_listener::state::attend() {
    while (!is_closing()) {
        const bool readable = wait(link.socket(), probe_pause);
        if (is_closing()) return;
        const bool alive = readable ? ::PQconsumeInput(link.get()) != 0 : probe();
        if (!alive || !link.is_open()) return;
        read_notes();
    }
}

void postgresql_listener::run(const std::shared_ptr<state>& all) {
    duration pause = 50ms;
    while (!all->is_closing()) {
        auto connected = all->connect();
        if (connected) {
            pause = 50ms;
            all->say(true, std::nullopt);
            sql::tell_to_poll_again(all->whose);
            all->attend();
            all->say(false, std::nullopt);
        } else {
            all->say(false, std::move(connected.error()));
        }
        all->link.close();
        if (all->is_closing()) return;
        static_cast<void>(all->wait(-1, pause));
        pause = std::min(pause * 2, longest_pause);
    }
}

postgresql_listener::postgresql_listener(const postgresql_options& options)
    : state_(std::make_shared<state>(options)) {}

postgresql_listener::~postgresql_listener() {
    if (state_ == nullptr) return;
    {
        const std::scoped_lock guard(state_->mutex);
        state_->closing = true;
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(state_->wake, &one, sizeof one);
    if (!thread_.joinable()) return;
    // The last reference to a store may go in one of its own handlers.
    if (thread_.get_id() == std::this_thread::get_id()) {
        thread_.detach();
    } else {
        thread_.join();
    }
}

void postgresql_listener::forget() noexcept {
    static_cast<void>(new std::shared_ptr<state>(std::move(state_)));
    static_cast<void>(new std::thread(std::move(thread_)));
}

result<void> postgresql_listener::hear(const sql::listener_id& whose, time_point deadline) {
    std::unique_lock guard(state_->mutex);
    if (state_->listening) return {};
    if (!thread_.joinable()) {
        state_->whose = whose;
        thread_ = std::thread([all = state_] { run(all); });
    }
    const std::uint64_t before = state_->attempts;
    while (!state_->listening) {
        if (state_->attempts != before && state_->trouble) return std::unexpected(*state_->trouble);
        if (system_clock().now() >= deadline) {
            return fail(errc::unavailable,
                        fmt::format("{}: the connection that listens was not made in time",
                                    state_->link.label()));
        }
        system_clock().wait_until(guard, state_->changed, deadline);
    }
    return {};
}

}  // namespace holdfast::postgresql
