// SPDX-License-Identifier: Apache-2.0
//
// getaddrinfo() cannot be told to stop, and may take half a minute. So a name is looked up on a
// thread that nobody joins: it owns all that it touches, and whoever asked may have left. Addresses
// in digits and unix sockets need no such thread.
#include "driver/redis/resolve.hpp"

#include <netdb.h>
#include <sys/un.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

namespace holdfast::redis {
namespace {

constexpr int most_lookups = 16;
std::atomic<int> lookups_running{0};

struct lookup {
    std::mutex mutex;
    std::condition_variable finished;
    bool done = false;
    int status = 0;
    std::vector<socket_address> found;
};

int look_up(const std::string& host, const std::string& port, int flags,
            std::vector<socket_address>& out) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo* list = nullptr;
    const int status = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
    if (status != 0) return status;
    for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
        socket_address one;
        std::memcpy(&one.storage, a->ai_addr, a->ai_addrlen);
        one.size = a->ai_addrlen;
        out.push_back(one);
    }
    ::freeaddrinfo(list);
    return 0;
}

std::unexpected<error> not_found(std::string reason) {
    return fail(errc::unavailable, "resolve: " + std::move(reason));
}

result<std::vector<socket_address>> unix_address(const std::string& path) {
    sockaddr_un un{};
    if (path.size() >= sizeof un.sun_path) return not_found("the socket's path is too long");
    un.sun_family = AF_UNIX;
    std::memcpy(un.sun_path, path.data(), path.size());
    socket_address one;
    std::memcpy(&one.storage, &un, sizeof un);
    one.size = sizeof un;
    return std::vector{one};
}

}  // namespace

result<std::vector<socket_address>> resolve(const server_address& address, time_point deadline,
                                            clock& time, const patience& go_on) {
    if (!address.unix_path.empty()) return unix_address(address.unix_path);
    const std::string port = std::to_string(address.port);
    std::vector<socket_address> numeric;
    if (look_up(address.host, port, AI_NUMERICHOST | AI_NUMERICSERV, numeric) == 0) return numeric;

    if (lookups_running.fetch_add(1) >= most_lookups) {
        lookups_running.fetch_sub(1);
        return not_found("too many lookups are stuck in the system's resolver");
    }
    const auto job = std::make_shared<lookup>();
    std::thread([job, host = address.host, port] {
        std::vector<socket_address> found;
        const int status = look_up(host, port, AI_ADDRCONFIG | AI_NUMERICSERV, found);
        lookups_running.fetch_sub(1);
        const std::scoped_lock guard(job->mutex);
        job->status = status;
        job->found = std::move(found);
        job->done = true;
        job->finished.notify_all();
    }).detach();

    std::unique_lock guard(job->mutex);
    while (!job->done) {
        const time_point now = time.now();
        if (now >= deadline) return not_found("the system's resolver did not answer in time");
        time.wait_until(guard, job->finished, std::min(deadline, now + patience_slice));
        if (job->done) break;
        guard.unlock();
        const bool more = go_on();
        guard.lock();
        if (!more) return not_found("given up");
    }
    if (job->status != 0) return not_found(::gai_strerror(job->status));
    return std::move(job->found);
}

}  // namespace holdfast::redis
