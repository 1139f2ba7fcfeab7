// SPDX-License-Identifier: Apache-2.0
#include <holdfast/client.hpp>
#include <holdfast/engine/command_access.hpp>

namespace holdfast {

command_access::command_access(const client& of) : engine_(of.commands()), chance_(&of.chance()) {}

}  // namespace holdfast
