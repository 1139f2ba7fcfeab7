// SPDX-License-Identifier: Apache-2.0
#include <holdfast/lease.hpp>
#include <holdfast/observer.hpp>

namespace holdfast {

std::string_view to_string(lease_status status) noexcept {
    switch (status) {
        case lease_status::held: return "held";
        case lease_status::jeopardy: return "jeopardy";
        case lease_status::lost: return "lost";
        case lease_status::released: return "released";
    }
    return "unknown";
}

std::string_view to_string(loss_reason reason) noexcept {
    switch (reason) {
        case loss_reason::none: return "none";
        case loss_reason::expired: return "expired";
        case loss_reason::missing: return "missing";
        case loss_reason::evicted: return "evicted";
        case loss_reason::max_hold: return "max_hold";
        case loss_reason::closed: return "closed";
        case loss_reason::forked: return "forked";
    }
    return "unknown";
}

std::string_view to_string(grant_path path) noexcept {
    switch (path) {
        case grant_path::at_once: return "at_once";
        case grant_path::polled: return "polled";
        case grant_path::handed_off: return "handed_off";
        case grant_path::passed_on: return "passed_on";
        case grant_path::adopted: return "adopted";
    }
    return "unknown";
}

}  // namespace holdfast
