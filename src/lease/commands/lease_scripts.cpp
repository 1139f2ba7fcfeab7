// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/lease_scripts.hpp"

namespace holdfast {

const lease_scripts& scripts() {
    static const lease_scripts all{
        .acquire =
            script{
#include "scripts/acquire.inc"
            },
        .renew =
            script{
#include "scripts/renew.inc"
            },
        .renew_above =
            script{
#include "scripts/renew_above.inc"
            },
        .renew_share =
            script{
#include "scripts/renew_share.inc"
            },
        .resize =
            script{
#include "scripts/resize.inc"
            },
        .release =
            script{
#include "scripts/release.inc"
            },
        .release_free =
            script{
#include "scripts/release_free.inc"
            },
        .release_free_all =
            script{
#include "scripts/release_free_all.inc"
            },
        .leave =
            script{
#include "scripts/leave.inc"
            },
        .release_only =
            script{
#include "scripts/release_only.inc"
            },
        .stand_aside =
            script{
#include "scripts/stand_aside.inc"
            },
        .raise_fence =
            script{
#include "scripts/raise_fence.inc"
            },
        .server_age =
            script{
#include "scripts/server_age.inc"
            },
    };
    return all;
}

}  // namespace holdfast
