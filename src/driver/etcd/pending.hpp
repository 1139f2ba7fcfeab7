// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/pending.hpp"

namespace holdfast::etcd {

using detail::pending;

}  // namespace holdfast::etcd
