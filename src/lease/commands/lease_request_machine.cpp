// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/lease_request_machine.hpp"

namespace holdfast {

void lease_request_machine::begin(const command_lease_options& options,
                                  const lease_request& request, lease_way first, lease_form form) {
    options_ = &options;
    request_ = &request;
    way_ = may_take_fast_path(options, request) ? first : lease_way::full;
    form_ = form;
}

bool lease_request_machine::may_wait() const noexcept {
    const auto* asked = std::get_if<ask::acquire>(request_);
    return asked != nullptr && asked->otherwise == ask::when_busy::join_queue &&
           way_ == lease_way::full;
}

void lease_request_machine::speak(std::string_view channel) {
    said_.make(*options_, *request_, channel, way_, form_);
}

std::optional<result<lease_reply>> lease_request_machine::hear(std::span<result<reply>> replies) {
    auto meant = said_.interpret(replies);
    may_have_taken_ = may_have_taken_ || said_.took();
    way_ = lease_way::full;
    if (meant && !*meant && may_have_taken_) meant->error().code = errc::outcome_unknown;
    return meant;
}

}  // namespace holdfast
