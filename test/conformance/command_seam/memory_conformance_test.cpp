// SPDX-License-Identifier: Apache-2.0
#include "conformance/command_seam/command_seam.hpp"
#include "driver/memory/memory_engine.hpp"

namespace holdfast::test {

INSTANTIATE_TEST_SUITE_P(memory, command_seam,
                         testing::Values(command_engine_factory{
                             "memory", [] { return make_memory_engine(); }}));

}  // namespace holdfast::test
