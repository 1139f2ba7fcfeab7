// SPDX-License-Identifier: Apache-2.0
//
// A contender of the fault lab, or several: takes one name over and over, and works under it as a
// careful user does: looks whether the lease is held before each step, and sends its fence with
// each write.
//
//     faultlab_worker URL NAME TTL_MS WORK_MS REFEREE_HOST REFEREE_PORT LOG...
//
// A NAME that ends with a star is no name to contend for: each time another one is taken, with a
// number for the star, and given back at once; so it is seen which names are refused.
//
// For each log there is a thread that contends. A log has one JSON object a line: every request and
// grant, how long it was believed in (the last moment at which held() said yes), and how it ended;
// times are CLOCK_BOOTTIME in nanoseconds, which all processes of a machine share. Ends by SIGTERM.
#include <holdfast/holdfast.hpp>

#include <fmt/format.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

volatile std::sig_atomic_t ending = 0;

long long now_ns() {
    return holdfast::system_clock().now().time_since_epoch().count();
}

/// The resource: "read" answers its value, "write VALUE FENCE" whether it was taken.
class resource {
public:
    resource(const char* host, std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_port = htons(port);
        where.sin_addr.s_addr = ::inet_addr(host);
        if (::connect(socket_, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) {
            throw std::runtime_error("the referee is not there");
        }
    }
    resource(const resource&) = delete;
    resource& operator=(const resource&) = delete;
    ~resource() { ::close(socket_); }

    std::string ask(const std::string& line) {
        const std::string text = line + "\n";
        if (::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) < 0) return {};
        std::string answer;
        char c = 0;
        while (::recv(socket_, &c, 1, 0) == 1 && c != '\n') answer += c;
        return answer;
    }

private:
    int socket_;
};

class worker {
public:
    worker(holdfast::client& locks, resource& thing, std::FILE* log, holdfast::duration ttl,
           holdfast::duration work)
        : locks_(locks), thing_(thing), log_(log), ttl_(ttl), work_(work) {}

    void round(std::string_view name) {
        if (name.ends_with('*')) return probe(name.substr(0, name.size() - 1));
        write(fmt::format(R"({{"e":"ask","t":{}}})", now_ns()));
        auto got = locks_.mutex(name).acquire({.ttl = ttl_, .wait = 500ms});
        if (!got) return refused(got.error());
        const long long granted = now_ns();
        const auto fence = got->fence().value;
        write(fmt::format(R"({{"e":"grant","t":{},"fence":{}}})", granted, fence));
        believed_ = granted;
        const bool done = work_under(*got, fence);
        const auto status = got->reason();
        const long long releasing = now_ns();
        const auto ended = std::move(*got).release();
        write(fmt::format(
            R"({{"e":"end","t":{},"releasing":{},"fence":{},"believed":{},"done":{},"lost":"{}",)"
            R"("release":"{}"}})",
            now_ns(), releasing, fence, believed_, done, holdfast::to_string(status),
            ended ? std::string_view("ok") : holdfast::to_string(ended.error().code)));
    }

private:
    void probe(std::string_view prefix) {
        auto got = locks_.mutex(fmt::format("{}{}.{}", prefix, ::getpid(), ++works_))
                       .try_acquire({.ttl = ttl_});
        if (!got) return refused(got.error());
        write(fmt::format(R"({{"e":"grant","t":{},"fence":{}}})", now_ns(), got->fence().value));
        static_cast<void>(std::move(*got).release());
    }

    void refused(const holdfast::error& why) {
        write(fmt::format(R"({{"e":"refused","t":{},"code":"{}"}})", now_ns(),
                          holdfast::to_string(why.code)));
        std::this_thread::sleep_for(10ms);  // style: allow clock, because it is a real worker
    }

    bool believes(const holdfast::lease& held) {
        const long long before = now_ns();
        if (!held.held()) return false;
        believed_ = before;
        return true;
    }

    // Mostly short; now and then so long that the lease must be renewed, and that a fault which
    // strikes at any time most likely meets somebody who holds.
    [[nodiscard]] holdfast::duration work() {
        constexpr int rarely = 32;
        return ++works_ % rarely == 0 ? ttl_ * 2 / 5 : work_;
    }

    bool work_under(const holdfast::lease& held, std::uint64_t fence) {
        if (!believes(held)) return false;
        const std::string value = thing_.ask("read");
        const auto end = now_ns() + std::chrono::nanoseconds(work()).count();
        while (now_ns() < end) {
            std::this_thread::sleep_for(1ms);  // style: allow clock, because it is a real worker
            if (!believes(held)) return false;
            beat();
        }
        if (!believes(held)) return false;
        return thing_.ask(fmt::format("write {} {}", value, fence)) == "ok";
    }

    // A worker that is killed writes no end: how long it believed is on record all the same.
    void beat() {
        if (believed_ - told_ < 20'000'000) return;
        told_ = believed_;
        write(fmt::format(R"({{"e":"beat","t":{}}})", believed_));
    }

    void write(const std::string& line) {
        std::fprintf(log_, "%s\n", line.c_str());
        std::fflush(log_);
    }

    holdfast::client& locks_;
    resource& thing_;
    std::FILE* log_;
    const holdfast::duration ttl_;
    const holdfast::duration work_;
    long long believed_ = 0;
    long long told_ = 0;
    int works_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 8) {
        std::fputs("faultlab_worker URL NAME TTL_MS WORK_MS REFEREE_HOST REFEREE_PORT LOG...\n",
                   stderr);
        return 2;
    }
    std::signal(SIGTERM, [](int) { ending = 1; });
    auto locks = holdfast::open(argv[1]);
    if (!locks) {
        std::fprintf(stderr, "%s\n", holdfast::to_string(locks.error()).c_str());
        return 1;
    }
    std::vector<std::jthread> contenders;
    for (int i = 7; i < argc; ++i) {
        contenders.emplace_back([&, path = argv[i]] {
            resource thing(argv[5], static_cast<std::uint16_t>(std::stoi(argv[6])));
            std::FILE* log = std::fopen(path, "a");
            if (log == nullptr) return;
            worker me(*locks, thing, log, std::chrono::milliseconds(std::stoi(argv[3])),
                      std::chrono::milliseconds(std::stoi(argv[4])));
            while (ending == 0) me.round(argv[2]);
            std::fclose(log);
        });
    }
    contenders.clear();
    locks->close();
    return 0;
}
