// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>

#include <grpcpp/support/status.h>

#include <cstdint>
#include <string_view>

namespace holdfast::etcd {

/// What a failed call means for the one who made it.
enum class verdict : std::uint8_t {
    try_next,   ///< This server did nothing; another may.
    unknown,    ///< It may have been carried out.
    log_in,     ///< The token is over: get another.
    no_lease,   ///< The lease is gone.
    compacted,  ///< That revision is not kept any more.
    final,      ///< An answer: asking again does not help.
};

[[nodiscard]] verdict judge(const grpc::Status& status);

/// The error of a call that ended so. `server` is "host:port".
[[nodiscard]] error to_error(const grpc::Status& status, std::string_view server);

}  // namespace holdfast::etcd
