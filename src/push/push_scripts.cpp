// SPDX-License-Identifier: Apache-2.0
#include "push/push_scripts.hpp"

namespace holdfast::push {

const push_scripts& push_scripts::all() {
    static const push_scripts scripts{
        .admit = script(
#include "scripts/admit.inc"
            ),
        .broadcast = script(
#include "scripts/broadcast.inc"
            ),
        .presence = script(
#include "scripts/presence.inc"
            ),
        .read = script(
#include "scripts/read.inc"
            ),
        .requeue = script(
#include "scripts/requeue.inc"
            ),
        .sign_off = script(
#include "scripts/sign_off.inc"
            ),
        .state = script(
#include "scripts/state.inc"
            ),
    };
    return scripts;
}

}  // namespace holdfast::push
