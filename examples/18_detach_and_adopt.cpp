// SPDX-License-Identifier: Apache-2.0
//
// Acquired in one process, released in another. Two clients stand for the two processes here.
#include <holdfast/holdfast.hpp>

#include <iostream>
#include <string>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
    const char* url = argc > 1 ? argv[1] : "memory:example";
    auto dispatcher = holdfast::open(url);
    auto worker = holdfast::open(url);
    if (!dispatcher || !worker) return 1;

    auto held = dispatcher->mutex("import").acquire({.ttl = 10s});
    if (!held) return 1;
    // Nobody renews it in between: give the other process half a minute to start.
    if (!held->renew(30s)) return 1;
    const auto token = std::move(*held).detach();
    if (!token) return 1;
    const std::string secret = token->text();  // by a pipe or a queue, never by a log
    if (held->held()) return 1;

    const auto came = holdfast::lease_token::parse(secret);
    if (!came) return 1;
    auto mine = worker->adopt(*came, {.ttl = 10s});
    if (!mine) {
        std::cerr << to_string(mine.error()) << '\n';
        return 1;
    }
    std::cout << "the worker has it, with the same fence: " << to_string(mine->fence()) << '\n';
    if (mine->fence() != held->fence()) return 1;

    // The token was adopted: it is worthless now.
    if (dispatcher->adopt(*came)) return 1;
    return std::move(*mine).release() ? 0 : 1;
}
