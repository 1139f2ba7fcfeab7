// SPDX-License-Identifier: Apache-2.0
#include <holdfast/client.hpp>
#include <holdfast/command_place.hpp>

namespace holdfast {

command_place::command_place(const client& of) : engine_(of.commands()), chance_(&of.chance()) {}

}  // namespace holdfast
