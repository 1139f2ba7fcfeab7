// SPDX-License-Identifier: Apache-2.0
#include "keyed/key_store.hpp"

#include <utility>

namespace holdfast::keyed {

void key_store::submit(const command& c, time_point give_up, command_engine::completion done) {
    result<reply> answer;
    const auto did = carry_out({&c, 1}, {&answer, 1}, give_up, nullptr);
    if (!did) answer = std::unexpected(did.error());
    done(std::move(answer));
}

}  // namespace holdfast::keyed
