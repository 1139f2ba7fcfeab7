// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>

#include <sys/types.h>

/// Server and clients on processors of their own, as if they were on two machines.
///
/// On one machine the scheduler puts clients on the processor where the server just has nothing to
/// do, and the server waits there when it is asked next. How often that happens is the machine's
/// mood; a server on another machine does not know it.
namespace holdfast::app {

/// Gives the last processor that this process may use to the server `pid`, which is ours, and the
/// others to this process and all that it starts from now on.
/// Errors: unavailable, if there is only one processor, or the kernel refuses.
/// Requires: this process has no other thread yet.
[[nodiscard]] result<void> split_processors(pid_t server);

}  // namespace holdfast::app
