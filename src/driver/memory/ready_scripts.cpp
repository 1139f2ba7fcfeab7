// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/ready_scripts.hpp"

#include <utility>

namespace holdfast::memory {

ready_scripts& ready_scripts::of_process() {
    static ready_scripts all;
    return all;
}

std::shared_ptr<const ready_script> ready_scripts::find(std::string_view source) const {
    const std::scoped_lock lock(mutex_);
    const auto found = made_.find(source);
    return found == made_.end() ? nullptr : found->second;
}

std::shared_ptr<const ready_script> ready_scripts::keep(std::string_view source,
                                                        ready_script made) {
    auto shared = std::make_shared<const ready_script>(std::move(made));
    if (source.size() > longest) return shared;
    const std::scoped_lock lock(mutex_);
    if (made_.size() >= most) made_.clear();
    made_.insert_or_assign(std::string(source), shared);
    return shared;
}

}  // namespace holdfast::memory
