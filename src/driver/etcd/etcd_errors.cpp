// SPDX-License-Identifier: Apache-2.0
//
// etcd's errors are gRPC codes and fixed texts (its api/v3rpc/rpctypes). The code alone does not
// tell whether a request was carried out; the text does.
#include "driver/etcd/etcd_errors.hpp"

#include <fmt/format.h>

namespace holdfast::etcd {
namespace {

bool says(const grpc::Status& status, std::string_view words) {
    return std::string_view(status.error_message()).find(words) != std::string_view::npos;
}

bool is_about_login(const grpc::Status& status) {
    return status.error_code() == grpc::StatusCode::UNAUTHENTICATED ||
           says(status, "invalid auth token") || says(status, "revision of auth store is old");
}

bool is_denial(const grpc::Status& status) {
    return status.error_code() == grpc::StatusCode::PERMISSION_DENIED || is_about_login(status) ||
           says(status, "user name is empty") || says(status, "authentication failed") ||
           says(status, "authentication is not enabled");
}

}  // namespace

verdict judge(const grpc::Status& status) {
    if (is_about_login(status)) return verdict::log_in;
    switch (status.error_code()) {
        case grpc::StatusCode::UNAVAILABLE:
            // Before it is sent, or before it is proposed to the others.
            if (says(status, "failed to connect") || says(status, "no leader") ||
                says(status, "DNS resolution failed") || says(status, "Connection refused")) {
                return verdict::try_next;
            }
            return verdict::unknown;
        case grpc::StatusCode::RESOURCE_EXHAUSTED: return verdict::final;
        case grpc::StatusCode::NOT_FOUND: return verdict::no_lease;
        case grpc::StatusCode::OUT_OF_RANGE: return verdict::compacted;
        case grpc::StatusCode::DEADLINE_EXCEEDED:
        case grpc::StatusCode::CANCELLED:
        case grpc::StatusCode::UNKNOWN:
        case grpc::StatusCode::INTERNAL:
        case grpc::StatusCode::ABORTED: return verdict::unknown;
        default: return verdict::final;
    }
}

error to_error(const grpc::Status& status, std::string_view server) {
    const auto because = [&](errc code, std::string_view advice) {
        return error{code, fmt::format("etcd at {}: {}{}", server, status.error_message(), advice)};
    };
    if (is_denial(status)) {
        return because(errc::denied, ": check user, password and the role's permission");
    }
    if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
        return because(errc::unsupported, ": it does not speak the v3 API of etcd 3.4 or later");
    }
    if (says(status, "database space exceeded")) {
        return because(errc::unavailable, ": compact and defragment it, then disarm the alarm");
    }
    switch (judge(status)) {
        case verdict::unknown: return because(errc::outcome_unknown, "");
        default: return because(errc::unavailable, "");
    }
}

}  // namespace holdfast::etcd
