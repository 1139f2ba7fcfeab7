// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command.hpp>

/// The scripts of lease requests; each says in its own text what it does.
namespace holdfast {

struct lease_scripts {
    script acquire;
    script renew;
    script renew_above;
    script renew_share;
    script resize;
    script release;
    script release_free;
    script release_free_all;
    script leave;
    script release_only;
    script stand_aside;
    script raise_fence;
    script server_age;
};

[[nodiscard]] const lease_scripts& scripts();

}  // namespace holdfast
