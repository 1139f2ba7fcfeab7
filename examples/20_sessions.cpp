// SPDX-License-Identifier: Apache-2.0
//
// A visitor logs in, gets another id, and is logged out everywhere else.
#include <holdfast/holdfast.hpp>

#include <iostream>

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:");
    if (!hf) return 1;
    holdfast::session_store sessions(*hf, {.prefix = "example:session:"});
    if (!sessions.end_all("alice")) return 1;

    auto phone = sessions.create("alice", {{"device", "phone"}});
    auto laptop = sessions.create("alice", {{"device", "laptop"}});
    if (!phone || !laptop) return 1;

    // After the password was checked: another id, so that one planted before is worth nothing.
    auto id = sessions.rotate(laptop->id);
    if (!id) return 1;

    auto seen = sessions.get(*id);
    if (!seen || !*seen) return 1;
    std::cout << (*seen)->user << " on a " << (*seen)->fields.at("device") << '\n';

    auto ended = sessions.end_all("alice", *id);
    if (!ended) return 1;
    std::cout << "logged out on " << *ended << " other device\n";
    auto gone = sessions.get(phone->id);
    return gone && !*gone && *ended == 1 ? 0 : 1;
}
