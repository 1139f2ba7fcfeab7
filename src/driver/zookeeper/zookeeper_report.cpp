// SPDX-License-Identifier: Apache-2.0
//
// Servers answer the four letters `srvr` on the port of their clients, also without a session; it
// is the one of these words that they answer unless they are told otherwise.
#include "driver/zookeeper/zookeeper_report.hpp"

#include "core/to_ms.hpp"
#include "driver/zookeeper/zookeeper_client.hpp"
#include "driver/zookeeper/zookeeper_errors.hpp"

#include <fmt/format.h>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>
#include <utility>

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_report = 16 * 1024;

/// A socket that is closed with it.
class raw_socket {
public:
    explicit raw_socket(int descriptor) : descriptor_(descriptor) {}
    raw_socket(const raw_socket&) = delete;
    raw_socket& operator=(const raw_socket&) = delete;
    ~raw_socket() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    [[nodiscard]] int get() const { return descriptor_; }

private:
    int descriptor_;
};

bool wait_for_socket(int descriptor, short events, clock& time, time_point give_up) {
    const auto left = detail::to_ms(std::max(give_up - time.now(), duration::zero()));
    pollfd waits{descriptor, events, 0};
    return ::poll(&waits, 1, static_cast<int>(left)) == 1;
}

result<std::string> ask_srvr(const zookeeper_endpoint& at, clock& time, time_point give_up) {
    const auto silent = [&](std::string_view why) {
        return fail(errc::unavailable,
                    fmt::format("zookeeper at {}:{}: {}", at.host, at.port, why));
    };
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(at.host.c_str(), std::to_string(at.port).c_str(), &hints, &found) != 0) {
        return silent("the name cannot be resolved");
    }
    const raw_socket line(
        ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int begun = ::connect(line.get(), found->ai_addr, found->ai_addrlen);
    const bool going = begun == 0 || errno == EINPROGRESS;
    ::freeaddrinfo(found);
    if (!going || !wait_for_socket(line.get(), POLLOUT, time, give_up)) {
        return silent("it cannot be connected to");
    }
    if (::send(line.get(), "srvr", 4, MSG_NOSIGNAL) != 4) return silent("connection refused");
    std::string text;
    std::array<char, 4096> part{};
    while (text.size() < longest_report && wait_for_socket(line.get(), POLLIN, time, give_up)) {
        const ssize_t got = ::recv(line.get(), part.data(), part.size(), 0);
        if (got <= 0) break;
        text.append(part.data(), static_cast<std::size_t>(got));
    }
    if (text.empty()) return silent("it does not answer");
    return text;
}

std::uint64_t number_in(std::string_view text) {
    std::uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

// The quickest of some writes; the first one connects.
result<duration> time_a_write(const zookeeper_client& client,
                              const std::shared_ptr<zookeeper_session>& on, time_point give_up) {
    const std::string path = client.options().root + ".doctor";
    duration best = duration::max();
    for (int i = 0; i < 3; ++i) {
        const time_point before = client.time().now();
        const answered made =
            zookeeper_session::call(
                on, {.what = request::kind::make, .path = path, .as = node_kind::ephemeral},
                give_up)
                .wait();
        if (made.is == outcome::no_node) return duration::zero();  // its parent is not there yet
        if (made.is != outcome::done && made.is != outcome::exists) {
            return std::unexpected(read_error(made, client.servers()));
        }
        best = std::min(best, client.time().now() - before);
        static_cast<void>(
            zookeeper_session::call(on, {.what = request::kind::remove, .path = path}, give_up)
                .wait());
    }
    return best;
}

}  // namespace

server_report read_srvr(std::string label, const std::string& text) {
    server_report report{.label = std::move(label)};
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const auto after = [&](std::string_view word) -> std::string {
            return line.starts_with(word) ? line.substr(word.size()) : std::string();
        };
        if (auto version = after("Zookeeper version: "); !version.empty()) {
            report.version = version.substr(0, version.find_first_of("-, "));
        }
        if (auto mode = after("Mode: "); !mode.empty()) report.mode = mode;
        if (auto latency = after("Latency min/avg/max: "); !latency.empty()) {
            report.latency = latency;
        }
        if (auto waiting = after("Outstanding: "); !waiting.empty()) {
            report.outstanding = number_in(waiting);
        }
        if (auto nodes = after("Node count: "); !nodes.empty()) report.nodes = number_in(nodes);
    }
    return report;
}

ensemble_report report_on(const zookeeper_options& options, clock& time, time_point give_up) {
    ensemble_report report;
    for (const zookeeper_endpoint& at : options.servers) {
        auto text = ask_srvr(at, time, std::min(give_up, time.now() + 2s));
        if (text) {
            report.servers.emplace_back(read_srvr(fmt::format("{}:{}", at.host, at.port), *text));
        } else {
            report.servers.emplace_back(std::unexpected(std::move(text.error())));
        }
    }
    zookeeper_client client(options, time);
    const auto quick = client.session_for(duration::zero());
    const auto slow = client.session_for(std::chrono::hours(24));
    if (!quick || !slow) {
        report.session = std::unexpected(quick ? slow.error() : quick.error());
        return report;
    }
    const auto written = time_a_write(client, *quick, give_up);
    if (!written) {
        report.session = std::unexpected(written.error());
        return report;
    }
    report.write_time = *written;
    report.shortest = (*quick)->timeout();
    if ((*slow)->connected(give_up).wait()) report.longest = (*slow)->timeout();
    return report;
}

}  // namespace holdfast::zookeeper
